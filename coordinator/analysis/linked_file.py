"""Linked records put together: two shares of one run, each with variables of its custodian's own file.

Whoever may have both shares joins them by the ids that Carole drew; a custodian alone joins its share with its own
file, and takes its identifiers out before it passes the table on.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl

from gemel.common.documents.document import LINKED_FILES, Provenance, read_provenance
from gemel.common.durable import whole_file
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.parties import Side
from gemel.common.specification.model.section import folded_label
from gemel.custodian.steps.share import COARSENING
from gemel.records.registry import read_table
from gemel.records.table import as_text, numbers_of

if TYPE_CHECKING:
    from polars._typing import JoinStrategy

IDENTIFIER = "identifier"
IDS = ("link_id", "pair_id")
OWN = ("link_probability", "linked", "draw")
"""Columns of a share beside ids and identifiers."""


@dataclass(frozen=True)
class JoinedShare:
    """One side's part: its share, with or without variables; `where` is for errors.

    The table has an id (``link_id`` or ``pair_id``), ``link_probability``, perhaps ``identifier``, ``linked`` or
    ``draw``, and variables.
    """

    table: pl.DataFrame = field(repr=False)
    provenance: Provenance
    where: str

    @property
    def id_column(self) -> str:
        for name in IDS:
            if name in self.table.columns:
                return name
        raise GemelError(
            ErrorCode.FIELD_MISSING,
            "no column link_id or pair_id",
            where=self.where,
            remedy="give a folder of results, or a table that `gemel join` has written",
        )

    @property
    def keys(self) -> list[str]:
        """The columns by which the two shares are joined."""
        return ["draw", self.id_column] if "draw" in self.table.columns else [self.id_column]

    @property
    def persons(self) -> bool:
        """Whether an id is on all records of a person, which is so under the assignment clusters alone."""
        return self.provenance.assignment == "clusters"


def with_variables(
    share: JoinedShare, own: pl.DataFrame, identifier: str, variables: Sequence[str] | None, *, keep: bool = False
) -> JoinedShare:
    """A share with variables of the custodian's own file."""
    selected = [name for name in own.columns if name != identifier] if variables is None else list(variables)
    if missing := [name for name in (identifier, *selected) if name not in own.columns]:
        raise GemelError(
            ErrorCode.FIELD_MISSING,
            f"no column {', '.join(missing)}",
            where=f"the file of {share.where}",
            got=f"columns {', '.join(own.columns[:40])}",
            remedy="name the column of identifiers, and the variables, as they stand in the file",
        )
    if IDENTIFIER not in share.table.columns:
        raise GemelError(
            ErrorCode.FIELD_MISSING,
            "no column identifier, by which the records of a file are found",
            where=share.where,
            remedy="give the folder of results, in which the custodian's identifiers are",
        )
    identifiers = own[identifier]
    if repeated := int(identifiers.is_duplicated().sum()):
        raise GemelError(
            ErrorCode.DUPLICATE_IDENTIFIER,
            f"every row needs an identifier of its own in column '{identifier}'",
            where=f"the file of {share.where}",
            got=f"{repeated} rows with one that another row has",
            remedy="give the file that was contributed",
        )
    known = set(identifiers.to_list())
    if strangers := sum(name not in known for name in share.table[IDENTIFIER].unique().to_list()):
        raise parameter(
            share.where,
            "the share names records that the file does not have",
            f"{strangers} of {share.table[IDENTIFIER].n_unique()} identifiers",
            "give the file that was contributed to this run, and its column of identifiers",
        )
    named = own.select(pl.col(identifier).alias(IDENTIFIER), *selected)
    if taken := [name for name in selected if name in (*IDS, *OWN, *share.table.columns)]:
        named = named.rename({name: f"{name}_own" for name in taken})
    if keep:
        found = named.join(share.table, on=IDENTIFIER, how="left", maintain_order="left")
    else:
        found = share.table.join(named, on=IDENTIFIER, how="left", maintain_order="left")
    return JoinedShare(found, share.provenance, share.where)


