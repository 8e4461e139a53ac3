"""Where a table of linked records comes from: kept in the metadata of its Parquet file, so that it goes with it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import polars as pl
from pydantic import Field

from gemel.common.documents.document import Document
from gemel.common.errors import ErrorCode, GemelError

KEY = "gemel"
"""Of the file's metadata that holds it, as JSON."""

CLASSES = (
    "the chance that the two records are of one person, given both files, as the mean of a class of links or of other"
    " pairs"
)
EXACT = "the chance that the two records are of one person, given both files, to the last digit"


LINKED_FILES = {"links": "linked.parquet", "draws": "linked_draws.parquet"}
"""In a custodian's folder of results: its links, and drawn links, with columns that the other custodian has sent."""


class Provenance(Document):
    """Of which run a table is, and what stands in it."""

    project: str
    run: str
    """The run's name at Carole; "in process" where `gemel.link` made it."""
    table: Literal["links", "pairs", "draws", "copies", "entities"]
    sides: list[Literal["alice", "bob"]] = Field(min_length=1, max_length=2)
    """Whose identifiers or variables are in it."""
    specification_digest: str
    """Hexadecimal."""
    encoding_digest: str
    assignment: str
    """`links.assignment` of the specification: under clusters a link's id is on all records of its person."""
    exact: bool
    """Whether link probabilities are exact; else means of classes."""
    probabilities: str
    """What they mean."""
    created: str
    """ISO 8601 with its offset."""
    version: str
    """Of Gemel."""

    def metadata(self) -> dict[str, str]:
        """What is put into a Parquet file's metadata."""
        return {KEY: self.model_dump_json()}


def read_provenance(path: Path) -> Provenance:
    """The provenance in a Parquet file.

    Raises
    ------
    GemelError
        SOURCE if the file is no Parquet, or has no provenance; PARAMETER if that is malformed.
    """
    try:
        found = pl.read_parquet_metadata(path).get(KEY)
    except (OSError, pl.exceptions.PolarsError):
        raise GemelError(ErrorCode.SOURCE, "cannot be read as a Parquet file", where=str(path)) from None
    if found is None:
        raise GemelError(
            ErrorCode.SOURCE,
            "a table of linked records has its provenance in its metadata",
            where=str(path),
            got="none",
            remedy="give the table as the custodian's service or `gemel join` wrote it",
        )
    return Provenance.read(found.encode(), f"provenance of {path}")
