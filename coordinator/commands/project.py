"""``gemel project``: the coordinator's side of a live linkage."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gemel.common.language import LanguageCode
from gemel.common.parties import Role
from gemel.common.terminal.options import DryRun, project_names
from gemel.common.terminal.output import Json, print_json
from gemel.coordinator.commands import dialogues
from gemel.coordinator.commands.dialogues import (
    RESULTS,
    ConfiguredLanguage,
    RefusalReason,
    RefuseRestored,
    RiskFolder,
    Yes,
    confirm,
    show,
)

if TYPE_CHECKING:
    from gemel.coordinator.client.coordinator_client import Coordinator
    from gemel.protos.linkage.v1 import project_pb2

app = typer.Typer(
    help="Coordinate a live linkage: create, approve, start, watch, status, report, results. "
    "All of it, waiting for the others, is `run`. Step by step the order is: create, approve (the custodians "
    "approve too, on their side), start, watch, results.",
    no_args_is_help=True,
)

Config = Annotated[Path, typer.Option("--config", help="The coordinator's configuration.", envvar="GEMEL_COORDINATOR")]
Project = Annotated[
    str, typer.Argument(help="The project's name, as in its specification.", autocompletion=project_names)
]
ModelFolder = Annotated[Path, typer.Option("--out", help="Folder for model.json and report.html.")]
SpecificationPath = Annotated[Path, typer.Argument(help="The specification, usually linkage.yaml.")]
DEFAULT_CONFIG = Path("coordinator.yaml")


@app.command()
def run(
    specification: SpecificationPath,
    out: ModelFolder = RESULTS,
    config: Config = DEFAULT_CONFIG,
    dry_run: DryRun = False,
    as_json: Json = False,
    language: ConfiguredLanguage = None,
) -> None:
    """Take a project from its specification to its results: create, approve, start, watch, results.

    Your approval is the coordinator's alone: it waits for both custodians', and for a steward's decision on a result
    that is held. Ended, it is typed again, and goes on where the project is. It ends with status 4 if the result was
    refused.
    """
    from gemel.carole.engine.run.specified import refuse_unidentified
    from gemel.common.specification import read_specification
    from gemel.coordinator.client.client_configuration import report_language
    from gemel.coordinator.client.run_progress import carry_through
    from gemel.coordinator.client.terminal import show_mode, status_document

    spec = read_specification(specification)
    refuse_unidentified(spec)
    show_mode(spec)
    with _coordinator(config, dry_run=dry_run) as coordinator:
        code = carry_through(coordinator, spec, specification.read_text(encoding="utf-8"))
        if as_json:
            print_json(status_document(coordinator.get(spec.project)[0]))
        if code:
            raise typer.Exit(code)
        if spec.release.coordinator != "nothing":
            _fetch_results(coordinator, spec.project, out, report_language(config, language))


@app.command()
def create(
    specification: SpecificationPath, config: Config = DEFAULT_CONFIG, dry_run: DryRun = False, as_json: Json = False
) -> None:
    """Create a project at Carole from a specification. Nothing happens before all have approved it."""
    from gemel.coordinator.client.terminal import console

    name = _propose(specification, config, lambda coordinator, text: coordinator.create(text), dry_run, as_json)
    console.print(f"Next: gemel project approve {name}")


@app.command()
def amend(
    specification: Annotated[Path, typer.Argument(help="The amended specification.")],
    config: Config = DEFAULT_CONFIG,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Propose another policy, release, model or decision for a project; what was signed and sent stays good.

    Fields, cleaning, tokens, bits, rules and variables may not change. All must approve the new specification; the
    project then goes on where it was, and a run under it is judged together with what was released before.
    """
    from gemel.coordinator.client.terminal import console

    name = _propose(specification, config, lambda coordinator, text: coordinator.amend(text), dry_run, as_json)
    console.print(f"Next: gemel project approve {name}, and both custodians approve it too")


def _propose(
    path: Path,
    config: Path,
    propose: Callable[[Coordinator, str], project_pb2.ProjectStatus],
    dry_run: bool,
    as_json: bool,
) -> str:
    from gemel.carole.engine.run.specified import refuse_unidentified
    from gemel.common.specification import read_specification
    from gemel.coordinator.client.terminal import show_mode

    spec = read_specification(path)
    refuse_unidentified(spec)
    show_mode(spec)
    with _coordinator(config, dry_run=dry_run) as coordinator:
        show([propose(coordinator, path.read_text(encoding="utf-8"))], as_json)
    return spec.project


