"""Modes trusted and shared in a specification: what is refused with which remedy, and what the notes disclose."""

from __future__ import annotations

import pytest

from gemel.common.specification import encoding_digest, load_specification, specification_digest, specification_notes
from gemel.coordinator.draft.specification_text import dump_specification
from tests.common.specification.example import EXAMPLE, notes_of, read_back, refuse
from tests.common.specification.test_block_keyed import ASSESSMENT, VARIABLES
from tests.common.specification.test_block_keyed import TEXT as BLOCK_KEYED

TRUSTED = EXAMPLE.replace("mode: open", "mode: trusted")


def test_it_is_another_specification_and_another_encoding():
    one, other = load_specification(EXAMPLE), load_specification(TRUSTED)
    assert specification_digest(one) != specification_digest(other)
    assert encoding_digest(one) != encoding_digest(other)


def test_its_first_note_states_that_values_are_sent():
    first = specification_notes(load_specification(TRUSTED))[0]
    assert "VALUES THEMSELVES ARE SENT" in first
    assert "surname" in first
    assert "postcode" in first
    assert not any("VALUES" in note for note in specification_notes(load_specification(EXAMPLE)))


def test_comparators_are_chosen_by_field_and_written_out_again():
    text = TRUSTED.replace("    key_domain: given\n", "    key_domain: given\n    comparator: jaro_winkler\n")
    spec = read_back(text)
    assert spec.comparator_of(spec.field("given_name")) == "jaro_winkler"
    assert spec.comparator_of(spec.field("surname")) == "jaro"
    # Like levels, a comparator decides nothing about what is sent.
    assert encoding_digest(spec) == encoding_digest(load_specification(TRUSTED))
    assert specification_digest(spec) != specification_digest(load_specification(TRUSTED))


def test_open_mode_has_no_comparator():
    text = EXAMPLE.replace("    key_domain: given\n", "    key_domain: given\n    comparator: jaro\n")
    refuse(text, r"fields\[1\]\.comparator.*mode trusted only")
    spec = load_specification(EXAMPLE)
    assert spec.comparator_of(spec.field("surname")) == "jaccard"


def test_an_unknown_mode_or_comparator_is_refused():
    refuse(EXAMPLE.replace("mode: open", "mode: blind"), "open, trusted, block_keyed or shared")
    text = TRUSTED.replace("    key_domain: given\n", "    key_domain: given\n    comparator: soundex\n")
    refuse(text, "jaro or jaro_winkler")


TEXT = BLOCK_KEYED.replace("mode: block_keyed", "mode: shared")
ANALYST = "release: {variables: [{to: dora, alice: [income]}]}\n"
ASSESSED = ASSESSMENT.replace("assessment: {", "assessment: {near_copies: 1, ")


def test_it_is_another_encoding_and_reads_back() -> None:
    spec = read_back(f"{TEXT}compute: {{coordinator: ministry, steward: university-2}}\n")
    assert (spec.compute.coordinator, spec.compute.steward) == ("ministry", "university-2")
    plain = load_specification(TEXT)
    assert "compute" not in dump_specification(plain)
    assert "compute: {coordinator: coordinator, steward: steward}" in dump_specification(plain, {"compute": "Who."})
    assert load_specification(dump_specification(plain, {"compute": "Who."})) == plain
    assert encoding_digest(plain) != encoding_digest(load_specification(BLOCK_KEYED))
    assert plain.comparator_of(plain.field("surname")) == "jaccard"


def test_who_computes_is_approved_by_all_and_sealed_to() -> None:
    plain, other = load_specification(TEXT), load_specification(f"{TEXT}compute: {{steward: university}}\n")
    assert specification_digest(plain) != specification_digest(other)
    # What opens the shares is sealed to these members: no others could read what was contributed.
    assert encoding_digest(plain) != encoding_digest(other)


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ("compute: {coordinator: one, steward: one}", r"compute\.steward: one member would hold all three shares"),
        ("compute: {steward: alice}", r"compute\.steward: alice is a custodian"),
        ("compute: {coordinator: bob}", r"compute\.coordinator: bob is a custodian"),
        ("compute: {coordinator: carole}", r"compute\.coordinator: carole, the linkage unit, is the third"),
        (f"compute: {{steward: dora}}\n{ANALYST}", r"compute\.steward: dora is an analyst"),
        ("compute: {steward: Uni Leipzig}", r"compute\.steward"),
        ("compute: {steward: -a}", r"compute\.steward"),
        (f"compute: {{steward: {'a' * 33}}}", r"compute\.steward"),
        ('compute: {steward: ""}', r"compute\.steward"),
        ("compute: {steward: [a]}", r"compute\.steward"),
        ("compute: {third: a}", r"compute\.third"),
        ("resolution: {by: carole, max_records: 9}", r"resolution\.by: in mode shared the linkage unit knows no row"),
        ("links: {assignment: clusters}", r"links\.assignment: mode shared compares no rows of one file"),
        (VARIABLES + ASSESSMENT, r"assessment\.near_copies: in mode shared no one sees .* got a limit of 0\.002"),
    ],
)
def test_what_it_refuses_and_why(section: str, reason: str) -> None:
    assert len(refuse(f"{TEXT}{section}\n", reason)) == 1


