"""Bits of a signature: the links of drafted specifications with shorter signatures, and what they claim.

The same files and rules, every field in at most so many bits: files of others (FEBRL4, RLdata500), and invented people
with half and with a twentieth of each file in the other. The truth judges, nothing else.

Then what a custodian of invented people signs and sends in mode block_keyed by its drafted rules: bytes a record, and
processor time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from benchmarks import DATA
from benchmarks._in_process import KEY, linked
from benchmarks._quality_files import rldata
from benchmarks.modes import febrl
from gemel.common.parties import Side
from gemel.common.specification import FieldSpec
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.draft.compared_fields import BITS_IN_BLOCKS
from gemel.coordinator.draft.specification_draft import draft
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.records import encode_records

BITS: dict[str, Callable[[FieldSpec], int]] = {
    "1024": lambda field: field.bits,
    "256": lambda field: min(256, field.bits),
    "128": lambda field: min(128, field.bits),
    "64": lambda field: min(64, field.bits),
    "as drafted in mode block_keyed": lambda field: BITS_IN_BLOCKS.get(field.kind, field.bits),
}

Files = tuple[pl.DataFrame, pl.DataFrame]


def cases(people: int, seeds: int) -> Iterator[tuple[str, Files, bool]]:
    """Title, the two files with a column `TRUTH`, and whether the draft has blocking rules."""
    if (DATA / "febrl").is_dir():
        _, files = febrl()
        renamed = [files[side].rename({"person": TRUTH}) for side in Side]
        yield "FEBRL4 without soc_sec_id", (renamed[0], renamed[1]), True
    if (DATA / "rldata").is_dir():
        yield "RLdata500", rldata(np.random.default_rng(1)), False
    for overlap in (0.5, 0.05):
        for seed in range(1, seeds + 1):
            files_of_seed = two_files(people, people, int(people * overlap), 0.2, np.random.default_rng(seed))
            yield f"{people:,} people, {overlap:.0%} in both, seed {seed}", files_of_seed, True


def sent(people: int) -> Iterator[tuple[str, float, float]]:
    """Bits, bytes a record and processor seconds of a contribution in mode block_keyed."""
    alice, bob = two_files(people, people, people // 2, 0.2, np.random.default_rng(1))
    drafted, *_ = draft(alice.drop(TRUTH), bob.drop(TRUTH), "bits", True, "block_keyed")
    columns = clean(alice, drafted, Side.ALICE).columns
    few = {name: column.head(100) for name, column in columns.items()}
    for bits, of_kind in (("1024", 1024), ("as drafted in mode block_keyed", 0)):
        fields = tuple(
            field.model_copy(update={"bits": of_kind if of_kind and field.bits > 64 else field.bits})
            for field in drafted.fields
        )
        spec = drafted.model_copy(update={"fields": fields})
        encode_records(few, spec, KEY, 1)  # loads what is compiled
        started = time.process_time()
        encoded = encode_records(columns, spec, KEY, 1)
        yield bits, encoded.layout.total_bytes / people, time.process_time() - started


def main(arguments: list[str]) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks bits", description=__doc__)
    parser.add_argument("--people", type=int, default=20_000, help="invented people in each file")
    parser.add_argument("--seeds", type=int, default=3, help="pairs of invented files for each overlap")
    parser.add_argument("--signed", type=int, default=100_000, help="invented people that are signed")
    options = parser.parse_args(arguments)
    print("| data | bits | F1 | less than at 1024 | precision | claimed | recall |\n|---|---|---|---|---|---|---|")
    for title, (alice, bob), block in cases(options.people, options.seeds):
        drafted, *_ = draft(alice.drop(TRUTH), bob.drop(TRUTH), "bits", block)
        first = None
        for bits, of_field in BITS.items():
            fields = tuple(field.model_copy(update={"bits": of_field(field)}) for field in drafted.fields)
            _, found = linked(alice, bob, specification=drafted.model_copy(update={"fields": fields}))
            first = found.f1 if first is None else first
            print(
                f"| {title} | {bits} | {found.f1:.4f} | {first - found.f1:+.4f} | {found.precision:.4f} "
                f"| {found.claimed_precision:.4f} | {found.recall:.4f} |",
                flush=True,
            )
    print(f"\n| {options.signed:,} people, mode block_keyed | bytes a record | processor seconds |\n|---|---|---|")
    for bits, size, seconds in sent(options.signed):
        print(f"| {bits} | {size:,.0f} | {seconds:.1f} |", flush=True)
    return 0
