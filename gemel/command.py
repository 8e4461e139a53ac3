"""The root command ``gemel``: it knows its subcommands by name, and leaves out those whose package is not installed.

A custodian's image holds no code of Carole's, so there ``gemel --help`` shows no ``carole``. Loading by name also keeps
this package from importing anything above it. Only the subcommand that runs is imported: help, completion and usage
errors of the root need the table alone.
"""

from __future__ import annotations

import importlib
import os
import sys
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Annotated, Any, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from gemel.common.errors import ErrorCode, GemelError, code_of
from gemel.common.missing_module import EXTRAS, missing_module
from gemel.common.terminal.output import error_document, json_awaited, print_json
from gemel.common.versions import CLEANING_EDITION, CUSTODIAN_STATE, PROTOCOL, STORE, WIRE
from gemel.ended_in_order import WORDS, ended_in_order


class Subcommand(NamedTuple):
    """Where a subcommand is, and the first sentence of its help, which a test compares."""

    module: str
    help: str


CONSOLE = "gemel.console.command"
SUBCOMMANDS = {
    "demo": Subcommand(
        "gemel.coordinator.commands.demo",
        "See a whole linkage on invented people: real services, every step explained, two reports at the end.",
    ),
    "rehearse": Subcommand(
        "gemel.coordinator.commands.rehearse",
        "Try a specification out: real services on this machine, throw-away keys, your files.",
    ),
    "init": Subcommand(
        "gemel.coordinator.commands.initialise",
        "Make a folder per party with its keys, certificate and configuration, and the authority that issued them.",
    ),
    "party": Subcommand(
        "gemel.party.commands", "Become a member of a linkage between organisations that do not share a machine."
    ),
    "duplicates": Subcommand(
        "gemel.coordinator.commands.duplicates",
        "Find the people who are in one file more than once: on this machine, in clear, by a linkage's own methods.",
    ),
    "spec": Subcommand("gemel.coordinator.commands.spec", "Draft, check and explain a specification (linkage.yaml)."),
    "project": Subcommand(
        "gemel.coordinator.commands.project",
        "Coordinate a live linkage: create, approve, start, watch, status, report, results.",
    ),
    "steward": Subcommand(
        "gemel.coordinator.commands.steward",
        "Sign off on what comes out: read the report on a result's disclosure risk, release or refuse what the policy "
        "holds, read the audit log.",
    ),
    "compute": Subcommand(
        "gemel.coordinator.commands.compute",
        "Compute for a coordinator or a steward in mode shared: wait for Carole's runs, and take part in each.",
    ),
    "analyst": Subcommand(
        "gemel.coordinator.commands.analyst",
        "Receive columns of linked records that a specification grants you (`release.variables`), sealed to your key "
        "by the custodians: one linked file, without identifiers.",
    ),
    "join": Subcommand(
        "gemel.coordinator.commands.join",
        "Put the linked file together: the ids and probabilities of links, with variables of the custodians' files.",
    ),
    "console": Subcommand(
        CONSOLE,
        "Open the console of a coordinator or a steward in a browser: projects, runs, reports, decisions, the audit "
        "log.",
    ),
    "draws": Subcommand(
        "gemel.coordinator.commands.draws",
        "Estimates from drawn linkages (the grant draws), combined into one with an interval.",
    ),
    "alice": Subcommand(
        "gemel.alice.commands",
        "Alice, a custodian: keeps the records, sends signatures of them to Carole, receives a share of links.",
    ),
    "bob": Subcommand(
        "gemel.bob.commands",
        "Bob, a custodian: keeps the records, sends signatures of them to Carole, receives a share of links.",
    ),
    "carole": Subcommand(
        "gemel.carole.commands.service", "Carole, the linkage unit: she links signatures and never sees a name."
    ),
    "audit": Subcommand(
        "gemel.carole.commands.audit", "The audit log: who did what, in an order that cannot be quietly changed."
    ),
    "risk": Subcommand("gemel.risk.commands.disclosure", "Disclosure risk of tables and records."),
    "keyvars": Subcommand(
        "gemel.risk.commands.keyvars",
        "Key variable mapping: on what, and how finely, sets of data can be matched that code the same things "
        "differently.",
    ),
    "intrude": Subcommand(
        "gemel.carole.commands.intrude", "Use the linker to attack a release: link it to people an intruder knows."
    ),
}
"""By name. A module has a typer ``app`` with commands of its own, or one function ``command``."""