@pytest.mark.parametrize("mode", ["open", "trusted", "block_keyed"])
def test_no_one_computes_in_another_mode(mode: str) -> None:
    text = TEXT.replace("mode: shared", f"mode: {mode}").replace(", split: sex", "")
    refuse(f"{text}compute: {{steward: university}}\n", r"compute: three parties compute together in mode shared only")
    default = load_specification(f"{text}compute: {{coordinator: coordinator}}\n")
    assert specification_digest(default) == specification_digest(load_specification(text))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        *(
            (
                "keys: [{field: surname, prefix: 3}], split: sex",
                f"{rule}: {{field: surname}}",
                rf"blocking\[1\]\.{rule}.*mode shared",
            )
            for rule in ("lsh", "canopies", "similar")
        ),
        (
            "kind: name}",
            "kind: name, value_frequencies: true}",
            r"value_frequencies.*no one sees which values are equal",
        ),
        ("kind: name}", "kind: name, comparator: jaro}", r"comparator.*mode trusted only"),
        ("kind: name}", "kind: name, salt: {field: born, part: year}}", r"salt.*mode shared salts every field"),
        ("retention:", "latent: {keys: [sex]}\nretention:", r"latent\.keys\[0\]: in mode shared a key"),
        ("blocking:", "blocking: []\nx:", r"mode shared needs a blocking rule"),
    ],
)
def test_fields_and_rules_that_cannot_be_shared(old: str, new: str, reason: str) -> None:
    refuse(TEXT.replace(old, new), reason)


def test_a_mode_that_is_no_word_is_an_error_like_others() -> None:
    refuse(TEXT.replace("mode: shared", "mode: [shared]"), "mode")


def test_padding_variables_and_an_assessment_are_possible() -> None:
    read_back(f"{TEXT}{VARIABLES}{ASSESSED}padding: powers_of_two\n")


def test_the_notes_state_what_each_party_sees_and_what_two_could_read() -> None:
    spec = load_specification(f"{TEXT}compute: {{coordinator: ministry, steward: university}}\n")
    first, together, *others = specification_notes(spec)
    three = "Carole, ministry (the coordinator) and university (a steward)"
    assert "Mode shared: each record is sent once per blocking rule (born and name)" in first
    assert three in first
    assert f"ANY TWO OF {three} TOGETHER CAN READ ALL OF IT" in together
    rest = "\n".join(others)
    for seen in (
        "Each of the three sees how many rows each block has, and which",
        "Carole sees how many candidate pairs have each pattern",
        "for up to 0.25 of the joins of a record's rows",
        "Each custodian learns which of its records",
        "does not run `gemel compute`, the run waits",
        "In mode shared a rule's `split` is part of every key (name by sex)",
    ):
        assert seen in rest
    assert "groups of some 30 sampled signatures" not in rest
    padded = notes_of(f"{TEXT}padding: powers_of_two\n")
    assert "padded to a power of two" in padded
    assert "block_keyed: each record" not in padded


def test_the_notes_on_codes_randomised_bits_and_withheld_fields_are_of_this_mode() -> None:
    coded = notes_of(TEXT + VARIABLES + ASSESSED)
    assert "In mode shared the codes come as a list of their own" in coded
    noisy = TEXT.replace("kind: name}", "kind: name, randomised_response: 0.02}")
    notes = notes_of(noisy)
    assert "surname 0.02), for nothing in mode shared" in notes
    assert "Carole can still estimate" not in notes
    withheld = TEXT.replace("split: sex", "withheld: [sex]")
    for mode, shown in (("shared", False), ("block_keyed", True)):
        notes = notes_of(withheld.replace("mode: shared", f"mode: {mode}"))
        assert "Rows of rule name are sent without sex" in notes
        assert ("the tag for that rule still shows her" in notes) == shown
