"""The root command ``tryst``: it knows its subcommands by name, and leaves out those whose package is not installed.

A custodian's image holds no code of Carole's, so there ``tryst --help`` shows no ``carole``. Loading by name also keeps
this package from importing anything above it.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from typing import NoReturn

import typer

from tryst.common.errors import TrystError

SUBCOMMANDS = {
    "demo": "tryst.coordinator.commands.demo",
    "rehearse": "tryst.coordinator.commands.rehearse",
    "init": "tryst.coordinator.commands.initialise",
    "party": "tryst.common.pki.commands",
    "spec": "tryst.coordinator.commands.spec",
    "project": "tryst.coordinator.commands.project",
    "steward": "tryst.coordinator.commands.steward",
    "alice": "tryst.alice.commands",
    "bob": "tryst.bob.commands",
    "carole": "tryst.carole.commands",
    "audit": "tryst.carole.audit_commands",
    "risk": "tryst.risk.commands",
    "keyvars": "tryst.risk.keyvars.commands",
    "intrude": "tryst.carole.intruder.commands",
}
"""Name to module. A module has a typer ``app`` with commands of its own, or one function ``command``."""

EPILOG = "Start with `tryst demo`. Then: `tryst spec draft`, `tryst rehearse`, `tryst init`, and a live project."


def build(argv: list[str]) -> typer.Typer:
    """The root command; only the subcommand that `argv` asks for is imported, all of them for ``--help``."""
    root = typer.Typer(
        name="tryst",
        help="Link the records of two data custodians without showing anyone the names.",
        epilog=EPILOG if _installed(SUBCOMMANDS["demo"]) else None,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
    )
    root.callback()(lambda: None)
    wanted = [argv[0]] if argv and argv[0] in SUBCOMMANDS else list(SUBCOMMANDS)
    for name in wanted:
        path = SUBCOMMANDS[name]
        if not _installed(path):
            continue
        module = importlib.import_module(path)
        if hasattr(module, "app"):
            root.add_typer(module.app, name=name)
        else:
            root.command(name)(module.command)
    return root


def _installed(module: str) -> bool:
    """Whether a module is there. Carole's image has `carole` and no `coordinator`."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package it would be in
        return False


def main() -> NoReturn:
    """Run ``tryst``: an error a person can act on is printed as one, without a traceback, and ends with status 1."""
    try:
        build(sys.argv[1:])()
    except TrystError as error:
        typer.secho(f"Error: {error}", fg=typer.colors.RED, err=True)
        sys.exit(1)
    except OSError as error:
        # Of files that the command was told to write: those it reads have errors of their own.
        where = f"{error.filename}: " if error.filename else ""
        typer.secho(f"Error: {where}{(error.strerror or type(error).__name__).lower()}", fg=typer.colors.RED, err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(0)


if __name__ == "__main__":
    main()