EPILOG = "Start with `gemel demo`. Then: `gemel spec draft`, `gemel rehearse`, `gemel init`, and a live project."


class LazyGroup(TyperGroup):
    """A group that lists its subcommands from the table, and imports one when it is to run or complete."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, (module, text) in SUBCOMMANDS.items():
            if _installed(module):
                self.add_command(TyperCommand(name, help=text))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Subcommand by its name on the command line: the real one in place of its entry in the list."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and subcommand(args[0]), rest


def _version(selected: bool) -> None:
    if selected:
        from importlib.metadata import version

        typer.echo(f"gemel {version('gemel')}")
        for what, number in (
            ("wire", WIRE),
            ("protocol", PROTOCOL),
            ("encoding edition", CLEANING_EDITION),
            ("custodian's state", CUSTODIAN_STATE),
            ("Carole's store", STORE),
        ):
            typer.echo(f"{what:<18} {number}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Show the versions of Gemel, of its wire, of its encoding and of what it stores.",
        ),
    ] = False,
) -> None:
    """Link the records of two data custodians without showing anyone the names."""


app = typer.Typer(
    name="gemel",
    cls=LazyGroup,
    callback=_root,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _installed(module: str) -> bool:
    """Whether a module is installed. Carole's image has `carole` and no `coordinator`."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package it would be in
        return False


app.info.epilog = EPILOG if _installed(SUBCOMMANDS["demo"].module) else None


@cache
def _module(name: str) -> ModuleType:
    """A module of commands; a custodian's with the console, where that is installed: no custodian's image has it."""
    module = importlib.import_module(name)
    if hasattr(module, "PARTY") and _installed(CONSOLE):
        from gemel.console.command import add_console

        add_console(module.app, module.PARTY)
    return module


def subcommand(name: str) -> TyperCommand | TyperGroup:
    """One subcommand, imported, whole."""
    module = _module(SUBCOMMANDS[name].module)
    holder = typer.Typer(rich_markup_mode="markdown", pretty_exceptions_enable=False)
    if hasattr(module, "app"):
        holder.add_typer(module.app, name=name)
    else:
        holder.command(name)(module.command)
    found: TyperCommand | TyperGroup = typer.main.get_group(holder).commands[name]  # type: ignore[assignment]
    return found


def main() -> NoReturn:
    """Run ``gemel``: an error a person can act on is printed without a traceback, and ends with status 1.

    With ``--json`` it is a document on standard output too. A signal that ends the program is named, and what was begun
    is undone; the exit codes are in docs/commands.md.
    """
    try:
        with ended_in_order():
            app()
    except GemelError as error:
        _fail(error)
    except OSError as error:
        # Errors of files to be written: those that are read have errors of their own.
        what = (error.strerror or type(error).__name__).lower()
        _fail(GemelError(code_of(error, ErrorCode.CONFIGURATION), what, where=str(error.filename or "")))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in (*EXTRAS, "gemel"):
            raise
        _fail(missing_module(error))
    except SystemExit as ended:
        _end(ended.code)
    sys.exit(0)


def _end(code: int | str | None) -> NoReturn:
    """End with an exit code; one of a signal in words."""
    if code in WORDS:
        typer.echo(WORDS[code], err=True)
        # What was interrupted may complain when it is cleared away: llvmlite does of a half compiled function.
        sys.unraisablehook = lambda _: None
    sys.exit(code)


def _fail(error: GemelError) -> NoReturn:
    """End with an error, in red on a terminal unless NO_COLOR is set."""
    if json_awaited():
        print_json(error_document(error))
    typer.secho(f"Error: {error}", fg=None if os.environ.get("NO_COLOR") else typer.colors.RED, err=True)
    sys.exit(1)


if __name__ == "__main__":
    main()
