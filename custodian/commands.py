"""What a custodian's operator types: ``gemel alice ...`` or ``gemel bob ...``, built from a `Party`.

Modules are imported when a command runs, so that help is instant.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from gemel.common.parties import Party
from gemel.common.terminal.options import EncodingOption, SeparatorOption
from gemel.common.terminal.output import Json, JsonFile, print_json, write_json
from gemel.custodian.operator.decision_commands import (
    Config,
    OptionalProject,
    add_accept_restore,
    add_approve,
    add_decline,
    add_fetch_alone,
    add_override,
)


def build(party: Party) -> typer.Typer:
    """The commands of one custodian's operator."""
    app = typer.Typer(
        help=f"{party.title}, a custodian: keeps the records, sends signatures of them to Carole, receives a share of"
        " links.",
        epilog="In order: `serve` (leave it running), `status`, `specification`, `profile`, `approve`; the rest happens"
        f" by itself. The service answers only you; it calls Carole, and never {party.side.other.title()}.",
        no_args_is_help=True,
    )
    default = Path(os.environ.get(f"GEMEL_{party.name.upper()}", f"{party.name}.yaml"))
    for add in (
        *(_check, _serve, _status, _profile, _specification, add_approve, add_decline, _attach, _checkpoints),
        *(add_accept_restore, add_override, add_fetch_alone, _leakage, _stop),
    ):
        add(app, party, default)
    app.add_typer(_seed(party), name="seed")
    return app


def _check(app: typer.Typer, party: Party, default: Path) -> None:
    @app.command()
    def check(
        config: Config = default,
        specification: Annotated[
            Path | None,
            typer.Option(help="Compare the records with this one; by default with those that wait for your approval."),
        ] = None,
        as_json: Json = False,
    ) -> None:
        """Check everything that a project will need, a line each; nothing is started.

        Configuration, certificate, membership list and keys; whether Carole answers at her address, shows the
        certificate of the list and admits this party; this machine's clock against hers; the records as they are
        declared, and with the specification; memory, disk, and what the installation lacks. It ends with status 1 if
        one has failed. Records are read here and counted; Carole is called once.
        """
        from gemel.custodian.operator.own_check import check_custodian
        from gemel.serving.check_lines import report

        report(check_custodian(party, config, specification), as_json=as_json)


def _serve(app: typer.Typer, party: Party, default: Path) -> None:
    @app.command()
    def serve(
        config: Config = default,
        ready_file: Annotated[
            Path | None, typer.Option(help="Write this file, JSON, once the service is ready.")
        ] = None,
    ) -> None:
        """Run the service until it is stopped; its log goes to standard error, one JSON object a line.

        It fetches tasks from Carole and performs them. It may be ended at any moment, also by a power cut: when it is
        started again it goes on where it was, and an incomplete upload is resumed.
        """
        from gemel.custodian.service import serve as run

        run(party, config, ready_file)


def _status(app: typer.Typer, party: Party, default: Path) -> None:
    @app.command()
    def status(config: Config = default, as_json: Json = False) -> None:
        """Show whether Carole answers, and the state of each project with the error that blocks it, if any."""
        from gemel.custodian.operator.control import Control
        from gemel.custodian.operator.screen import show_status, status_json

        with Control.open(config, party) as control:
            found = control.status()
        if as_json:
            print_json(status_json(found))
        else:
            show_status(found, party)


def _profile(app: typer.Typer, party: Party, default: Path) -> None:
    @app.command()
    def profile(project: OptionalProject = None, config: Config = default, as_json: Json = False) -> None:
        """Show counts of what the service read from its source; never values.

        Look for a field that is missing in too many rows, dates that cannot be read, and values of one token where
        there should be many: a wrong column or a wrong date order is visible nowhere else.
        """
        from gemel.custodian.operator.control import Control
        from gemel.custodian.operator.screen import show_profile

        with Control.open(config, party) as control:
            text = control.profile(control.only(project))
        if as_json:
            print_json(json.loads(text))
        else:
            show_profile(text, party.title)


def _specification(app: typer.Typer, party: Party, default: Path) -> None:
    @app.command()
    def specification(project: OptionalProject = None, config: Config = default, as_json: Json = False) -> None:
        """Show the specification that waits for approval, its digest, and what it lets others see."""
        from gemel.custodian.operator.control import Control
        from gemel.custodian.operator.screen import show_specification

        with Control.open(config, party) as control:
            chosen = control.only(project)
            found = control.specification(chosen)
        if as_json:
            notes = {"notes": list(found.notes), "digest": found.digest.hex(), "epoch": found.epoch}
            print_json({"project": chosen, "text": found.text, **notes})
        else:
            show_specification(found)


