"""Padded blocks: sizes on target, dummies that look like the rows of their block, and no dummy elsewhere."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode
from gemel.common.keys.derivation import FieldKeys, Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.signatures.layout import GROUP_ROWS, GROUPS
from gemel.common.signatures.payload import from_bytes, to_bytes
from gemel.common.signatures.signature_sets import SignatureSet, layout_of
from gemel.common.specification import Specification, load_specification
from gemel.common.specification.model.blocking import Padding
from gemel.custodian.encoding.blocking_keys import key_text
from gemel.custodian.encoding.padding import Draws, excess_agreement, min_size, padded_size, rows_of_rules
from gemel.custodian.encoding.records import encode_records
from tests.carole.refusals import refusal
from tests.custodian.encoding.encoded_rows import n_dummies, series
from tests.specifications import heading

SEED = Seed(bytes(range(32)))
NOISE = NoiseKey(bytes(range(32)))
TEXT = (
    heading("padded", "block_keyed")
    + """
fields:
  - {name: surname, kind: name, bits: 64}
  - {name: given, kind: name, bits: 64}
  - {name: sex, kind: category}
  - {name: born, kind: date, date: {order: ymd}, bits: 64}
  - {name: age, kind: number, bits: 64}
  - {name: town, kind: text, bits: 64}
  - {name: postcode, kind: code, bits: 64}
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: name, keys: [{field: surname, prefix: 1}, {field: born, part: year}]}
  - {name: place, keys: [{field: postcode}], split: sex}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
