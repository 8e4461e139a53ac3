"""A custodian's share of a result, in counts: its tables, how many rows each has, and where they come from.

Of a table only the metadata and the number of rows are read: what stands in its rows is for the operator's own
programs, and never on a page.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from gemel.common.documents.provenance import Provenance, read_provenance
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.language import gettext, marked

TABLES = {
    "links": marked("your identifiers of linked records, each link's id and probability"),
    "pairs": marked("every pair that came near to a link"),
    "draws": marked("drawn linkages"),
    "linked": marked("your identifiers of linked records, with the other custodian's columns that are granted to you"),
    "linked_draws": marked("the same of each drawn linkage"),
    "copies": marked("records of yours that count as one person"),
    "entities": marked("records of yours by person"),
}
"""The tables that a share may have, and what each holds."""
OTHERS = {
    "statistics.json": marked("the model and counts"),
    "joint.json": marked("the joint distribution of both files' variables, in codes"),
    "coarsening.csv": marked("what categories were released as; use it wherever you hand out values"),
    "timings.json": marked("how long each step took"),
}


@dataclass(frozen=True)
class ShareTable:
    """One table of a share.

    Attributes
    ----------
    name, what
        Its file, and what it holds.
    rows
        How many it has.
    """

    name: str
    what: str
    rows: int


@dataclass(frozen=True)
class SeenShare:
    """A share in counts.

    Attributes
    ----------
    tables, others
        What lies in its folder.
    provenance
        None where the share has no tables.
    """

    tables: tuple[ShareTable, ...]
    others: tuple[tuple[str, str], ...]
    provenance: Provenance | None


def seen_share(folder: Path) -> SeenShare:
    """A share as it lies in its folder.

    Raises
    ------
    GemelError
        NOT_FOUND if there is none; as `read_provenance`.
    """
    if not folder.is_dir():
        raise GemelError(
            ErrorCode.NOT_FOUND,
            "the share is no longer where your service has written it",
            where=str(folder),
            remedy="restore it from a backup, if it was not deleted on purpose",
        )
    tables, provenance = [], None
    for name, what in TABLES.items():
        file = folder / f"{name}.parquet"
        if file.is_file():
            provenance = provenance or read_provenance(file)
            tables.append(ShareTable(file.name, gettext(what), pl.scan_parquet(file).select(pl.len()).collect().item()))
    others = tuple((name, gettext(what)) for name, what in OTHERS.items() if (folder / name).is_file())
    return SeenShare(tuple(tables), others, provenance)
