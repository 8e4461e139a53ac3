"""Randomised response in a specification: bounds and notes, and the levels that can still be distinguished."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelErrors
from gemel.common.specification import Specification, encoding_digest, load_specification, specification_digest
from gemel.common.specification.model.defaults import LEVELS
from gemel.common.specification.model.leakage import (
    REACHED,
    SEPARATION,
    confused,
    halfway,
    is_distinguishable,
    min_bits,
    reached_by_equals,
    separation,
    standard_error,
    tolerant_bounds,
)
from gemel.coordinator.draft.specification_text import dump_specification, json_schema
from research._jaccard import variance
from tests.common.specification.example import notes_of
from tests.specifications import heading

TEXT = (
    heading("people")
    + """
fields:
  - {name: surname, kind: name, randomised_response: 0.1}
  - {name: given, kind: name}
  - {name: sex, kind: category}
blocking:
  - {name: name, keys: [{field: given, prefix: 3}]}
  - {name: alike, lsh: {field: given}}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
SPEC = load_specification(TEXT)
FIRST = "{name: surname, kind: name, randomised_response: 0.1}"


def changed(new: str, old: str = FIRST, more: str = "") -> Specification:
    assert old in TEXT
    return load_specification(TEXT.replace(old, new) + more)


def refused(*given: Any, **named: Any) -> str:
    with pytest.raises(GemelErrors) as caught:
        changed(*given, **named)
    return "\n".join(str(error) for error in caught.value.errors)


def test_it_is_part_of_the_encoding_where_it_is_used() -> None:
    plain = changed("{name: surname, kind: name}")
    assert encoding_digest(plain) == encoding_digest(changed("{name: surname, kind: name, randomised_response: 0}"))
    assert encoding_digest(plain) != encoding_digest(SPEC)
    assert encoding_digest(SPEC) != encoding_digest(changed("{name: surname, kind: name, randomised_response: 0.11}"))
    assert specification_digest(plain) != specification_digest(SPEC)


def test_it_is_written_and_read_back() -> None:
    assert "randomised_response: 0.1" in dump_specification(SPEC)
    assert "levels" not in dump_specification(SPEC)
    assert load_specification(dump_specification(SPEC)) == SPEC
    schema = json_schema()["$defs"]["FieldSpec"]["properties"]["randomised_response"]
    assert schema["maximum"] == 0.4
    assert "not differential" in " ".join(schema["description"].split())


def test_levels_of_tables_are_merged_and_own_bounds_are_not() -> None:
    assert SPEC.field("surname").bounds == (0.2, 0.4, 0.6, 0.8, 0.924, 1.0)
    assert SPEC.field("given").bounds[-2] == 0.999
    assert changed("{name: surname, kind: name, randomised_response: 0.1, levels: exact}").fields[0].bounds == (
        0.924,
        1.0,
    )
    assert changed("{name: surname, kind: category, randomised_response: 0.1}").fields[0].bounds == (0.532, 1.0)
    own = changed("{name: surname, kind: name, randomised_response: 0.1, levels: [0.5, 0.95, 1]}")
    assert own.fields[0].bounds == (0.5, 0.95, 1.0)
    reported = notes_of(own)
    assert "finer than 1024 bits, each randomised with probability 0.1, can distinguish" in reported
    assert "`levels: [0.5, 0.924, 1]` is as fine as they allow" in reported
    assert "finer" not in notes_of(SPEC)


def test_notes_state_what_it_does_and_what_not() -> None:
    reported = notes_of(SPEC)
    for words in (
        "randomised_response: surname 0.1",
        "exactly equal",
        "how often each occurs is as visible as before",
        "not differential privacy",
        "cost linkage quality",
        "within 0.046 instead of 0.027",
        "0.2, 0.4, 0.6, 0.8, 0.924, 1",
    ):
        assert words in reported
    assert "keep equal signatures" not in reported
    category = changed("{name: surname, kind: category, randomised_response: 0.15}")
    assert "with probability 0.02, and then in all records that have them" in notes_of(category)
    short = notes_of(changed("{name: surname, kind: name, randomised_response: 0.01, bits: 64}"))
    assert "Equal values keep equal signatures with probability 0.28" in short
    assert "randomised_response" not in notes_of(changed("{name: surname, kind: name}"))
    exact = notes_of(changed(FIRST, more="model: {scheme: exact}\n"))
    assert "surname above 0.924 counts as equal" in exact


