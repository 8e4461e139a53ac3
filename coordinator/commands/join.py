"""``gemel join``: the linked file, from the custodians' shares and their own files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gemel.common.errors import parameter
from gemel.coordinator.commands.dialogues import refuse_existing


def command(
    out: Annotated[Path, typer.Option(help="Where to write the linked file, Parquet.")],
    alice: Annotated[
        Path | None, typer.Option(help="Alice's results of the run (a folder), or a table that this command wrote.")
    ] = None,
    bob: Annotated[Path | None, typer.Option(help="The same of Bob's.")] = None,
    alice_file: Annotated[
        Path | None, typer.Option(help="The file that Alice contributed, CSV or Parquet: its variables are joined.")
    ] = None,
    bob_file: Annotated[Path | None, typer.Option(help="The file that Bob contributed.")] = None,
    alice_identifier: Annotated[str, typer.Option(help="Column of identifiers in Alice's file.")] = "id",
    bob_identifier: Annotated[str, typer.Option(help="Column of identifiers in Bob's file.")] = "id",
    alice_variables: Annotated[
        str | None, typer.Option(help="Columns of Alice's file, with commas between; by default all.")
    ] = None,
    bob_variables: Annotated[str | None, typer.Option(help="Columns of Bob's file.")] = None,
    table: Annotated[str, typer.Option(help="links, pairs or draws: which table of the results.")] = "links",
    identifiers: Annotated[
        bool, typer.Option("--identifiers/--no-identifiers", help="Keep the custodians' identifiers.")
    ] = True,
    unlinked: Annotated[
        str, typer.Option(help="Whose records without a link stay: none, alice, bob or both.")
    ] = "none",
    force: Annotated[bool, typer.Option("--force", help="Write over an existing file.")] = False,
) -> None:
    """Put the linked file together: the ids and probabilities of links, with variables of the custodians' files.

    With both shares, at whoever may have them; with one share and its file, at a custodian, who passes the result on
    without identifiers. The file's metadata has the run, the specification's digest and what the probabilities mean.
    """
    from gemel.coordinator.analysis.linked_file import OwnFile, join

    if table not in ("links", "pairs", "draws"):
        raise parameter("--table", "must be links, pairs or draws", table[:40])
    kept = {"none": (), "alice": ("alice",), "bob": ("bob",), "both": ("alice", "bob")}.get(unlinked)
    if kept is None:
        raise parameter("--unlinked", "must be none, alice, bob or both", unlinked[:40])
    refuse_existing(out, force)
    given = {
        "alice": (alice, alice_file, alice_identifier, alice_variables),
        "bob": (bob, bob_file, bob_identifier, bob_variables),
    }
    files = {
        side: OwnFile(file, identifier, _names(variables), side in kept)
        for side, (_, file, identifier, variables) in given.items()
        if file is not None
    }
    if lacking := [side for side in kept if side not in files]:
        raise parameter(
            "--unlinked", "records without a link are found in the custodian's file", remedy=f"give --{lacking[0]}-file"
        )
    shares = {side: share for side, (share, *_) in given.items() if share is not None}
    found = join(shares, files, table="links" if table == "links" else "pairs" if table == "pairs" else "draws",
                 identifiers=identifiers)  # fmt: skip
    found.write(out)
    frame = found.frame
    linked = frame.height - frame[frame.columns[0]].null_count()
    typer.echo(f"wrote {out}: {frame.height:,} rows, {linked:,} of them {table}, {frame.width} columns")
    typer.echo(f"of project {found.provenance.project}, run {found.provenance.run}; link_probability is")
    typer.echo(f"{found.provenance.probabilities}")


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]