def joined(shares: Mapping[Side, JoinedShare], *, identifiers: bool = True) -> pl.DataFrame:
    """The linked file.

    Parameters
    ----------
    shares
        Of one custodian, or of both.
    identifiers
        Whether the custodians' identifiers stay, as columns ``alice`` and ``bob``.

    Returns
    -------
    DataFrame
        A row for each link, pair or drawn link: ids, ``link_probability``, identifiers, and both sides' variables; one
        that both have gets the side's name at its end. Records kept without a link have no id and no probability.

    Raises
    ------
    GemelError
        PARAMETER for shares of two runs, of different tables, or an id on several rows.
    """
    parts = {side: _named(share, side, identifiers=identifiers) for side, share in shares.items()}
    if len(shares) == 1:
        ((side, table),) = parts.items()
        _require_unique(shares[side])
        return _ordered(table, shares[side].keys)
    a, b = shares[Side.ALICE], shares[Side.BOB]
    _require_one_run(a, b)
    for share in (a, b):
        _require_unique(share)
    left, right = parts[Side.ALICE], parts[Side.BOB]
    # One number of a link: the exact one, where only one of the two custodians has it.
    if b.provenance.exact and not a.provenance.exact:
        left = left.drop("link_probability", strict=False)
    common = [name for name in left.columns if name in right.columns and name not in a.keys]
    variables = [name for name in common if name not in OWN]
    left = left.rename({name: f"{name}_alice" for name in variables})
    right = right.rename({name: f"{name}_bob" for name in variables}).drop([n for n in common if n in OWN])
    keep_left, keep_right = (table[a.id_column].null_count() > 0 for table in (left, right))
    how: JoinStrategy = "inner"
    if keep_left and keep_right:
        how = "full"
    elif keep_left:
        how = "left"
    elif keep_right:
        how = "right"
    table = left.join(right, on=a.keys, how=how, coalesce=True, maintain_order="left_right")
    return _ordered(table, a.keys)


def _named(share: JoinedShare, side: Side, *, identifiers: bool) -> pl.DataFrame:
    if IDENTIFIER not in share.table.columns:
        return share.table
    return share.table.rename({IDENTIFIER: str(side)}) if identifiers else share.table.drop(IDENTIFIER)


