"""Shares and custodians' own files as they lie on disk, for `gemel join`, and the linked file that comes of them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import polars as pl

from gemel.common.documents.document import LINKED_FILES, Provenance, read_provenance
from gemel.common.durable import whole_file
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.parties import Side
from gemel.common.records.registry import read_table
from gemel.common.records.table import as_text, numbers_of
from gemel.common.specification.model.section import folded_label
from gemel.coordinator.analysis.linked_file import JoinedShare, joined, with_variables
from gemel.custodian.steps.share import COARSENING

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

    frame: pl.DataFrame = dataclass_field(repr=False)
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
    alone = len(shares) == 1
    parts = {Side(side): read_share_table(Path(path), Side(side), table, alone=alone) for side, path in shares.items()}
    if not parts or set(own) - set(parts):
        raise parameter(
            "shares",
            "a file is joined to its custodian's share",
            f"shares of {', '.join(parts) or 'none'}, files of {', '.join(own) or 'none'}",
        )
    for side, file in own.items():
        frame = _coarsened(read_own_file(file), Path(dict(_by_side(shares))[side]))
        parts[side] = with_variables(parts[side], frame, file.identifier, file.variables, keep=file.keep)
    return LinkedFile(joined(parts, identifiers=identifiers), _provenance(parts, table))


def _by_side(shares: Mapping[Side | str, Path | str]) -> list[tuple[Side, Path | str]]:
    return [(Side(side), path) for side, path in shares.items()]


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
