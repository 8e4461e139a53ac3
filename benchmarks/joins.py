"""Joins: how many rows of one record an honest run of mode block_keyed requests handles of, beside what there are.

What `resolution.max_joins` must allow. Drafted specifications, which have more rules than most, on generated people:
with few errors and many, with half of the people in both files and all, with blocks padded; and FEBRL4.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import polars as pl

from benchmarks import DATA
from benchmarks._block_keyed import Files, compared, encoded
from benchmarks._in_process import KEY
from benchmarks.modes import febrl
from gemel.carole.engine.run.specified import plan_of
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.coordinator.demonstration.people import two_files
from gemel.coordinator.draft.specification_draft import draft


def requested(spec: Specification, files: Files) -> tuple[float, float, float]:
    """What a run requests of the file of which it requests more, in three shares.

    The records of which it requests handles of any row; the rows beyond one for each of these, among all such rows that
    there are, which is what the cap is on; and the same rows over the records.
    """
    spec = spec.model_copy(update={"mode": "block_keyed"})
    made = encoded(files, spec, KEY)
    _, rows = compared(files, made, plan_of(spec))
    found = []
    for side in Side:
        n = files[side].height
        record = np.concatenate([made[side].orders[rule.name] for rule in spec.blocking])
        # Records from n on are dummies.
        own, signed = record[np.unique(rows[side])], record[record < n]
        own = own[own < n]
        records = len(np.unique(own))
        joins, all_joins = len(own) - records, len(signed) - len(np.unique(signed))
        found.append((joins / max(1, all_joins), records / n, joins / n))
    share, records_share, each = max(found)
    return records_share, share, each


def drafted(alice: pl.DataFrame, bob: pl.DataFrame, *truth: str) -> tuple[Specification, dict[Side, pl.DataFrame]]:
    """The specification that is drafted for two files without the columns of the truth, and the files."""
    spec, *_ = draft(alice.drop(truth), bob.drop(truth), "joins", mode="block_keyed")
    return spec, {Side.ALICE: alice, Side.BOB: bob}


def cases(rows: int) -> Iterator[tuple[str, Specification, Files]]:
    """What is measured, with its title."""
    if (DATA / "febrl").is_dir():
        spec, files = febrl()
        yield "FEBRL4", spec, files
        yield "FEBRL4, as drafted", *drafted(files[Side.ALICE], files[Side.BOB], "person", "rec_id")
    for errors, common in ((0.2, rows // 2), (0.2, rows), (0.6, rows // 2), (0.6, rows)):
        alice, bob = two_files(rows, rows, common, errors, np.random.default_rng(4))
        spec, files = drafted(alice, bob, "person_id")
        title = f"{rows:,} people, {common:,} in both, {errors:.0%} with errors, as drafted"
        yield title, spec, files
        yield f"{title}, padding: powers_of_two", spec.model_copy(update={"padding": "powers_of_two"}), files


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks joins", description=__doc__)
    parser.add_argument("--rows", type=int, default=3000, help="generated people in each file")
    options = parser.parse_args(arguments)
    print(
        "| data | rules | records requested | joins, of all there are | joins, of the records |\n|---|---|---|---|---|"
    )
    for title, spec, files in cases(options.rows):
        records, share, each = requested(spec, files)
        print(f"| {title} | {len(spec.blocking)} | {records:.1%} | {share:.1%} | {each:.1%} |", flush=True)
    return 0