padding: PADDING
"""
)


def specification(padding: Padding | None) -> Specification:
    return load_specification(TEXT.replace("PADDING", "null" if padding is None else str(padding)))


def people(n: int, seed: int) -> dict[str, pl.Series]:
    """A postcode is of one town, an age of one year of birth, a given name of one sex; a tenth of each is missing."""
    rng = np.random.default_rng(seed)
    sex, postcode = rng.integers(0, 2, n), rng.zipf(1.5, n) % 40
    year = rng.integers(1950, 1990, n)
    surname = np.array(["smith", "smyth", "sanders", "jones", "jarvis", "brown", "byrne", "mills"])
    given_names = np.array([["john", "james", "peter", "colin", "ian"], ["mary", "anna", "susan", "kate", "jane"]])
    columns = {
        "surname": surname[rng.choice(8, n, p=[0.3, 0.05, 0.1, 0.2, 0.05, 0.2, 0.05, 0.05])],
        "given": given_names[sex, rng.choice(5, n, p=[0.4, 0.3, 0.15, 0.1, 0.05])],
        "sex": np.where(sex == 1, "f", "m"),
        "born": np.array([f"{y}{m:02}01" for y, m in zip(year, rng.integers(1, 13, n), strict=True)]),
        "age": np.array([str(2020 - y) for y in year]),
        "town": np.array([f"town {chr(97 + p // 2)}" for p in postcode]),
        "postcode": np.array([f"{1000 + p}" for p in postcode]),
    }
    gone = rng.random((len(columns), n)) < 0.1
    return {
        name: pl.Series(name, np.where(gone[k], "", values)).replace("", None).cast(pl.String)
        for k, (name, values) in enumerate(columns.items())
    }


PEOPLE = people(1500, 1)


def blocks_of(part: SignatureSet) -> Counter[int]:
    return Counter(part.blocks[part.rule].tolist())


@given(st.integers(1, 2**31 - 1))
def test_the_target_is_the_least_that_will_do(size: int) -> None:
    target = int(padded_size(np.array([size]))[0])
    minimum = int(min_size(np.array([target]))[0])
    assert target == 2 ** math.ceil(math.log2(size))
    assert size <= target < 2 * size
    assert minimum <= size
    # Nothing smaller has this target.
    assert int(padded_size(np.array([minimum]))[0]) == target
    assert minimum == 1 or int(padded_size(np.array([minimum - 1]))[0]) < target


def test_every_block_on_the_wire_has_its_target() -> None:
    spec = specification("powers_of_two")
    plain, padded = (encode_records(PEOPLE, s, SEED, 1, noise=NOISE) for s in (specification(None), spec))
    assert padded.layout.records == plain.layout.records == 1500
    sent = from_bytes(padded.layout, b"".join(to_bytes(padded.sets)))
    assert layout_of(sent, 1500) == padded.layout
    for before, after in zip(plain.sets[:-1], sent[:-1], strict=True):
        sizes = np.array(sorted(blocks_of(before).values()))
        assert sorted(blocks_of(after).values()) == sorted(padded_size(sizes).tolist())
        assert list(after.fields) == list(before.fields)
        assert list(after.blocks) == list(before.blocks)
        order = padded.orders[after.rule]
        assert (np.sort(order)[: before.n_rows] == np.sort(plain.orders[after.rule])).all()
        # Dummies are rows of one rule.
        assert len(np.unique(order)) == len(order) == after.n_rows
    dummies = [set(order[order >= 1500].tolist()) for order in padded.orders.values()]
    assert len(set.union(*dummies)) == sum(map(len, dummies)) == n_dummies(padded) > 0
    assert n_dummies(plain) == 0


def test_samples_hold_no_dummies() -> None:
    """Of 40 people with one birthday, filled up to 64 rows, the groups of the samples have records and no more."""
    few = {name: column.head(40) for name, column in PEOPLE.items()}
    few["born"] = pl.Series("born", ["19500101"] * 40)
    made = encode_records(few, specification("powers_of_two"), SEED, 1, noise=NOISE)
    assert n_dummies(made) > 24
    assert made.sets[-1].n_rows == GROUP_ROWS * GROUPS
    for name, field in made.sets[-1].fields.items():
        # A group leaves some of the 40 out: at most those, and no dummies in their place.
        least = GROUP_ROWS - few[name].null_count()
        assert least * GROUPS <= np.count_nonzero(field.codes >= 0) <= GROUP_ROWS * GROUPS


def test_rows_are_shuffled_with_their_dummies() -> None:
    made = encode_records(PEOPLE, specification("powers_of_two"), SEED, 1, noise=NOISE)
    order = made.orders["born"]
    places = np.flatnonzero(order >= 1500)
    # The mean place of the dummies is that of all rows, within five standard errors.
    assert abs(places.mean() - len(order) / 2) < 5 * len(order) / math.sqrt(12 * len(places))


def test_a_dummy_has_its_blocks_key_and_values_of_the_file() -> None:
    spec = specification("powers_of_two")
    made = rows_of_rules(PEOPLE, spec, NOISE)
    assert made.n_records == 1500
    for name, column in made.columns.items():
        assert column.head(1500).equals(PEOPLE[name], null_equal=True)
        assert set(column.to_list()) == set(PEOPLE[name].to_list())
    for rule in spec.keyed_rules:
        text = key_text(made.columns, spec, rule, split=True).gather(made.rows[rule.name])
        assert text.null_count() == 0
        assert set(text) == set(key_text(PEOPLE, spec, rule, split=True).drop_nulls())


def test_dummies_agree_with_their_block_as_its_rows_agree_with_each_other() -> None:
    """Field by field, over many drawings; to be missing counts as a value. What is fixed by the block stays fixed."""
    spec = specification("powers_of_two")
    for rule in spec.keyed_rules:
        among_rows: dict[str, list[float]] = {field.name: [] for field in spec.fields}
        with_dummies: dict[str, list[float]] = {field.name: [] for field in spec.fields}
        for seed in range(8):
            made = rows_of_rules(people(1500, 10 + seed), spec, NOISE)
            rows = made.rows[rule.name]
            text = key_text(made.columns, spec, rule, split=True).gather(rows)
            frame = pl.DataFrame({name: column.gather(rows) for name, column in made.columns.items()})
            frame = frame.with_columns(text.alias("block"), pl.Series("real", rows < made.n_records))
            for name in with_dummies:
                among_rows[name].append(agreement(frame, name, real_only=True))
                with_dummies[name].append(agreement(frame, name, real_only=False))
        for name in with_dummies:
            selected, found = np.array(among_rows[name]), np.array(with_dummies[name])
            error = math.hypot(selected.std(ddof=1), found.std(ddof=1)) / math.sqrt(8)
            assert abs(found.mean() - selected.mean()) <= 5 * error + 0.02, (rule.name, name)
    assert agreement(frame, "postcode", real_only=False) == 1.0


def agreement(frame: pl.DataFrame, name: str, *, real_only: bool) -> float:
    """Share of the pairs of two records of a block, or of a record and a dummy, that have one value."""
    value = pl.col(name).fill_null("?")
    counts = frame.group_by("block", value.alias("value")).agg(
        real=pl.col("real").sum().cast(pl.Int64), dummy=(~pl.col("real")).sum().cast(pl.Int64)
    )
    totals = counts.group_by("block").agg(pl.col("real", "dummy").sum())
    if real_only:
        same, pairs = (counts["real"] * (counts["real"] - 1)).sum(), (totals["real"] * (totals["real"] - 1)).sum()
    else:
        same, pairs = (counts["real"] * counts["dummy"]).sum(), (totals["real"] * totals["dummy"]).sum()
    return float(same) / float(pairs)


def test_fields_that_go_together_do_so_in_dummies() -> None:
    """No given name of the other sex, where the rule takes neither."""
    made = rows_of_rules(people(9000, 1), specification("powers_of_two"), NOISE)
    rows = made.rows["born"]
    both = pl.DataFrame({name: made.columns[name].gather(rows) for name in ("given", "sex")})
    both = both.filter(pl.Series(rows >= made.n_records)).drop_nulls()
    women = {"mary", "anna", "susan", "kate", "jane"}
    mixed = both.filter(pl.col("given").is_in(women) != (pl.col("sex") == "f")).height
    assert both.height > 1000
    assert mixed / both.height < 0.05


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=14))
def test_excess_agreement_is_its_definition(rows: list[tuple[int, int, int]]) -> None:
    block, part, value = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))

    def share(group: np.ndarray) -> float:
        pairs = [(i, j) for i in range(len(rows)) for j in range(i) if group[i] == group[j]]
        return sum(value[i] == value[j] for i, j in pairs) / len(pairs) if pairs else 0.0

    inside, outside = share(block), share(part)
    expected = 0.0 if outside == 1 else min(1.0, max(0.0, (inside - outside) / (1 - outside)))
    assert excess_agreement(block, part, value) == pytest.approx(expected)


def test_one_block_of_everybody_and_files_without_keys() -> None:
    same = series({name: ["19500101" if name == "born" else "x"] * 5 for name in PEOPLE})
    made = encode_records(same, specification("powers_of_two"), SEED, 1, noise=NOISE)
    assert [part.n_rows for part in made.sets] == [8, 8, 8, 5 * GROUPS]
    empty = series({name: [None, None] for name in PEOPLE})
    assert n_dummies(encode_records(empty, specification("powers_of_two"), SEED, 1, noise=NOISE)) == 0


def test_a_file_has_the_same_dummies_under_its_custodians_key_and_others_under_another() -> None:
    """Or a second upload would show which rows stay."""
    spec = specification("powers_of_two")
    first, again, other = (rows_of_rules(PEOPLE, spec, key) for key in (NOISE, NOISE, NoiseKey.generate()))
    for name, column in first.columns.items():
        assert again.columns[name].equals(column, null_equal=True)
    different = [
        (other.columns[name].tail(-1500) != column.tail(-1500)).mean() for name, column in first.columns.items()
    ]
    assert max(float(share or 0) for share in different) > 0.3
    with refusal(ErrorCode.PARAMETER, "need the custodian's noise key"):
        rows_of_rules(PEOPLE, spec)


def test_draws_are_even_and_new() -> None:
    draws = Draws(FieldKeys(bytes(32), bytes(32)))
    numbers = np.concatenate([draws.uniform(n) for n in (1, 0, 7, 9992)])
    assert len(np.unique(numbers)) == len(numbers) == 10_000
    assert 0 <= numbers.min() <= numbers.max() < 1
    # Of 20 cells of 500 the chi-squared statistic has mean 19 and standard deviation 6.2.
    counts = np.bincount((20 * numbers).astype(int), minlength=20)
    assert ((counts - 500) ** 2 / 500).sum() < 19 + 5 * 6.2