@app.command()
def approve(project: Project, config: Config = DEFAULT_CONFIG, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Sign the specification on the coordinator's behalf.

    What is signed is the specification as Carole has it; its digest is shown, so that it can be compared with the one
    that `gemel spec check` prints.
    """
    from gemel.common.specification import load_specification, specification_digest
    from gemel.coordinator.client.terminal import console

    with _coordinator(config, dry_run=dry_run) as coordinator:
        found, text = coordinator.get(project)
        # The digest is computed here, from the text that is there: not taken on trust from the other side.
        digest = specification_digest(load_specification(text, f"{project} at Carole"))
        console.print(f"Approving specification {digest.hex()}", highlight=False, soft_wrap=True)
        show([coordinator.approve(project, digest, found.epoch)], as_json)
    console.print("Next: each custodian runs `gemel alice approve` (or bob); then `gemel project start`.")


@app.command("new-epoch")
def new_epoch(
    project: Project,
    reason: Annotated[
        str,
        typer.Option(
            help="Why, in 10 to 1000 characters, without the name of any person or record: both custodians' operators"
            " read it before they consent, and Carole's audit log keeps it."
        ),
    ],
    config: Config = DEFAULT_CONFIG,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Let the custodians agree on another seed, where their keys or test records do not agree or a seed was lost.

    All that was made under the former seed is erased, uploads too. Both custodians' operators must approve the new
    epoch; the specification stays. Not after a release, and for a few epochs only: each can show Carole the same
    records under other keys. First find out what differs, and have it corrected.
    """
    from gemel.common.specification import encoding_digest, load_specification
    from gemel.coordinator.client.terminal import console

    with _coordinator(config, dry_run=dry_run) as coordinator:
        found, text = coordinator.get(project)
        encoding = encoding_digest(load_specification(text, f"{project} at Carole"))
        epoch = found.epoch + 1
        confirm(
            f"Open epoch {epoch} of {project}, and erase all that was made in {found.epoch}?", unless=yes or dry_run
        )
        show([coordinator.open_epoch(project, epoch, encoding, reason)], as_json)
    console.print("Next: each custodian's operator runs `gemel alice approve` (or bob), which shows your reason.")


@app.command("hand-over")
def hand_over(
    project: Project,
    successor: Annotated[str, typer.Option("--to", help="A coordinator, by its name in the membership list.")],
    reason: Annotated[str, typer.Option(help="Why, in 10 to 1000 characters: the successor reads it, and auditors.")],
    config: Config = DEFAULT_CONFIG,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Offer a project of yours to another coordinator. It stays yours until that one takes it over.

    Another offer takes the place of this one; one to yourself withdraws it.
    """
    confirm(f"Offer {project} to {successor}?", unless=yes or dry_run)
    dialogues.hand_over(config, Role.COORDINATOR, project, successor, reason, dry_run=dry_run, as_json=as_json)


@app.command("take-over")
def take_over(
    project: Project, config: Config = DEFAULT_CONFIG, yes: Yes = False, dry_run: DryRun = False, as_json: Json = False
) -> None:
    """Become the owner of a project that was handed over to you.

    You consent to its specification as it stands, in the former owner's place. A run of mode block_keyed that waits for
    the resolver ends: start another.
    """
    from gemel.coordinator.client.connection import client
    from gemel.coordinator.client.ownership import offered_project, take_project
    from gemel.coordinator.client.terminal import console, show_mode

    with client(config, Role.COORDINATOR, dry_run=dry_run) as found:
        taken = offered_project(found, project)
        show_mode(taken.spec)
        console.print(f"Taking over {project}, and consenting to specification {taken.digest.hex()}", highlight=False)
        for sentence in taken.sentences:
            console.print(sentence, highlight=False, markup=False)
        confirm(f"Take {project} over?", unless=yes or dry_run)
        show([take_project(found, taken)], as_json)


@app.command()
def status(
    project: Annotated[
        str | None, typer.Argument(help="One project; all, if not given.", autocompletion=project_names)
    ] = None,
    config: Config = DEFAULT_CONFIG,
    as_json: Json = False,
) -> None:
    """Show the states of projects, whose they are, and what blocks them."""
    with _coordinator(config) as coordinator:
        found = coordinator.projects() if project is None else [coordinator.get(project)[0]]
        show(found, as_json, coordinator.certificates)


@app.command()
def start(project: Project, config: Config = DEFAULT_CONFIG, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Request a run from Carole. It continues when this terminal is closed; `watch` follows it."""
    from gemel.coordinator.client.terminal import console

    with _coordinator(config, dry_run=dry_run) as coordinator:
        if dry_run:  # what Carole would judge the request by
            show([coordinator.get(project)[0]], as_json=False)
        run = coordinator.start(project)
        shared = f" by request {coordinator.shared_request}" if coordinator.shared_request else ""
    if as_json:
        print_json({"project": project, "run": run.run, "shared_request": coordinator.shared_request})
        return
    console.print(f"Run {run.run} is queued{shared}. Next: gemel project watch {project}")


@app.command()
def watch(project: Project, config: Config = DEFAULT_CONFIG, as_json: Json = False) -> None:
    """Follow the newest run of a project until it ends.

    It ends with status 3 if the result is held for a steward, and 4 if it was refused (docs/commands.md).
    """
    from gemel.coordinator.client.run_progress import ending_of, follow_run
    from gemel.coordinator.client.terminal import console, status_document

    with _coordinator(config) as coordinator:
        follow_run(coordinator, project, coordinator.get(project)[0].run.run)
        ended = coordinator.get(project)[0]
    code, line = ending_of(ended)
    if as_json:
        print_json(status_document(ended))
    if code:
        console.print(line, highlight=False, soft_wrap=True)
        raise typer.Exit(code)


@app.command()
def results(
    project: Project,
    out: ModelFolder = RESULTS,
    config: Config = DEFAULT_CONFIG,
    as_json: Json = False,
    language: ConfiguredLanguage = None,
) -> None:
    """Fetch what the specification grants the coordinator: the model, aggregate statistics, a report.

    Links go to the custodians who are granted them, sealed; the coordinator never receives a record.
    """
    from gemel.coordinator.client.client_configuration import report_language

    with _coordinator(config) as coordinator:
        _fetch_results(coordinator, project, out, report_language(config, language), as_json=as_json)


def _fetch_results(
    coordinator: Coordinator, project: str, out: Path, language: LanguageCode, *, as_json: bool = False
) -> None:
    from gemel.common.documents.claimed_words import claimed_sentence
    from gemel.common.specification import load_specification
    from gemel.coordinator.client.run_progress import pairs_compared
    from gemel.coordinator.client.terminal import console
    from gemel.coordinator.rehearsal.output_folder import report_content
    from gemel.coordinator.reports.linkage import write_report

    found, text = coordinator.get(project)
    statistics = coordinator.statistics(project, found.run.run)
    if as_json:
        print_json(json.loads(statistics.written()))
    out.mkdir(parents=True, exist_ok=True)
    console.print(pairs_compared(statistics.linkage), claimed_sentence(statistics.linkage.claims), highlight=False)
    (out / "model.json").write_bytes(statistics.written())
    content = report_content(load_specification(text, project), statistics, None)
    write_report(out / "report.html", content, language)
    console.print(f"Wrote {out / 'model.json'} and {out / 'report.html'}")


@app.command()
def report(
    project: Project,
    out: RiskFolder = RESULTS,
    config: Config = DEFAULT_CONFIG,
    as_json: Json = False,
    language: ConfiguredLanguage = None,
) -> None:
    """Fetch the report on the newest run's disclosure risk, which the steward judges by, released or not."""
    from gemel.common.errors import ErrorCode, GemelError
    from gemel.coordinator.client.client_configuration import report_language
    from gemel.coordinator.client.risk_reports import show_report

    with _coordinator(config) as coordinator:
        run = coordinator.get(project)[0].run.run
        try:
            fetched = coordinator.report(project, run)
        except GemelError as error:
            if error.code is not ErrorCode.NOT_FOUND:
                raise
            what = "the project's newest run has no report on disclosure risk"
            remedy = "see `gemel project status`: a run is assessed at its end, where the specification requests it"
            raise GemelError(ErrorCode.NOT_FOUND, what, where=project, remedy=remedy) from None
    if as_json:
        print_json(fetched.document)
    show_report(fetched, out, report_language(config, language))


@app.command()
def erase(
    project: Project, config: Config = DEFAULT_CONFIG, yes: Yes = False, dry_run: DryRun = False, as_json: Json = False
) -> None:
    """Destroy the keys of everything that was uploaded to a project, and of its results. This cannot be undone.

    Of what was released, the counts of its tables stay with Carole for the days that the specification gives them
    (retention.releases_days): she compares later releases with them.
    """
    confirm(
        f"Erase all that Carole holds of {project}, but the counts of tables that were released? This cannot be undone",
        unless=yes or dry_run,
    )
    with _coordinator(config, checked=False, dry_run=dry_run) as coordinator:
        if dry_run:  # what would be erased
            show([coordinator.get(project)[0]], as_json=False)
        show([coordinator.erase(project)], as_json)


@app.command("accept-restore")
def accept_restore(
    project: Project,
    config: Config = DEFAULT_CONFIG,
    refuse: RefuseRestored = False,
    reason: RefusalReason = "",
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Accept Carole's audit log after her store was put back from a backup: shown what was lost, then signed.

    The project goes on when all its parties have accepted. If one refuses, it can only be erased.
    """
    dialogues.decide_restored(config, Role.COORDINATOR, project, refuse=refuse, reason=reason, yes=yes, dry_run=dry_run)


@contextmanager
def _coordinator(config: Path, *, checked: bool = True, dry_run: bool = False) -> Iterator[Coordinator]:
    from gemel.coordinator.client.connection import connect

    with connect(config, checked=checked, dry_run=dry_run) as coordinator:
        yield coordinator