def _ordered(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Keys, uncertainty and identifiers first, then variables."""
    first = [*keys, *(name for name in OWN if name in table.columns and name not in keys)]
    first += [str(side) for side in Side if str(side) in table.columns]
    return table.select(*first, pl.exclude(first)).sort(keys, nulls_last=True, maintain_order=True)


def _require_unique(share: JoinedShare) -> None:
    """An id is on one row, unless it is that of a person."""
    rows = share.table.drop_nulls(share.id_column)
    keys = [*share.keys, IDENTIFIER] if share.persons and IDENTIFIER in rows.columns else share.keys
    if share.persons and IDENTIFIER not in rows.columns:
        return
    if repeated := rows.height - rows.select(keys).n_unique():
        raise parameter(
            share.where,
            f"an id of column {share.id_column} is on one row only",
            f"{repeated} rows with an id that another row has",
            "give the tables as the services wrote them, each once",
        )


def _require_one_run(a: JoinedShare, b: JoinedShare) -> None:
    """Refuse shares of two runs, or of two kinds of table."""
    if a.keys != b.keys:
        raise parameter(
            f"{a.where} and {b.where}",
            "the two shares are of different tables",
            f"{' and '.join(a.keys)}; {' and '.join(b.keys)}",
            "name with --table one that both custodians were granted: links, pairs or draws",
        )
    for name in ("specification_digest", "run"):
        of_a, of_b = (str(getattr(share.provenance, name)) for share in (a, b))
        if of_a != of_b:
            raise _two_runs(a, b, f"{name.replace('_', ' ')} {of_a[:16]} and {of_b[:16]}")
    ids = [set(share.table[share.id_column].drop_nulls().to_list()) for share in (a, b)]
    both = len(ids[0] & ids[1])
    fewest = min(map(len, ids))
    if fewest and not both:
        raise _two_runs(a, b, "no id that both have")
    # A pair of the other's dummies is on one side only; a link never is.
    if a.id_column == "link_id" and both != max(map(len, ids)):
        raise _two_runs(a, b, f"{both} ids that both have, of {len(ids[0])} and {len(ids[1])}")


def _two_runs(a: JoinedShare, b: JoinedShare, got: str) -> GemelError:
    return parameter(
        f"{a.where} and {b.where}",
        "the two shares are not of one run: every run draws ids of its own",
        got,
        "give the two custodians' results of the same run, whole",
    )


PARQUET_SUFFIXES = frozenset({".parquet", ".pq"})

Table = Literal["links", "pairs", "draws"]


@dataclass(frozen=True)
class OwnFile:
    """A custodian's file, and what of it is joined to its share.

    Attributes
    ----------
    path
        CSV or Parquet, as it was contributed.
    identifier
        Its column of identifiers.
    variables
        Columns; None: all.
    keep
        Whether records without a link stay.
    """

    path: Path
    identifier: str
    variables: Sequence[str] | None = None
    keep: bool = False


@dataclass(frozen=True)
class LinkedFile:
    """Linked records with their variables, and where they come from.

    Attributes
    ----------
    frame : polars.DataFrame
        ``link_id``, ``link_probability``, identifiers unless they were left out, variables.
    provenance
    """

    frame: pl.DataFrame = field(repr=False)
    provenance: Provenance

    def write(self, path: Path | str) -> None:
        """Write a Parquet file whose metadata has the provenance, for its owner's eyes only."""
        with whole_file(Path(path)) as file:
            self.frame.write_parquet(file, metadata=self.provenance.metadata())

    def _repr_html_(self) -> str:
        return self.frame._repr_html_()


def join(
    shares: Mapping[Side | str, Path | str],
    files: Mapping[Side | str, OwnFile] | None = None,
    *,
    table: Table = "links",
    identifiers: bool = True,
) -> LinkedFile:
    """Put a linked file together from the custodians' shares and their own files.

    Parameters
    ----------
    shares : mapping from ``"alice"``, ``"bob"`` to path
        A folder of results, as a custodian's service writes it, or a Parquet file that `join` wrote of one side; of one
        custodian or of both.
    files : mapping from ``"alice"``, ``"bob"`` to OwnFile
        Whose variables are joined.
    table : {"links", "pairs", "draws"}
        Which table of the folders.
    identifiers : bool
        Whether the custodians' identifiers stay in the result.

    Raises
    ------
    GemelError
        NOT_FOUND if a share has no such table; as `with_variables` and `joined`; SPECIFICATION where the result was
        released coarsened and a variable cannot be.
    """
    own = {Side(side): file for side, file in (files or {}).items()}
    paths = {Side(side): Path(path) for side, path in shares.items()}
    parts = {side: read_share_table(path, side, table, alone=len(paths) == 1) for side, path in paths.items()}
    if not parts or set(own) - set(parts):
        raise parameter(
            "shares",
            "a file is joined to its custodian's share",
            f"shares of {', '.join(parts) or 'none'}, files of {', '.join(own) or 'none'}",
        )
    for side, file in own.items():
        frame = _coarsened(read_own_file(file), paths[side])
        parts[side] = with_variables(parts[side], frame, file.identifier, file.variables, keep=file.keep)
    return LinkedFile(joined(parts, identifiers=identifiers), _provenance(parts, table))


def read_share_table(path: Path, side: Side, table: Table, *, alone: bool = False) -> JoinedShare:
    """One custodian's table: of its folder of results, or a file of its own."""
    linked = path / LINKED_FILES.get(table, "")
    received = alone and path.is_dir() and linked.is_file()
    file = linked if received else path / f"{table}.parquet" if path.is_dir() else path
    if not file.is_file():
        there = sorted(name.name for name in path.glob("*.parquet")) if path.is_dir() else []
        raise GemelError(
            ErrorCode.NOT_FOUND,
            f"{side.title()}'s share has no {table}",
            where=str(file),
            got=", ".join(there) or "no table",
            remedy="give the folder of the run, results/PROJECT/RUN, and a --table that `release` grants",
        )
    provenance = read_provenance(file)
    return JoinedShare(pl.read_parquet(file), provenance, str(path))


def read_own_file(file: OwnFile) -> pl.DataFrame:
    """A custodian's file: identifiers as text, numbers as numbers.

    Of CSV a column becomes numbers if every value is one and is written as one: ``007`` stays text.
    """
    if file.path.suffix.lower() in PARQUET_SUFFIXES:
        frame = pl.read_parquet(file.path)
        if file.identifier in frame.columns:
            frame = frame.with_columns(as_text(frame[file.identifier], str(file.path)).alias(file.identifier))
        return frame
    frame = read_table(file.path)
    return frame.select(column if column.name == file.identifier else numbers_of(column) for column in frame)


def _coarsened(frame: pl.DataFrame, share: Path) -> pl.DataFrame:
    """The columns that may be used only as the result was released, where the policy coarsened them."""
    path = share / COARSENING
    if not path.is_file():
        return frame
    steps = pl.read_csv(path, infer_schema=False)
    for (name,), step in steps.group_by("variable", maintain_order=True):
        if name not in frame.columns:
            raise GemelError(
                ErrorCode.SPECIFICATION,
                f"the result was released with the variable {name} coarsened, and the file has no column of its name",
                where=str(path),
                remedy="name the column as the variable of the specification, or leave it out of the file",
            )
        groups = {folded_label(label): group for label, group in step.select("category", "released_as").rows()}
        values = [None if value is None else groups.get(folded_label(str(value))) for value in frame[str(name)]]
        frame = frame.with_columns(pl.Series(str(name), values, dtype=pl.String))
    return frame


def _provenance(parts: Mapping[Side, JoinedShare], table: Table) -> Provenance:
    known = [share.provenance for share in parts.values()]
    first = next((one for one in known if one.exact), known[0])
    sides = sorted({side for one in known for side in one.sides} | {str(side) for side in parts})
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return Provenance.model_validate(
        first.plain() | {"sides": sides, "table": table, "created": now, "version": version("gemel")}
    )
