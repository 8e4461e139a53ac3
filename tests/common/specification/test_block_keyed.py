"""Mode block_keyed in a specification, and padding: what is refused and why, another encoding, the notes."""

from __future__ import annotations

import re

import pytest

from gemel.common.errors import ErrorCode
from gemel.common.specification import encoding_digest, load_specification, specification_digest, specification_notes
from gemel.coordinator.draft.specification_text import dump_specification
from tests.carole.refusals import refusal
from tests.common.specification.example import notes_of, read_back, refuse
from tests.specifications import heading

TEXT = (
    heading("keyed", "block_keyed")
    + """
fields:
  - {name: surname, kind: name}
  - {name: born, kind: date, date: {order: ymd}}
  - {name: sex, kind: category}
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: name, keys: [{field: surname, prefix: 3}], split: sex}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)


VARIABLES = """
variables:
  - {name: region, holder: alice, categories: [n, s], role: key}
  - {name: illness, holder: bob, categories: [none, some], role: sensitive}
  - {name: sex, holder: both, categories: [f, m], role: key}
"""
ASSESSMENT = """
assessment: {fractions: {alice: 1, bob: 1, combined: 1}, limits: {sample_uniques: 0.5}}
"""


def test_it_is_another_encoding_and_reads_back():
    spec = read_back(TEXT)
    assert encoding_digest(spec) != encoding_digest(load_specification(TEXT.replace("block_keyed", "open")))
    assert spec.comparator_of(spec.field("surname")) == "jaccard"


def test_in_this_mode_the_order_of_rules_and_what_splits_them_is_part_of_the_encoding():
    spec = load_specification(TEXT)
    rules = TEXT.splitlines()[10:12]
    turned = TEXT.replace("\n".join(rules), "\n".join(reversed(rules)))
    unsplit = TEXT.replace(", split: sex", "")
    assert len({encoding_digest(load_specification(text)) for text in (TEXT, turned, unsplit)}) == 3
    assert encoding_digest(load_specification(TEXT.replace("split: sex", "split: sex, limit: 5"))) == encoding_digest(
        spec
    )
    in_open = [text.replace("block_keyed", "open") for text in (TEXT, unsplit)]
    assert len({encoding_digest(load_specification(text)) for text in in_open}) == 1


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        *(
            (
                "keys: [{field: surname, prefix: 3}], split: sex",
                f"{rule}: {{field: surname}}",
                rf"blocking\[1\]\.{rule}.*whole file",
            )
            for rule in ("lsh", "canopies", "similar")
        ),
        ("kind: name}", "kind: name, value_frequencies: true}", r"value_frequencies.*how often a value occurs"),
        ("kind: name}", "kind: name, comparator: jaro}", r"comparator.*mode trusted only"),
        (
            "retention:",
            "latent: {keys: [sex]}\nretention:",
            r"latent\.keys\[0\].*a key must be among the variables of both files",
        ),
    ],
)
def test_what_needs_values_across_the_file_is_refused_with_its_reason(old: str, new: str, reason: str):
    refuse(TEXT.replace(old, new), reason)
    if "comparator" not in new:
        load_specification(TEXT.replace("block_keyed", "open").replace(old, new))


def test_variables_and_an_assessment_are_possible_and_part_of_the_encoding():
    text = TEXT + VARIABLES + ASSESSMENT
    spec = read_back(text)
    assert encoding_digest(spec) == encoding_digest(load_specification(TEXT + VARIABLES))
    assert encoding_digest(spec) != encoding_digest(load_specification(TEXT))


CAPPED = "resolution: {by: carole, max_records: 20000}\n"


def test_a_join_by_carole_is_noted_for_every_approver_and_is_no_other_encoding():
    plain, capped = load_specification(TEXT), load_specification(TEXT + CAPPED)
    assert (plain.resolution.joined, capped.resolution.joined) == (False, True)
    assert load_specification(dump_specification(capped)) == capped
    assert "resolution" not in dump_specification(plain)
    assert load_specification(TEXT + "resolution: {by: coordinator}\n") == plain
    assert encoding_digest(capped) == encoding_digest(plain)
    more = load_specification(TEXT + CAPPED.replace("20000", "20001"))
    assert len({specification_digest(spec) for spec in (plain, capped, more)}) == 3
    first, second, *others = specification_notes(capped)
    assert "fall-back" in first
    assert "CAROLE LEARNS WHICH ROWS OF DIFFERENT RULES ARE ONE RECORD" in first
    assert "20,000 of either file" in first
    assert "nothing in common, but for those records" in second
    assert not any("known to the coordinator's process alone" in note for note in others)
    assert not any("fall-back" in note for note in specification_notes(plain))
    coded = specification_notes(load_specification(TEXT + VARIABLES + ASSESSMENT + CAPPED))
    assert "which row of codes is theirs" in coded[0]
    assert any("nothing but the fall-back shows which signatures a row of codes belongs to" in note for note in coded)
    assert not any("coordinator's process reports to Carole" in note for note in coded)


@pytest.mark.parametrize(
    ("section", "mode", "reason"),
    [
        ("resolution: {by: carole}", "block_keyed", r"resolution\.max_records.*needs a cap that all approve"),
        ("resolution: {max_joins: 1.5}", "block_keyed", r"resolution\.max_joins.*less than or equal to 1"),
        ("resolution: {max_requested: -0.5}", "block_keyed", r"resolution\.max_requested.*greater than"),
        (
            "resolution: {max_joins: 0.5}",
            "open",
            r"resolution: there are rows to join in modes block_keyed and shared only",
        ),
        ("resolution: {max_records: 5}", "block_keyed", r"resolution\.max_records.*has no cap"),
        ("resolution: {by: carole, max_records: 0}", "block_keyed", r"resolution\.max_records.*greater than"),
        ("resolution: {by: bob, max_records: 5}", "block_keyed", r"resolution\.by.*must be coordinator or carole"),
        (
            "resolution: {by: carole, max_records: 5}",
            "open",
            r"resolution: there are rows to join in modes block_keyed and shared only",
        ),
        (
            "resolution: {by: carole, max_records: 5}",
            "trusted",
            r"resolution: there are rows to join in modes block_keyed and shared only",
        ),
    ],
)
def test_a_join_by_carole_is_never_without_a_cap_nor_in_another_mode(section: str, mode: str, reason: str):
    text = TEXT.replace(", split: sex", "").replace("mode: block_keyed", f"mode: {mode}")
    refuse(text + section, reason)


def test_the_notes_state_the_caps_on_requested_rows():
    notes = notes_of(TEXT)
    assert "for up to 0.25 of the joins of a record's rows (resolution.max_joins): each custodian counts" in notes
    unbounded = specification_notes(load_specification(TEXT + "resolution: {max_joins: 1}\n"))
    assert "for all the joins of a record's rows" in "\n".join(unbounded)
    both = notes_of(TEXT + "resolution: {max_joins: 0.1, max_requested: 0.3}\n")
    assert "up to 0.1 of the joins of a record's rows (resolution.max_joins), of up to 0.3 of the records" in both


def test_above_the_cap_it_is_refused():
    capped = load_specification(TEXT + CAPPED.replace("20000", "3")).resolution
    capped.refuse_above(3, "Alice", "here")
    with refusal(ErrorCode.LEAKAGE, r"at most 3 records of Alice.*got 4"):
        capped.refuse_above(4, "Alice", "here")
    load_specification(TEXT).resolution.refuse_above(10**9, "Alice", "here")


def test_without_blocking_it_is_refused():
    text = TEXT[: TEXT.index("blocking:")] + TEXT[TEXT.index("retention:") :]
    refuse(text, "blocking: mode block_keyed needs a blocking rule")


def test_a_rule_with_an_issue_of_its_own_still_counts_as_a_rule():
    text = (
        TEXT[: TEXT.index("  - {name: born, keys")] + "  - {name: born, keyz: 1}\n" + TEXT[TEXT.index("retention:") :]
    )
    assert "needs a blocking rule" not in "".join(refuse(text))


def test_a_rule_on_a_category_and_a_split_are_possible_and_noted():
    reported = specification_notes(load_specification(TEXT.replace("[{field: born}]", "[{field: sex}]")))
    assert "block_keyed: each record is sent once per blocking rule (born and name)" in reported[0]
    assert any("coordinator" in note for note in reported)
    assert any("name by sex" in note for note in reported)


def test_the_notes_state_what_the_codes_reveal_and_what_they_do_not():
    reported = notes_of(TEXT + VARIABLES + ASSESSMENT)
    assert "keyed codes of every row" in reported
    assert "nothing shows which signatures a row of codes belongs to" in reported
    assert "with probabilities that at least 20 links share" in reported
    assert "Pairs near a link are not reported" in reported
    assert "field sex: its value is sent as a signature and as a code, and a missing value shows in both" in reported
    assert "several links share a record" not in reported
    unassessed = notes_of(TEXT + VARIABLES + "release: {assessment: none}\n")
    assert "nothing shows which signatures" in unassessed
    assert "at least 20 links" not in unassessed
    assert "Nothing uses the codes in this mode but an assessment" in unassessed
    assert "Nothing uses the codes" not in reported
    joined = specification_notes(
        load_specification(TEXT + VARIABLES + ASSESSMENT + "resolution: {by: carole, max_records: 9}\n")
    )
    assert any("nothing but the fall-back shows which signatures" in note for note in joined)
    assert not any("at least 20 links" in note for note in joined)
    many = TEXT + VARIABLES + ASSESSMENT + "links: {assignment: many_to_one}\n"
    assert "several links share a record" in notes_of(many)
    assert "nothing shows which signatures" not in notes_of((TEXT + VARIABLES).replace("block_keyed", "open"))


WITHHELD = TEXT.replace("prefix: 3}], split: sex", "prefix: 3}], withheld: [sex]")


def test_what_a_rule_withholds_is_part_of_the_encoding_and_noted():
    spec, plain = load_specification(WITHHELD), load_specification(TEXT.replace(", split: sex", ""))
    assert load_specification(dump_specification(spec)) == spec
    assert encoding_digest(spec) != encoding_digest(plain)
    assert specification_digest(spec) != specification_digest(plain)
    noted = [note for note in specification_notes(spec) if "Rows of rule name are sent without sex" in note]
    assert len(noted) == 1
    assert not any("are sent without" in note for note in specification_notes(plain))


@pytest.mark.parametrize(
    ("text", "path", "what"),
    [
        (WITHHELD.replace("[sex]", "[surname]"), "blocking[1].withheld[0]", "the rule's own keys"),
        (WITHHELD.replace("[sex]", "[sexe]"), "blocking[1].withheld[0]", "no compared field has this name"),
        (WITHHELD.replace("[sex]", "[sex, sex]"), "blocking[1].withheld[1]", "withheld already"),
        (WITHHELD.replace("[sex]", "[sex, born]"), "blocking[1].withheld", "nothing is left to compare"),
        (
            WITHHELD.replace("kind: category}", "kind: category, missing_as: level}"),
            "blocking[1].withheld[0]",
            "missing",
        ),
        (WITHHELD.replace("block_keyed", "open"), "blocking[1].withheld", "in mode open all rules have the same rows"),
    ],
)
def test_what_cannot_be_withheld(text: str, path: str, what: str):
    refuse(text, re.escape(path) + ".*" + what)


def test_padding_is_another_encoding_and_reads_back() -> None:
    plain, padded = load_specification(TEXT), load_specification(f"{TEXT}padding: powers_of_two\n")
    assert load_specification(dump_specification(padded)) == padded
    assert encoding_digest(padded) != encoding_digest(plain)
    assert "padding" not in dump_specification(plain)
    assert encoding_digest(load_specification(f"{TEXT}padding: null\n")) == encoding_digest(plain)
    reported = notes_of(padded)
    assert "dummy rows" in reported
    assert "less than twice the rows" in reported


@pytest.mark.parametrize("padding", ["2", "8", "20", "true", "2.5", "[2]"])
def test_other_paddings_are_refused(padding: str) -> None:
    refuse(
        f"{TEXT}padding: {padding}\n",
        r"padding: must be .*write `powers_of_two`, or drop it; a number of rows is refused",
    )


def test_a_misspelt_padding_is_corrected() -> None:
    refuse(f"{TEXT}padding: powers\n", "padding: must be powers_of_two, got 'powers'; did you mean powers_of_two")


def test_padding_is_refused_where_it_would_only_cost() -> None:
    text = f"{TEXT}padding: powers_of_two\n"
    refuse(text.replace("block_keyed", "open"), r"padding: dummy records do not protect mode open.*mode block_keyed")
    refuse(text.replace("block_keyed", "trusted"), "padding: padding hides nothing")
    refuse(
        f"{text}resolution: {{by: carole, max_records: 100}}\n",
        "padding: the party that joins rows learns which are dummies",
    )
