"""What a custodian's operator decides, as commands: approve, decline, accept a restored log, override, fetch alone.

Modules are imported when a command runs, so that help is instant.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gemel.common.parties import Party
from gemel.common.terminal.options import DryRun, project_names

if TYPE_CHECKING:
    from gemel.custodian.operator.control import Control

Project = Annotated[str, typer.Argument(help="The project's name, as `status` shows it.", autocompletion=project_names)]
Config = Annotated[
    Path,
    typer.Option("--config", "-c", help="The configuration file. Its default can be set as GEMEL_ALICE or GEMEL_BOB."),
]
Yes = Annotated[bool, typer.Option("--yes", help="No confirmation.")]
OptionalProject = Annotated[
    str | None,
    typer.Argument(help="The project's name; may be left out while there is only one.", autocompletion=project_names),
]


def _confirm(control: Control, project: str, question: str, *, yes: bool, dry_run: bool) -> None:
    """Ask before a decision; a dry run has an unknown project refused instead."""
    if dry_run:
        control.specification(project)
    elif not yes:
        typer.confirm(question, abort=True)


def add_approve(app: typer.Typer, party: Party, default: Path) -> None:
    @app.command()
    def approve(
        project: OptionalProject = None,
        config: Config = default,
        digest: Annotated[
            str | None, typer.Option(help="Approve only if the specification has this digest (64 digits).")
        ] = None,
        yes: Annotated[bool, typer.Option("--yes", help="No confirmation; for scripts, best with --digest.")] = False,
        dry_run: DryRun = False,
    ) -> None:
        """Sign the specification that waits for approval, or consent to another epoch of its project.

        Shown first: the profile of what was read, what the specification lets others see, and its digest, which must be
        the one that the coordinator and the other custodian see. Nothing leaves this machine before all have signed.
        """
        from gemel.custodian.operator.control import Control
        from gemel.custodian.operator.screen import console, show_consent

        with Control.open(config, party, dry_run=dry_run) as control:
            chosen = control.only(project)
            found = control.specification(chosen)
            control.compare(found.digest, digest)
            show_consent(found, control.profile(chosen), party.title)
            if not yes and not dry_run:
                typer.confirm(f"Approve this specification of {chosen} on behalf of {party.title}?", abort=True)
            control.approve(chosen, found.digest, found.epoch)
            console.print(control.outcome_of(chosen))


def add_decline(app: typer.Typer, party: Party, default: Path) -> None:
    @app.command()
    def decline(
        project: Project,
        reason: Annotated[
            str,
            typer.Option(
                help="The reason, 10 to 1000 characters, without the name of any person or record: the coordinator and"
                " the steward read it, and Carole's audit log keeps it."
            ),
        ],
        config: Config = default,
        yes: Yes = False,
        dry_run: DryRun = False,
    ) -> None:
        """Decline a specification, or withdraw from a project that was approved, as long as nothing is released.

        Signed, with your reason. What your service has uploaded is erased at Carole's, a run ends, and the project
        waits until the coordinator proposes another specification, which you may approve; so you may this one, later.
        What has been released cannot be taken back.
        """
        from gemel.custodian.operator.control import Control
        from gemel.custodian.operator.screen import console

        with Control.open(config, party, dry_run=dry_run) as control:
            if not yes and not dry_run:
                console.print(f'Everyone who may read the audit log reads: "{reason}"', highlight=False, markup=False)
            question = f"Decline the specification of {project} on behalf of {party.title}?"
            _confirm(control, project, question, yes=yes, dry_run=dry_run)
            control.decline(project, reason)
            console.print(control.outcome_of_decline(project))


def add_accept_restore(app: typer.Typer, party: Party, default: Path) -> None:
    @app.command("accept-restore")
    def accept_restore(
        project: Project,
        config: Config = default,
        refuse: Annotated[bool, typer.Option("--refuse", help="Refuse the restored log, for ever.")] = False,
        reason: Annotated[str, typer.Option(help="Why it is refused: a sentence, for the audit log.")] = "",
        yes: Yes = False,
        dry_run: DryRun = False,
    ) -> None:
        """Accept Carole's audit log after her store was put back from a backup: shown what was lost, then signed.

        The project goes on when all its parties have accepted. If one refuses, it can only be erased.
        """
        from gemel.common.witnessing.wording import decided_line
        from gemel.custodian.operator.control import Control
        from gemel.custodian.operator.screen import console

        with Control.open(config, party, dry_run=dry_run) as control:
            restoration, lines = control.show_restored(project)
            for line in lines:
                console.print(line, highlight=False, markup=False)
            if not yes and not dry_run:
                word = "Refuse" if refuse else "Accept"
                typer.confirm(f"{word} the restored log for {project} on behalf of {party.title}?", abort=True)
            awaits = control.decide_restored(project, restoration, accept=not refuse, reason=reason)
        console.print(decided_line(project, awaits, accepted=not refuse), highlight=False)


def add_override(app: typer.Typer, party: Party, default: Path) -> None:
    @app.command()
    def override(
        project: Project,
        reason: Annotated[
            str, typer.Option(help="Why the records may leave nevertheless; logged here and in Carole's audit log.")
        ] = "",
        config: Config = default,
        yes: Yes = False,
        dry_run: DryRun = False,
    ) -> None:
        """Contribute although Carole could learn more than the specification's limit allows.

        The service has measured that and waits; `status` shows by how much, `leakage` in which field. A reason is
        required: it is kept, and the steward and Carole's operator can read it in her audit log.
        """
        from gemel.custodian.operator.control import Control
        from gemel.custodian.operator.screen import console

        with Control.open(config, party, dry_run=dry_run) as control:
            question = f"Contribute {party.title}'s records to {project} above the limit?"
            _confirm(control, project, question, yes=yes or not reason.strip(), dry_run=dry_run)
            control.override(project, reason)
        console.print("Overridden. The service contributes now; your reason goes to Carole's audit log.")


def add_fetch_alone(app: typer.Typer, party: Party, default: Path) -> None:
    @app.command("fetch-alone")
    def fetch_alone(
        project: Project,
        reason: Annotated[
            str, typer.Option(help="Why, in 10 to 1000 characters: logged here and in Carole's audit log.")
        ],
        config: Config = default,
        yes: Yes = False,
        dry_run: DryRun = False,
    ) -> None:
        """Fetch a released share although the other custodian has not countersigned Carole's audit log.

        For a custodian that stays away. Telephone it first: without its countersignature your service cannot tell
        whether Carole shows the two of you the same log. Nothing else that is checked is left out.
        """
        from gemel.custodian.operator.control import Control
        from gemel.custodian.operator.screen import console

        with Control.open(config, party, dry_run=dry_run) as control:
            question = f"Fetch {party.title}'s share of {project} without the countersignature?"
            _confirm(control, project, question, yes=yes, dry_run=dry_run)
            control.fetch_alone(project, reason)
        console.print("Decided. The service fetches the share now; your reason goes to Carole's audit log.")
