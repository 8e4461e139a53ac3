"""Pairs of a rehearsal with both identifiers, and the persons of both files, by which they are judged."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.records.registry import read_source
from gemel.common.records.sources import Source
from gemel.common.specification import Specification
from gemel.coordinator.truth_columns import Truth


def links_and_pairs(shares: dict[Side, Path]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The links and all pairs, from the folders of the two custodians' shares."""
    pairs = _joined(shares)
    return pairs.filter("linked").drop("linked"), pairs


def persons_of(source: Source, spec: Specification, side: Side, truth: Truth) -> pl.DataFrame:
    """Own identifier and person of every row of one file."""
    column = truth.of(side)
    identifier = spec.custodians.of(side).identifier
    table = read_source(source, None).frame
    for name in (column, identifier):
        if name not in table.columns:
            raise GemelError(
                ErrorCode.FIELD_MISSING,
                f"there is no column {name!r}",
                where=f"{side}'s file",
                got=f"columns {', '.join(table.columns)}",
                remedy="name the column of the truth and of the identifier as they stand in the file",
            )
    return table.select(pl.col(identifier).alias("identifier"), pl.col(column).alias("person"))


def _joined(shares: dict[Side, Path]) -> pl.DataFrame:
    """The pairs with both identifiers, from the two custodians' shares of them."""
    alice, bob = (pl.read_parquet(shares[side] / "pairs.parquet") for side in (Side.ALICE, Side.BOB))
    own = alice.rename({"identifier": "alice"}).join(
        bob.select("pair_id", bob=pl.col("identifier")), on="pair_id", how="inner"
    )
    return own.select("alice", "bob", "link_probability", "linked").sort(
        ["link_probability", "alice", "bob"], descending=[True, False, False]
    )
