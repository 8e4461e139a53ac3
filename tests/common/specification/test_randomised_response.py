"""The option `randomised_response`: exclusions, digests, levels, and notes for approvers."""

from __future__ import annotations

from typing import Any

import pytest

from gemel.common.errors import GemelErrors
from gemel.common.specification import (
    Specification,
    dump_specification,
    encoding_digest,
    json_schema,
    load_specification,
    specification_digest,
    specification_notes,
)
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
    reported = " ".join(specification_notes(own))
    assert "finer than 1024 bits, each randomised with probability 0.1, can distinguish" in reported
    assert "`levels: [0.5, 0.924, 1]` is as fine as they allow" in reported
    assert "finer" not in " ".join(specification_notes(SPEC))


def test_notes_state_what_it_does_and_what_not() -> None:
    reported = " ".join(specification_notes(SPEC))
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
    assert "with probability 0.02, and then in all records that have them" in " ".join(specification_notes(category))
    short = " ".join(specification_notes(changed("{name: surname, kind: name, randomised_response: 0.01, bits: 64}")))
    assert "Equal values keep equal signatures with probability 0.28" in short
    assert "randomised_response" not in " ".join(specification_notes(changed("{name: surname, kind: name}")))
    exact = " ".join(specification_notes(changed(FIRST, more="model: {scheme: exact}\n")))
    assert "surname above 0.924 counts as equal" in exact


def test_the_chance_of_sharing_a_band_is_that_of_randomised_bits() -> None:
    plain = " ".join(specification_notes(SPEC))
    noisy = " ".join(
        specification_notes(changed("{name: given, kind: name, randomised_response: 0.1}", "{name: given, kind: name}"))
    )
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