def _attach(app: typer.Typer, party: Party, default: Path) -> None:
    @app.command()
    def attach(
        links: Annotated[Path, typer.Argument(help="The run's folder below the results folder, as `status` shows it.")],
        columns: Annotated[str, typer.Option(help="Columns of your own source, separated by commas.")],
        identifier: Annotated[str, typer.Option(help="Your source's identifier column, as in the specification.")],
        out: Annotated[Path, typer.Option(help="The file to make: CSV, or Parquet by its suffix.")],
        config: Config = default,
        keep_identifier: Annotated[bool, typer.Option(help="Write your own identifier too.")] = False,
    ) -> None:
        """Write your links with values of your own records, here on your machine: nothing is sent.

        The other custodian does the same, and whoever may have both joins them by link_id. Disclosure risk was assessed
        for the variables of the specification only: attach no other columns for a recipient to whom that assessment
        does not apply.
        """
        from gemel.custodian.configuration import load_custodian
        from gemel.custodian.operator.own_check import attach as attach_values
        from gemel.custodian.operator.screen import console

        selected = [name.strip() for name in columns.split(",") if name.strip()]
        source = load_custodian(config).source
        count = attach_values(links, source, identifier, selected, out, keep_identifier=keep_identifier)
        console.print(f"Wrote {count:,} links with {len(selected)} columns to {out}", highlight=False, soft_wrap=True)


def _checkpoints(app: typer.Typer, party: Party, default: Path) -> None:
    @app.command()
    def checkpoints(
        config: Config = default,
        lost: Annotated[
            bool, typer.Option("--lost", help="Those of a log that a restoration has cut, instead.")
        ] = False,
        as_json: Json = False,
    ) -> None:
        """Print every checkpoint of Carole's audit log that was verified here, as signed notes, one after another:
        evidence for `gemel audit verify --kept`.

        The service compares each new one with them by itself. They come from the running service; where none runs, they
        are read from its state.
        """
        from gemel.custodian.operator.restored_log import kept_checkpoints

        found = kept_checkpoints(config, party, lost=lost)
        if as_json:
            print_json({"checkpoints": [checkpoint.to_text() for checkpoint in found]})
            return
        for checkpoint in found:
            typer.echo(checkpoint.to_text())


def _stop(app: typer.Typer, party: Party, default: Path) -> None:
    @app.command()
    def stop(config: Config = default) -> None:
        """Stop the service. An unfinished step is resumed when it is started again."""
        from gemel.custodian.operator.control import Control
        from gemel.custodian.operator.screen import console

        with Control.open(config, party) as control:
            control.stop()
        console.print("Stopping.")


def _leakage(app: typer.Typer, party: Party, default: Path) -> None:
    @app.command()
    def leakage(
        specification: Annotated[Path, typer.Argument(help="The specification, usually linkage.yaml.")],
        records: Annotated[Path, typer.Option(help="Your file, of any kind in docs/records.md.")],
        details: Annotated[
            bool, typer.Option("--details", help="Show every attack, not only the worst of each field.")
        ] = False,
        json_file: JsonFile = None,
        encoding: EncodingOption = None,
        separator: SeparatorOption = None,
        seed: Annotated[
            int, typer.Option(min=0, help="Draws the throw-away keys and blocks; another one shows how figures vary.")
        ] = 1,
    ) -> None:
        """Attack your own signatures, on this machine, to see what Carole could learn from them.

        The file is signed under a throw-away key as the specification requires, then attacked without the key, by
        counts, by similarities and block by block, with the best possible public lists. Nothing is sent. It ends with
        status 1 when these figures are above a limit, where your service refuses to contribute. The service draws by a
        secret of its own, so near a limit it may decide otherwise.
        """
        from gemel.common.keys.noise import AssessmentKeys
        from gemel.common.specification import read_specification
        from gemel.custodian.operator.screen import console, show_leakage
        from gemel.custodian.source.cleaned_file import clean_file
        from gemel.custodian.steps.leakage_gate import load_gate
        from gemel.records.csv_form import CsvOptions, form_line
        from gemel.records.registry import file_source

        spec = read_specification(specification)
        source = file_source(records, CsvOptions(encoding, separator).checked())
        if line := form_line(source):
            console.print(line, highlight=False)
        cleaned = clean_file(source, spec, party.side)
        report = load_gate()(cleaned.columns, spec, cleaned.variables, AssessmentKeys.of_number(seed), None)
        if json_file is not None:
            write_json(json_file, report.as_dict())
        show_leakage(report, details)
        if report.exceeds and report.refuses:
            raise typer.Exit(1)


def _seed(party: Party) -> typer.Typer:
    app = typer.Typer(
        help="Seeds exchanged by hand, for custodians who do not want to agree on one through Carole.",
        no_args_is_help=True,
    )
    app.callback()(lambda: None)

    @app.command()
    def new(
        file: Annotated[Path, typer.Argument(help="The file to make; an existing one is never overwritten.")],
        project: Annotated[str, typer.Option(help="The project it is for.")],
    ) -> None:
        """Make a seed file: one custodian makes it, and the other gets a copy over a channel without Carole.

        Both name it as `seed_file` in their configuration. Whoever has it and Carole's data can test guessed names.
        """
        from gemel.custodian.agreement.seed_file import new_seed_file, seed_file_check
        from gemel.custodian.operator.screen import console

        seed = new_seed_file(file, project)
        other = party.side.other.title()
        digits = seed_file_check(seed, project)
        console.print(f"Wrote {file}. Its check digits: {digits}", highlight=False, soft_wrap=True)
        console.print(f"Give {other} a copy by hand, compare the check digits, and set `seed_file` on both sides.")

    return app