def test_the_chance_of_sharing_a_band_is_that_of_randomised_bits() -> None:
    plain = notes_of(SPEC)
    noisy = notes_of(changed("{name: given, kind: name, randomised_response: 0.1}", "{name: given, kind: name}"))
    assert "compare two values with probability 1 at 1" in plain
    assert "compare two values with probability 0.57 at 1" in noisy


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("randomised_response: 0.5", "less than or equal to 0.4"),
        ("randomised_response: -0.1", "greater than or equal to 0"),
        ("randomised_response: .nan", "must be a number"),
        ("randomised_response: 0.0001", "use 0, or 0.001 to 0.4"),
        ("randomised_response: 0.25, bits: 128", "use at least 256 bits, or a lower probability"),
        ("randomised_response: 0.1, value_frequencies: true", "equal values to have equal signatures"),
        ('randomised_response: "0.1"', "must be a number"),
    ],
)
def test_what_cannot_work_is_refused_with_a_remedy(field: str, message: str) -> None:
    assert message in refused(f"{{name: surname, kind: name, {field}}}")


def test_what_needs_equal_signatures_in_both_files_is_refused() -> None:
    assert "no bits to randomise" in refused("mode: trusted", "mode: open")
    split = "{name: name, keys: [{field: given, prefix: 3}], split: surname}"
    assert "split by another field" in refused(split, "{name: name, keys: [{field: given, prefix: 3}]}")
    assert "set its randomised_response to 0" in refused(FIRST, more="latent: {keys: [surname]}\n")
    shared = "{name: given, kind: name, key_domain: surname}"
    assert "same key domain but has other randomised_response" in refused(shared, "{name: given, kind: name}")


def test_in_mode_block_keyed_the_custodians_split_by_values() -> None:
    text = TEXT.replace("mode: open", "mode: block_keyed").replace("  - {name: alike, lsh: {field: given}}\n", "")
    keyed = load_specification(text.replace("prefix: 3}]}", "prefix: 3}], split: surname}"))
    assert keyed.field("surname").randomised_response == 0.1


BITS = st.integers(1, 128).map(lambda words: 64 * words)
FLIPS = st.sampled_from([0.0, 0.001, 0.01, 0.05, 0.1, 0.123, 0.25, 0.35, 0.4])


@given(similarity=st.floats(0, 0.999), bits=BITS, randomised_response=FLIPS)
def test_the_standard_error_is_that_of_the_estimator(similarity: float, bits: int, randomised_response: float) -> None:
    assert standard_error(similarity, bits, randomised_response) ** 2 == pytest.approx(
        float(variance(similarity, bits, randomised_response))
    )


@pytest.mark.parametrize(
    ("low", "high", "bits", "randomised_response"), [(0, 0.2, 1024, 0.0), (0.6, 0.95, 128, 0.1), (0, 1, 64, 0.3)]
)
def test_the_separation_is_the_distance_in_standard_errors(
    low: float, high: float, bits: int, randomised_response: float
) -> None:
    middles = low + (high - low) * (np.arange(100_000) + 0.5) / 100_000
    steps = [(high - low) / 100_000 / standard_error(float(middle), bits, randomised_response) for middle in middles]
    assert separation(low, high, bits, randomised_response) == pytest.approx(math.fsum(steps), rel=1e-3)


