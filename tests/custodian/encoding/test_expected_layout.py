"""The expected layout is the one that signing makes: exact where it was counted, an upper bound where it was not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.parties import Side
from gemel.common.signatures import intervals
from gemel.common.signatures.layout import SAMPLES, Layout
from gemel.common.specification import Specification, load_specification
from gemel.custodian.encoding.decoys import with_decoys
from gemel.custodian.encoding.expected_layout import bounded_counts, expected_layout, file_counts
from gemel.custodian.encoding.padding import rows_of_rules
from gemel.custodian.encoding.records import Encoded, Encoding, encode_records
from gemel.custodian.encoding.shared_in_memory import shared_in_memory
from tests.custodian.encoding.encoded_rows import series
from tests.specifications import heading

SEED, NOISE = Seed(bytes(range(32))), NoiseKey(bytes(range(1, 33)))
RULES = (
    "{name: born, keys: [{field: born}]}",
    "{name: name, keys: [{field: surname, prefix: 1}, {field: sex}]}",
    "{name: both, keys: [{field: surname}], withheld: [sex]}",
    "{name: year, keys: [{field: born, part: year}], split: sex}",
)


def specification(mode: str) -> Specification:
    """Of all rules."""
    return load_specification(
        heading("expected", mode)
        + "fields:\n  - {name: surname, kind: name, bits: 128}\n  - {name: born, kind: date, date: {order: ymd}}\n"
        + "  - {name: sex, kind: category}\nblocking:\n"
        + "".join(f"  - {rule}\n" for rule in RULES)
        + "retention: {uploads_days: 1, results_days: 1, maps_days: 1}\n"
    )


@st.composite
def specifications(draw: st.DrawFn, mode: str) -> Specification:
    """Of three fields of different lengths and one to four rules, with what changes the rows that are sent."""
    bits = [draw(st.sampled_from([64, 128, 192, 1024])) for _ in range(3)]
    noise = draw(st.sampled_from([0.0, 0.05])) if mode != "trusted" else 0.0
    rules = draw(st.lists(st.sampled_from(RULES), min_size=1, max_size=4, unique=True))
    text = heading("expected", mode) + (
        f"fields:\n"
        f"  - {{name: surname, kind: name, bits: {bits[0]}, randomised_response: {noise}, levels: [0.9, 1.0]}}\n"
        f"  - {{name: born, kind: date, date: {{order: ymd}}, bits: {bits[1]}"
        f"{', salt: {field: sex}' if mode == 'open' and draw(st.booleans()) else ''}}}\n"
        f"  - {{name: sex, kind: category, bits: {bits[2]}}}\n"
        "blocking:\n" + "".join(f"  - {rule}\n" for rule in rules if mode == "block_keyed" or "withheld" not in rule)
    )
    if mode == "block_keyed" and draw(st.booleans()):
        text += "padding: powers_of_two\n"
    return load_specification(text + "retention: {uploads_days: 1, results_days: 1, maps_days: 1}\n")


def people(n: int, missing: float, seed: int) -> dict[str, pl.Series]:
    """Cleaned values, no two of which have the same tokens; a share is missing."""
    rng = np.random.default_rng(seed)
    names = [f"{a}{b}mith{c}" for a in "abcd" for b in "aeiou" for c in "xyz"]
    drawn = {
        "surname": [names[i] for i in rng.integers(0, len(names), n)],
        "born": [f"19{y:02}0{m}11" for y, m in rng.integers((50, 1), (56, 4), (n, 2)).tolist()],
        "sex": [["f", "m"][i] for i in rng.integers(0, 2, n)],
    }
    return series({name: np.where(rng.random(n) < missing, None, values).tolist() for name, values in drawn.items()})


def encoded(columns: dict[str, pl.Series], spec: Specification) -> Encoded:
    """As `encode_records`, but without samples, which take most of the time of files so small."""
    if spec.mode != "block_keyed":
        return encode_records(columns, spec, SEED, 1, noise=NOISE)
    return Encoding(spec, SEED, 1, NOISE).rows(rows_of_rules(columns, spec, NOISE))


def of_rules(layout: Layout) -> Layout:
    """Without the samples, whose number of different signatures depends on the draw."""
    return Layout(tuple(part for part in layout.sets if part.rule != SAMPLES), layout.records)


@settings(max_examples=25)
@given(st.data(), st.sampled_from(["block_keyed", "open", "trusted"]), st.integers(0, 2**32 - 1))
def test_the_layout_of_a_counted_file_is_the_one_that_is_made(data: st.DataObject, mode: str, seed: int) -> None:
    spec = data.draw(specifications(mode))
    columns = people(data.draw(st.integers(1, 60)), data.draw(st.sampled_from([0.0, 0.3])), seed)
    n = len(columns["surname"])
    made = encoded(columns, spec).layout
    expected = expected_layout(file_counts(columns, spec), spec, Side.ALICE)
    if spec.padding is None:
        assert of_rules(expected) == made
    else:  # dummies have values of the file's, in blocks that may have them already
        assert of_rules(expected).rule_rows == made.rule_rows
    bounded = expected_layout(bounded_counts(n, spec), spec, Side.ALICE)
    assert made.total_bytes <= of_rules(expected).total_bytes <= of_rules(bounded).total_bytes
    expected.validate()


@settings(max_examples=10)
@given(st.data(), st.integers(0, 2**32 - 1))
def test_in_intervals_it_differs_by_the_padding_of_arrays_alone(data: st.DataObject, seed: int) -> None:
    spec = data.draw(specifications("block_keyed").filter(lambda spec: spec.padding is None))
    columns = people(data.draw(st.integers(20, 90)), 0.2, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "INTERVAL_ROWS", 16)
        made = encoded(columns, spec).layout
        expected = of_rules(expected_layout(file_counts(columns, spec), spec, Side.ALICE))
    assert [(part.rule, part.interval) for part in expected.sets] == [(part.rule, part.interval) for part in made.sets]
    assert expected.rule_rows == made.rule_rows
    arrays = sum(len(part.fields) for part in made.sets)
    assert abs(expected.total_bytes - made.total_bytes) <= 4 * arrays


def test_codes_of_variables_are_counted_and_decoys_bounded() -> None:
    text = heading("expected", "block_keyed") + (
        "fields:\n  - {name: surname, kind: name, bits: 64}\n  - {name: born, kind: date, date: {order: ymd}}\n"
        f"  - {{name: sex, kind: category}}\nblocking:\n  - {RULES[0]}\nquality: {{decoys: 100}}\n"
        "variables:\n  - {name: area, holder: alice, categories: [a, b, c]}\n"
        "retention: {uploads_days: 1, results_days: 1, maps_days: 1}\n"
    )
    spec = load_specification(text)
    columns = people(50, 0.1, 1)
    places = {"area": pl.Series("area", [0, 1, 2, None, 1] * 10, pl.Int32)}
    whole = with_decoys(columns, spec, NOISE)
    made = encode_records(whole, spec, SEED, 1, noise=NOISE, variables=places, decoys=100).layout
    expected = expected_layout(file_counts(columns, spec), spec, Side.ALICE)
    assert expected.sets[-1] == made.sets[-1]
    assert expected.rule_rows["born"] >= made.rule_rows["born"]
    assert made.total_bytes <= expected.total_bytes


@settings(max_examples=25)
@given(st.integers(1, 80), st.integers(0, 10_000_000), st.integers(0, 2**32 - 1))
def test_a_file_of_another_size_has_rows_in_proportion(n: int, records: int, seed: int) -> None:
    spec = specification("block_keyed")
    own = file_counts(people(n, 0.2, seed), spec)
    grown = own.of_size(records)
    assert grown.records == records
    assert grown.counted == (records == n)
    for (rule, name), signatures in grown.distinct.items():
        assert signatures <= grown.rows[rule]
        if rule != "both" or name != "sex":
            assert signatures * n >= own.distinct[rule, name] * records or signatures == grown.rows[rule]
    total = expected_layout(grown, spec, Side.BOB).total_bytes
    assert total <= expected_layout(bounded_counts(records, spec), spec, Side.BOB).total_bytes


def test_in_mode_shared_it_is_the_layout_of_the_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "INTERVAL_ROWS", 30)
    spec, columns = specification("shared"), people(100, 0.1, 1)
    made = shared_in_memory(encode_records(columns, spec, SEED, 1, noise=NOISE), spec, Side.ALICE)
    sent = (*made.contributions[0].sets, made.contributions[0].sample_layout)
    found = expected_layout(file_counts(columns, spec), spec, Side.ALICE)
    # Rows are evenly spread over the intervals of a rule in the estimate alone.
    assert [replace(part, rows=0) for part in found.sets] == [replace(part, rows=0) for part in sent]
    assert found.total_bytes == sum(part.total_bytes for part in sent)
    found.validate()
