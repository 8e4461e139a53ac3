"""Shards: counts and kept pairs are the plain definition's, however rows and pairs are cut, in bounded memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gemel.carole.engine import Candidates, compare
from gemel.carole.engine.inputs.files import HeldSet, HeldSets, contribution_of
from gemel.carole.engine.pairs import shards
from gemel.carole.engine.pairs.shards import request_order, shards_of
from gemel.carole.engine.run.contribution import Contribution
from gemel.carole.engine.run.specified import plan_of
from gemel.common.errors import ErrorCode
from gemel.common.keys.noise import NoiseKey
from gemel.common.signatures import intervals
from gemel.common.signatures.intervals import Interval
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import load_specification
from gemel.custodian.encoding.records import encode_records
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import ENOUGH, SEED, drawn, every_pair
from tests.carole.engine.whole_rows import whole_comparison
from tests.carole.refusals import refusal
from tests.specifications import heading

NOISE = NoiseKey(bytes(range(1, 33)))
TEXT = (
    heading("shards", "block_keyed")
    + """
fields:
  - {name: surname, kind: name, bits: 128, key_domain: name}
  - {name: given, kind: name, bits: 128, key_domain: name, missing_as: level}
  - {name: sex, kind: category}
  - {name: town, kind: category}
  - {name: born, kind: date, date: {order: ymd}, bits: 128}
  - {name: eyes, kind: category}
swaps: [[surname, given]]
blocking:
  - {name: town, keys: [{field: town}]}
  - {name: name, keys: [{field: surname, prefix: 2}], split: sex, withheld: [born]}
  - {name: born, keys: [{field: born}]}
quality: {check_field: eyes}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
SPEC = load_specification(TEXT)
PLAN = plan_of(SPEC)


NAMES = ["smith", "smyth", "jones", "johns", "brown", "bryan", None]
FIELDS = {
    "surname": NAMES,
    "given": NAMES,
    "sex": ["f", "m", None],
    "town": [None, *(f"town{i}" for i in range(1, 9))],
    "eyes": ["blue", "brown", "green", None],
    "born": [f"19{y}0111" if y > 11 else None for y in range(10, 40)],
}


def people(n: int, seed: int) -> dict[str, pl.Series]:
    return drawn(n, np.random.default_rng(seed), **FIELDS)


def sets_of(columns: dict[str, pl.Series], rows: int) -> tuple[SignatureSet, ...]:
    """The sets of a contribution whose intervals have so many rows on average."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "INTERVAL_ROWS", rows)
        return encode_records(columns, SPEC, SEED, 1, noise=NOISE).sets


def in_lists(found: Candidates) -> list[Any]:
    """All that a comparison has found but for rows' numbers, to the last bit."""
    return [
        *(column.tolist() for column in (found.patterns.gamma, found.patterns.mask, found.patterns.count)),
        sorted(zip(found.pattern.tolist(), found.checked.agrees.tolist(), strict=True)),
        found.checked.strangers,
        found.levels.tolist(),
        [(part.missing.tolist(), part.records.tolist()) for part in found.lacking],
        found.equal,
        found.missing,
        [warning.plain() for warning in found.warnings],
    ]


