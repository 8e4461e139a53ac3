"""Files that a specification names by their digest: what is known of the joint distribution beforehand.

A custodian has the file, and its service sends it to the linkage unit as keyed codes, with its contribution.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gemel.common.specification.model.section import Section

MIN_TRAINING = 20
"""Fewer training records than this are refused: they move no joint distribution, and single people stand out."""

MAX_KNOWN_ROWS = 1_000_000
"""Maximum number of training records, and of cells of a joint distribution."""

WEIGHT_COLUMNS = ("count", "share")
"""What a cell of a joint distribution counts is in a column of one of these names."""

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class TrainingSpec(Section):
    """Training records: other people of whom both custodians' variables are known. A CSV file, one row a person, with a
    column for each variable of the value model, under its name; its values are the public categories."""

    by: Literal["alice", "bob"]
    """The custodian that has the file."""
    sha256: Digest
    """SHA-256 of the file's bytes, 64 hexadecimal digits in lower case."""
    records: int = Field(ge=MIN_TRAINING, le=MAX_KNOWN_ROWS)
    """Its rows. Fewer than 20 move no joint distribution, and single people would stand out among them."""


class JointSpec(Section):
    """A known joint distribution, which is then not estimated. A CSV file, one row for each cell that occurs, with a
    column for each variable of the value model, under its name, and one named `count`, or `share` of shares that sum to
    1."""

    by: Literal["alice", "bob"]
    """The custodian that has the file."""
    sha256: Digest
    """SHA-256 of the file's bytes, 64 hexadecimal digits in lower case."""
    cells: int = Field(ge=2, le=MAX_KNOWN_ROWS)
    """Its rows."""
