"""Sets by intervals of their blocks, and fields that a rule fixes: what is sent, what is left out, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.signatures import intervals
from gemel.common.signatures.intervals import WHOLE, Interval, in_intervals, interval_of
from gemel.common.signatures.layout import Layout, fixed_fields
from gemel.common.signatures.payload import from_bytes, to_bytes
from gemel.common.specification import load_specification
from gemel.custodian.encoding.records import Encoded, encode_records
from tests.carole.refusals import refusal
from tests.specifications import heading

SEED, NOISE = Seed(bytes(range(32))), NoiseKey(bytes(range(1, 33)))
TEXT = (
    heading("intervals", "block_keyed")
    + """
fields:
  - {name: surname, kind: name, bits: 128}
  - {name: born, kind: date, date: {order: ymd}, bits: 128}
  - {name: sex, kind: category}
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: name, keys: [{field: surname, prefix: 2}], split: sex}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
SPEC = load_specification(TEXT)


def people(n: int, seed: int) -> dict[str, pl.Series]:
    rng = np.random.default_rng(seed)
    names = [f"{a}{b}mith" for a in "abcdefgh" for b in "aeiou"]
    drawn: dict[str, list[str | None]] = {
        "surname": [names[i] for i in rng.integers(0, len(names), n)],
        "born": [f"19{y:02}0{m}11" if y else None for y, m in rng.integers((0, 1), (60, 9), (n, 2)).tolist()],
        "sex": ["f" if x < 0.5 else "m" for x in rng.random(n)],
    }
    return {name: pl.Series(name, values, dtype=pl.String) for name, values in drawn.items()}


def encoded(columns: dict[str, pl.Series]) -> Encoded:
    return encode_records(columns, SPEC, SEED, 1, noise=NOISE)


@given(digests=st.lists(st.integers(0, 2**64 - 1), max_size=50), bits=st.integers(0, 14))
def test_an_interval_has_the_digests_between_its_ends(digests: list[int], bits: int) -> None:
    of = 1 << bits
    found = interval_of(np.array(digests, dtype=np.uint64), of)
    for digest, number in zip(digests, found.tolist(), strict=True):
        assert number * (2**64 // of) <= digest < (number + 1) * (2**64 // of)


def test_large_rules_are_cut_and_small_ones_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "INTERVAL_ROWS", 100)
    assert [intervals.intervals(n) for n in (0, 1, 100, 101, 200, 201, 1600)] == [1, 1, 1, 2, 2, 4, 16]
    digests = np.random.default_rng(1).integers(1, 2**64, 1600, dtype=np.uint64)
    rows = np.arange(1600)
    found = list(in_intervals(rows, digests))
    assert [interval for interval, _ in found] == [Interval(i, 16) for i in range(16)]
    assert sorted(np.concatenate([own for _, own in found]).tolist()) == rows.tolist()
    assert all(interval.holds(digests[own]).all() for interval, own in found)


@pytest.mark.parametrize("rows", [40, 250])
def test_the_same_rows_are_sent_however_they_are_cut(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = people(1000, 1)
    whole = encoded(columns)
    monkeypatch.setattr(intervals, "INTERVAL_ROWS", rows)
    cut = encoded(columns)
    assert len(cut.sets) > len(whole.sets)
    for rule in ("born", "name"):
        assert sorted(cut.orders[rule].tolist()) == sorted(whole.orders[rule].tolist())
        sent: list[dict[int, list[object]]] = []
        for made in (whole, cut):
            parts = [part for part in made.sets if part.rule == rule]
            order, at = made.orders[rule], 0
            of_record: dict[int, list[object]] = {}
            for part in parts:
                assert part.interval.of == len(parts)
                assert part.interval.holds(part.blocks[rule]).all()
                for row in range(part.n_rows):
                    signed: list[object] = [int(keys[row]) for keys in part.blocks.values()]
                    for field in part.fields.values():
                        code = field.codes[row]
                        signed.append(field.signatures[code].tobytes() if code >= 0 else None)
                    of_record[int(order[at + row])] = signed
                at += part.n_rows
            sent.append(of_record)
        assert sent[0] == sent[1]
    read = from_bytes(cut.layout, b"".join(to_bytes(cut.sets)))
    assert [part.layout for part in read] == list(cut.layout.sets)


def test_of_a_field_that_the_key_fixes_nothing_is_sent() -> None:
    born, name = SPEC.keyed_rules
    assert fixed_fields(born, SPEC) == {"born"}
    assert fixed_fields(name, SPEC) == {"sex"}
    swapped = SPEC.model_copy(update={"swaps": (("surname", "born"),)})
    assert fixed_fields(born, swapped) == frozenset()
    noisy = [field.model_copy(update={"randomised_response": 0.1}) for field in SPEC.fields]
    assert fixed_fields(born, SPEC.model_copy(update={"fields": tuple(noisy)})) == frozenset()
    made = encoded(people(300, 2))
    for part in made.sets[:2]:
        fixed = {name for name, field in part.fields.items() if field.content == "fixed"}
        assert fixed == fixed_fields({rule.name: rule for rule in SPEC.keyed_rules}[part.rule], SPEC)
        by_hand = sum(
            field.signatures.nbytes + 4 * (part.n_rows + part.n_rows % 2)
            for name, field in part.fields.items()
            if name not in fixed
        )
        assert part.layout.total_bytes == by_hand + 16 * part.n_rows


@pytest.mark.parametrize("change", ["order", "missing", "count", "rule", "whole"])
def test_intervals_must_be_those_of_whole_rules(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "INTERVAL_ROWS", 300)
    layout = encoded(people(1000, 1)).layout
    sets = list(layout.sets)
    assert [part.interval.of for part in sets] == [4] * 8 + [1]
    layout.validate()
    if change == "order":
        sets[0], sets[1] = sets[1], sets[0]
    elif change == "missing":
        del sets[3]
    elif change == "count":
        sets[1] = replace(sets[1], interval=Interval(1, 2))
    elif change == "rule":
        sets[3] = replace(sets[3], rule="name")
    else:
        sets[0] = replace(sets[0], interval=WHOLE)
    with refusal(ErrorCode.UPLOAD_LIMIT, "interval"):
        Layout(tuple(sets), layout.records).validate()


def test_a_row_in_the_set_of_another_interval_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pairs would be missed, as a custodian who hides a record from the linkage would like."""
    monkeypatch.setattr(intervals, "INTERVAL_ROWS", 300)
    made = encoded(people(1000, 1))
    part = made.sets[2]
    keys = part.blocks["born"].copy()
    keys[5] ^= np.uint64(1 << 63)
    for wrong in (keys, np.where(np.arange(len(keys)) == 5, np.uint64(0), part.blocks["born"])):
        forged = replace(part, blocks={**part.blocks, "born": wrong})
        sets = [*made.sets[:2], forged, *made.sets[3:]]
        with refusal(ErrorCode.UPLOAD_CORRUPT, "interval of its block"):
            from_bytes(made.layout, b"".join(to_bytes(sets)))