@settings(max_examples=settings.default.max_examples // 5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.tuples(st.integers(3, 60), st.integers(3, 60)), unit=st.integers(1, 400), seed=st.integers(0, 1000))
def test_counts_and_kept_pairs_are_the_definitions_however_they_are_cut(
    rows: tuple[int, int], unit: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "UNIT_PAIRS", unit)
    sets = [sets_of(people(50 - 7 * side, seed + side), rows[side]) for side in range(2)]
    a, b = (contribution_of(of_side, 50) for of_side in sets)
    whole = whole_comparison(*sets, PLAN)
    code, mask, count, kept = every_pair((a, b), PLAN)
    assert dict(zip(zip(code.tolist(), mask.tolist(), strict=True), count.tolist(), strict=True)) == whole.counts()
    for column, expected in zip((kept.row_a, kept.row_b, code[kept.pattern], mask[kept.pattern]), whole, strict=True):
        np.testing.assert_array_equal(column, expected)


def overlap(one: Interval, other: Interval) -> bool:
    (a, b), (c, d) = ((each.number / each.of, (each.number + 1) / each.of) for each in (one, other))
    return a < d and c < b


def test_any_number_of_intervals_meets_any_other() -> None:
    of_rows = {rows: contribution_of(sets_of(people(200, 1), rows), 200) for rows in (5, 7, 40, 1000)}
    for rows_a in (7, 1000):
        for rows_b in (5, 40, 1000):
            a, b = of_rows[rows_a], of_rows[rows_b]
            found = list(shards_of(a, b, [rule.name for rule in PLAN.rules]))
            expected = [
                (rule, i, j)
                for rule, plan in enumerate(PLAN.rules)
                for i in a.sets_of(plan.name)
                for j in b.sets_of(plan.name)
                if overlap(a.sets[i].interval, b.sets[j].interval)
            ]
            assert found == sorted(expected)


def test_the_whole_comparison_is_the_same_to_the_last_bit_in_one_set_or_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that the resolver is sent, but for the rows' numbers, which follow the sets."""
    columns = [people(400, 3), people(300, 4)]
    columns[0] = {name: column.append(column[:30]) for name, column in columns[0].items()}
    found = []
    for rows, unit, threads in ((10_000, 1 << 22, 1), (40, 1000, 2), (9, 77, 3)):
        monkeypatch.setattr(shards, "UNIT_PAIRS", unit)
        a, b = (contribution_of(sets_of(of_side, rows), len(of_side["sex"])) for of_side in columns)
        candidates, kept = compare(a, b, replace(PLAN, threshold=0.2), replace(ENOUGH, threads=threads), quiet)
        found.append(in_lists(candidates))
        assert len(request_order(a, b, kept)) == len(kept.pattern)
    assert found[0] == found[1] == found[2]
    assert candidates.equal[0] > 0, "equal records are counted across the sets of a rule"


@dataclass(frozen=True)
class Changed(HeldSet):
    """A set that is another one when it is read whole."""

    other: SignatureSet

    def read(self) -> SignatureSet:
        return self.other


class Elsewhere(HeldSets):
    """Sets of which one is another contribution's when it is read again."""

    def __init__(self, sets: Sequence[SignatureSet], other: Sequence[SignatureSet]) -> None:
        super().__init__(sets, 100)
        self._other = other

    def reference(self, number: int) -> HeldSet:
        held = super().reference(number)
        return Changed(held.part, self._other[number]) if number == 1 else held


def test_a_shard_that_is_not_the_plans_ends_the_run() -> None:
    sets, other = sets_of(people(100, 1), 30), sets_of(people(100, 2), 30)
    a, b = Contribution(Elsewhere(sets, other)), contribution_of(other, 100)
    with refusal(ErrorCode.UPLOAD_CORRUPT, "the plan of the run has") as caught:
        compare(a, b, PLAN, ENOUGH, quiet)
    assert caught.value.where == "rule town, sets 1 and 1"


class Copied(HeldSet):
    """A set that is copied whenever it is read, as from a disk."""

    def read(self) -> SignatureSet:
        fields = {
            name: replace(field, signatures=field.signatures.copy(), codes=field.codes.copy())
            for name, field in self.part.fields.items()
        }
        return replace(self.part, fields=fields, blocks={name: keys.copy() for name, keys in self.part.blocks.items()})


class OnDisk(HeldSets):
    """Sets that are read again for each unit."""

    def reference(self, number: int) -> HeldSet:
        return Copied(super().reference(number).part)


def test_memory_does_not_grow_with_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight times the records in eight times the sets: the same bytes but for the pairs that are kept."""
    spec = load_specification(TEXT.replace("swaps: [[surname, given]]\n", ""))
    rng = np.random.default_rng(1)

    def allocated(n: int) -> tuple[int, int]:
        columns = people(n, 1)
        columns["town"] = pl.Series([f"town{i}" for i in rng.integers(0, n // 4, n)])
        columns["surname"] = pl.Series(["".join(chr(97 + c) for c in row) for row in rng.integers(0, 26, (n, 6))])
        columns["born"] = pl.Series([f"{i:08}" for i in 19000101 + 10000 * rng.integers(0, 99, n)])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(intervals, "INTERVAL_ROWS", 500)
            sets = encode_records(columns, spec, SEED, 1, noise=NOISE).sets
        part, other = Contribution(OnDisk(sets, n)), Contribution(OnDisk(sets, n))
        plan = replace(plan_of(spec), dependence="none")
        one = replace(ENOUGH, threads=1)
        compare(part, other, plan, one, quiet)  # compiled
        tracemalloc.start()
        try:
            _, kept = compare(part, other, plan, one, quiet)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        return peak - 100 * len(kept.pattern), sum(each.layout.total_bytes for each in sets[:-1])

    small, large = allocated(2000), allocated(16_000)
    assert large[1] > 6 * small[1]
    assert large[0] < small[0] + (large[1] - small[1]) / 5