@pytest.mark.parametrize(
    ("bits", "randomised_response"),
    [(64, 0.01), (64, 0.1), (192, 0.05), (256, 0.25), (1024, 0.001), (1024, 0.05), (1024, 0.3)],
)
def test_equal_values_reach_the_top_level(bits: int, randomised_response: float) -> None:
    """In exact arithmetic: reached with the stated probability, and the next thousandth with less."""
    bound = reached_by_equals(bits, randomised_response)

    def probability(above: float) -> Fraction:
        r = Fraction(str(randomised_response))
        p, contrast = 2 * r * (1 - r), (1 - 2 * r) ** 2
        return sum(
            (
                math.comb(bits, d) * p**d * (1 - p) ** (bits - d)
                for d in range(bits + 1)
                if (1 - Fraction(2 * d, bits)) / contrast > Fraction(str(above))
            ),
            Fraction(0),
        )

    assert probability(bound) >= Fraction(str(REACHED))
    step = 2 / (bits * (1 - 2 * randomised_response) ** 2)
    assert probability(round(bound + step + 0.001, 3)) < Fraction(str(REACHED))


@given(bits=BITS, randomised_response=FLIPS, table=st.sampled_from(list(LEVELS.values())))
def test_tolerant_bounds_are_apart_and_some_of_those_given(
    bits: int, randomised_response: float, table: tuple[float, ...]
) -> None:
    found = tolerant_bounds(table, bits, randomised_response)
    assert found[-1] == 1
    assert len(found) >= 2
    if not is_distinguishable(bits, randomised_response):
        assert found == table
        return
    assert set(found[:-2]) <= set(table)
    assert found[-2] == (
        min(table[-2], reached_by_equals(bits, randomised_response)) if randomised_response else table[-2]
    )
    for low, high in pairwise((0.0, *found[:-1])):
        assert low < high
        assert separation(low, high, bits, randomised_response) >= SEPARATION or (low, high) == (0.0, found[-2])
    assert tolerant_bounds(found, bits, randomised_response) == found
    assert all(round(bound, 4) == bound for bound in found)


def test_defaults_at_their_length_are_fine_as_they_are() -> None:
    for table in LEVELS.values():
        assert tolerant_bounds(table, 1024) == table
    assert tolerant_bounds(LEVELS["exact"], 64) == LEVELS["exact"]


def test_fewer_bits_and_more_noise_leave_fewer_levels() -> None:
    em8 = LEVELS["em8"]
    assert [len(tolerant_bounds(em8, bits)) for bits in (1024, 256, 128, 64)] == [8, 8, 8, 8]
    assert [len(tolerant_bounds(LEVELS["em15"], bits)) for bits in (1024, 256, 128, 64)] == [15, 14, 14, 9]
    assert [
        len(tolerant_bounds(em8, 1024, randomised_response)) for randomised_response in (0.0, 0.05, 0.1, 0.25, 0.3)
    ] == [8, 7, 6, 5, 4]
    assert tolerant_bounds(em8, 1024, 0.1) == (0.2, 0.4, 0.6, 0.8, 0.924, 1.0)


@pytest.mark.parametrize(("bits", "randomised_response"), [(64, 0.15), (128, 0.15), (64, 0.1), (256, 0.25)])
def test_equal_and_unlike_values_lie_on_their_sides_of_the_middle(bits: int, randomised_response: float) -> None:
    """Exactly; `confused` is an approximation, with few bits good to a factor of three."""
    r = Fraction(str(randomised_response))
    contrast, middle = (1 - 2 * r) ** 2, Fraction(str(halfway(randomised_response)))
    for similarity in (0, 1):
        p = (1 - contrast * similarity) / 2
        wrong = sum(
            math.comb(bits, d) * p**d * (1 - p) ** (bits - d)
            for d in range(bits + 1)
            if ((1 - Fraction(2 * d, bits)) / contrast > middle) != bool(similarity)
        )
        assert 1 / 3 < float(wrong) / confused(bits, randomised_response) < 3


@pytest.mark.parametrize("randomised_response", [0.0, 0.05, 0.25, 0.35, 0.4])
def test_least_bits_are_the_least(randomised_response: float) -> None:
    bits = min_bits(randomised_response)
    assert is_distinguishable(bits, randomised_response)
    assert bits == 64 or not is_distinguishable(bits - 64, randomised_response)
