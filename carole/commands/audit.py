"""``gemel audit``: the audit log read, verified and witnessed, on the machine where Carole keeps it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.terminal.output import Json, print_json

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from gemel.common.audit import Checkpoint
    from gemel.common.keys.identity import Identity

app = typer.Typer(
    help="The audit log: who did what, in an order that cannot be quietly changed. Run on Carole's machine.",
    no_args_is_help=True,
)

Config = Annotated[Path, typer.Option("--config", help="Carole's configuration file.")]


@app.command()
def show(
    config: Config = Path("carole.yaml"),
    project: Annotated[str | None, typer.Option(help="Only entries of this project.")] = None,
) -> None:
    """Print the entries in order, one JSON object per line: who did what to which project."""
    from gemel.carole.store import audit

    with _reading(config) as connection:
        for entry in audit.entries(connection, project):
            reported = {"sequence": entry.sequence, "at": _time(entry.at), "project": entry.project}
            reported |= {"actor": entry.actor, "action": entry.action, "details": entry.details}
            typer.echo(json.dumps(reported))


@app.command()
def verify(
    config: Config = Path("carole.yaml"),
    kept: Annotated[
        list[Path] | None,
        typer.Option(help="A file of checkpoints kept by another party, one after another; may be repeated."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check every entry, the tree over them, every signed checkpoint, and the checkpoints kept by other parties.

    Ends with status 1 at the first error, and names the entry where it begins. A log rewritten and signed again with
    Carole's own key is only found with a checkpoint kept by another party: custodians keep them.
    """
    from gemel.carole.store import audit_check

    checkpoints = [checkpoint for path in kept or () for checkpoint in _read_kept(path)]
    with _reading(config) as connection:
        found = audit_check.verify(connection, _identity(config).public, checkpoints)
    if not found.intact:
        where = "audit log" if found.entry is None else f"audit log, entry {found.entry}"
        remedy = "stop Carole, keep the database and every kept checkpoint unchanged, and inform the custodians"
        got = f"{found.size} readable entries"
        raise GemelError(ErrorCode.AUDIT, found.finding, where=where, got=got, remedy=remedy)
    if as_json:
        at = None if found.checkpoint is None else _time(found.checkpoint.at)
        print_json({"intact": True, "entries": found.size, "signed_at": at, "kept_compared": found.compared})
        return
    reported = f"Intact: {found.size} entries, signed by Carole"
    if found.checkpoint is not None:
        reported += f" at {_time(found.checkpoint.at)}"
    typer.echo(f"{reported}.")
    if checkpoints:
        typer.echo(f"Consistent with all {found.compared} kept checkpoints.")
    else:
        typer.echo(
            "Not compared with any kept checkpoint: a log rewritten with Carole's own key would not be detected."
        )


@app.command()
def checkpoint(
    config: Config = Path("carole.yaml"),
    witness: Annotated[
        str | None, typer.Option(help="A custodian: the newest checkpoint that it has cosigned, with its cosignature.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the newest checkpoint: the log's size and root, signed, as a signed note that other programs verify too.

    Keep it elsewhere. docs/audit-log.md has its bytes, and a verifier of a page.
    """
    from gemel.carole.store.audit import cosigned, newest

    identity = _identity(config)
    with _reading(config) as connection:
        if witness is None:
            found: str | None = newest(connection).noted(identity).to_text()
        else:
            found = cosigned(connection, witness)
    if found is None:
        what = "no checkpoint was countersigned by this member"
        remedy = "name a custodian as the membership list does; its service countersigns before every step"
        raise GemelError(ErrorCode.NOT_FOUND, what, where="audit log", remedy=remedy)
    if as_json:
        print_json({"checkpoint": found})
    else:
        typer.echo(found.rstrip("\n"))


@app.command()
def export(
    config: Config = Path("carole.yaml"),
    project: Annotated[str | None, typer.Option(help="Only entries of this project.")] = None,
    since: Annotated[
        int,
        typer.Option(min=0, help="Size of an older checkpoint: the proof that the log continues it is printed too."),
    ] = 0,
) -> None:
    """Print the log with its proofs, one JSON object per line, for a verifier that needs nothing of Gemel.

    The first line has the newest checkpoint and the proof that it continues an older one; then an entry a line, with
    what is hashed of it and the proof that it is in the log. docs/audit-log.md describes and verifies them.
    """
    from gemel.carole.store.audit_check import exported

    identity = _identity(config)
    with _reading(config) as connection:
        for line in exported(connection, identity, project, since):
            typer.echo(json.dumps(line))


@contextmanager
def _reading(config: Path) -> Iterator[Connection]:
    from gemel.carole.configuration import load_carole
    from gemel.carole.store.database import Database

    with closing(Database(load_carole(config).store.database)) as database, database.read() as connection:
        yield connection


def _identity(config: Path) -> Identity:
    from gemel.carole.configuration import load_carole
    from gemel.common.keys.identity_configuration import open_identity
    from gemel.common.pki.folders import PartyFolder

    configuration = load_carole(config)
    return open_identity(configuration.identity, PartyFolder(configuration.keys).identity)


def _read_kept(path: Path) -> list[Checkpoint]:
    from gemel.common.audit import Checkpoint
    from gemel.common.audit.signed_note import notes_in

    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = "the kept checkpoints cannot be read"
        raise GemelError(ErrorCode.AUDIT, what, where=str(path), got=type(error).__name__) from None
    return [
        Checkpoint.from_text(text, f"{path}, checkpoint {number}") for number, text in enumerate(notes_in(content), 1)
    ]


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
