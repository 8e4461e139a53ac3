"""The assessment and the estimates of quality in a specification: limits, tables, fractions, check fields, decoys."""

from __future__ import annotations

import pytest

from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.specification import encoding_digest, load_specification, specification_digest
from gemel.coordinator.draft.specification_text import dump_specification, json_schema
from tests.common.specification.example import notes_of, read_back, refuse, refuse_at
from tests.specifications import heading

BASE = (
    heading("risky")
    + """
fields:
  - {name: surname, kind: name}
variables:
  - {name: age, holder: alice, categories: [young, old], role: key}
  - {name: town, holder: both, categories: [north, south], role: key}
  - {name: illness, holder: bob, categories: [none, some], role: sensitive}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
)
ASSESSMENT = """
assessment:
  fractions: {alice: 0.2, bob: 0.1, combined: 0.05}
  tables:
    - {variables: [age, illness], protection: conventional, base: 5}
  limits: {correct_matches: 0.05, subtraction: 0.2}
  on_breach: hold
"""


TWO = "  signatures: 2\n"


def test_a_section_makes_the_release_depend_on_it() -> None:
    assert load_specification(BASE, "t").release.assessment == "none"
    spec = load_specification(BASE + ASSESSMENT, "t")
    assert spec.release.assessment == "policy"
    assert spec.assessment is not None
    assert spec.assessment.limits.given == {"correct_matches": 0.05, "subtraction": 0.2}
    assert load_specification(BASE + ASSESSMENT + "release: {alice: statistics}\n", "t").release.assessment == "policy"


def test_it_changes_what_is_approved_and_not_what_is_signed() -> None:
    without, spec = load_specification(BASE, "t"), load_specification(BASE + ASSESSMENT, "t")
    assert specification_digest(without) != specification_digest(spec)
    assert encoding_digest(without) == encoding_digest(spec)


def test_a_release_that_two_must_sign_needs_consents_of_its_own() -> None:
    plain, one = (load_specification(BASE + ASSESSMENT + written, "t") for written in ("", "  signatures: 1\n"))
    assert specification_digest(one) == specification_digest(plain)
    spec = load_specification(BASE + ASSESSMENT + TWO, "t")
    assert specification_digest(spec) != specification_digest(plain)
    assert encoding_digest(spec) == encoding_digest(load_specification(BASE + ASSESSMENT, "t"))


def test_two_signatures_are_explained() -> None:
    def words(more: str) -> str:
        return notes_of(BASE + ASSESSMENT + more)

    assert "Above any of these the result waits for a steward." in words("")
    assert "only when two different members of the role steward have signed" in words(TWO)


def test_the_limits_on_invented_records_hold_unnamed() -> None:
    bare = load_specification(BASE + ASSESSMENT, "t")
    assert bare.assessment is not None
    assert bare.assessment.judged_limits == bare.assessment.limits.given | {
        "differences": 0.1,
        "near_copies": 0.002,
        "unlinked": 0.99,
    }
    named = load_specification(BASE + ASSESSMENT + "  near_copies: 0.002\n  minimum_overlap: 0.01\n", "t")
    assert specification_digest(named) == specification_digest(bare)
    for more in ("  near_copies: 0.02\n", "  minimum_overlap: 0.2\n"):
        other = load_specification(BASE + ASSESSMENT + more, "t")
        assert specification_digest(other) != specification_digest(bare)
        assert encoding_digest(other) == encoding_digest(bare)
    assert "near_copies at most 0.002, unlinked at most 0.99" in notes_of(bare)


@pytest.mark.parametrize("more", ["", "  signatures: 2\n", "  near_copies: 0.1\n  minimum_overlap: 0.0\n"])
def test_written_back_as_it_was(more: str) -> None:
    read_back(BASE + ASSESSMENT + more)


def test_every_measure_of_the_registry_can_be_limited() -> None:
    properties = json_schema()["$defs"]["Limits"]["properties"]
    assert {name: shown["description"] for name, shown in properties.items()} == {
        measure.name: measure.meaning for measure in MEASURES.values() if not measure.own_limit
    }
    section = json_schema()["$defs"]["AssessmentSpec"]["properties"]
    assert {measure.own_limit for measure in MEASURES.values() if measure.own_limit} <= set(section)
    for measure in MEASURES.values():
        if measure.own_limit:
            continue
        number = properties[measure.name]["anyOf"][0]
        assert (number["minimum"], number["maximum"]) == (measure.minimum, measure.maximum)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("correct_matches: 0.05", "correct_match: 0.05", "did you mean correct_matches"),
        ("correct_matches: 0.05", "correct_matches: 1.5", "limits.correct_matches"),
        ("limits: {correct_matches: 0.05, subtraction: 0.2}", "limits: {}", "no limit is set"),
        ("combined: 0.05", "combined: 0.15", "the fraction in both files"),
        ("[age, illness]", "[age, ilness]", "did you mean illness"),
        ("[age, illness]", "[age, age]", "named twice"),
        ("base: 5", "base: 4", "odd base"),
        ("protection: conventional, base: 5", "protection: random", "needs a base"),
        ("  tables:\n    - {variables: [age, illness], protection: conventional, base: 5}\n", "", "no table"),
        ("on_breach: hold", "on_breach: ask", "on_breach"),
        ("on_breach: hold", "on_breach: hold\n  signatures: 3", "signatures"),
        ("on_breach: hold", "on_breach: hold\n  signatures: true", "signatures"),
        ("on_breach: hold", "on_breach: refuse\n  signatures: 2", "no result is ever held"),
        ("role: sensitive", "role: other", "limits.few_values"),
        ("role: key", "role: other", "no variable has the role key"),
        ("- {name: surname, kind: name}", "- {name: illness, kind: category}", "also a compared field"),
        ("retention:", "release: {assessment: none}\nretention:", "go without"),
        ("combined: 0.05", "combined: 0", "fractions.combined"),
        ("combined: 0.05", "combined: {value: 0.05, low: 0.06, high: 0.07}", "within its bounds"),
        ("combined: 0.05", "combined: {value: 0.05, low: 0.04, high: 1.5}", "fractions.combined.high"),
        ("combined: 0.05", "combined: {value: 0.05, low: 0.04, high: 0.2}", "the fraction in both files"),
        ("combined: 0.05", "combined: {value: 0.05, low: 0.04}", "add `high`"),
        ("combined: 0.05", "combined: {value: 0.05, lowest: 0.04, high: 0.1}", "lowest"),
        ("combined: 0.05", "combined: many", "fractions.combined"),
    ],
)
def test_what_is_refused(old: str, new: str, words: str) -> None:
    text = (BASE + ASSESSMENT).replace("limits: {", "limits: {few_values: 0.5, ")
    if new == "limits: {}":
        text = BASE + ASSESSMENT
    if "illness, kind" in new:
        text = text.replace("illness, holder: bob", "illness, holder: both")
    assert old in text
    assert words in "\n".join(refuse(text.replace(old, new)))


def test_policy_without_a_section() -> None:
    refuse(BASE + "release: {assessment: policy}\n", "no `assessment` section")


def test_a_fraction_is_a_number_or_has_bounds() -> None:
    text = BASE + ASSESSMENT.replace("combined: 0.05", "combined: {value: 0.05, low: 0.04, high: 0.06}")
    spec, plain = load_specification(text, "t"), load_specification(BASE + ASSESSMENT, "t")
    assert spec.assessment is not None and plain.assessment is not None  # noqa: PT018
    assert spec.assessment.fractions.of("combined").possible == (0.05, 0.04, 0.06)
    assert plain.assessment.fractions.of("combined").possible == (0.05,)
    assert load_specification(dump_specification(spec), "again") == spec
    assert specification_digest(spec) != specification_digest(plain)
    assert encoding_digest(spec) == encoding_digest(plain)


PROTECT = """  protect:
    age:
      - {name: bands, groups: {under_30: [a, b], to_50: [c], above: [d, e]}}
      - {name: halves, groups: {to_50: [a, b, c], above: [d, e]}}
      - drop
    town: [drop]
"""
LADDERS = BASE.replace("[young, old]", "[a, b, c, d, e]") + ASSESSMENT + PROTECT


def test_allowed_coarsenings_are_written_back_signed_and_explained() -> None:
    spec = read_back(LADDERS)
    bare = load_specification(LADDERS.replace(PROTECT, ""), "t")
    assert [len(spec.coarsenings(name)) for name in ("age", "town", "illness")] == [3, 1, 0]
    words = notes_of(spec)
    assert "age (bands, 3 groups; then halves, 2 groups; then dropped) and town (dropped)" in words
    assert "the codes of age are ordered by group" in words
    assert "coarsened" not in notes_of(bare)
    # The order of the codes follows the groups, whatever they are called and in which order they are listed.
    renamed = load_specification(LADDERS.replace("under_30: [a, b]", "below_30: [b, a]"), "t")
    assert encoding_digest(spec) == encoding_digest(renamed) != encoding_digest(bare)
    assert specification_digest(spec) != specification_digest(renamed)
    dropped = load_specification(LADDERS.replace(PROTECT, "  protect: {town: [drop]}\n"), "t")
    assert encoding_digest(dropped) == encoding_digest(bare)
    assert specification_digest(dropped) != specification_digest(bare)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("    age:\n", "    agee:\n", "did you mean age"),
        ("to_50: [c]", "to_50: []", "the group is empty"),
        ("to_50: [c], above: [d, e]", "above: [d, e]", "1 of 5 categories of age are in no group"),
        ("to_50: [c]", "to_50: [c, a]", "the category is in two groups"),
        ("to_50: [c]", "to_50: [c, c]", "the category is listed twice"),
        ("to_50: [c]", "to_50: [c, z]", "age has no such category"),
        ("to_50: [c]", "n/a: [c]", "means *not known*"),
        ("to_50: [c]", "Above: [c]", "two groups have one name"),
        ("{to_50: [a, b, c], above: [d, e]}", "{all: [a, b, c, d, e]}", "write `drop` as the last step"),
        ("{to_50: [a, b, c], above: [d, e]}", "{x: [a], y: [b, c, d, e]}", "is not coarser than step bands: a group"),
        ("{to_50: [a, b, c], above: [d, e]}", "{x: [a, b], y: [c], z: [d, e]}", "it has as many groups"),
        ("under_30: [a, b], to_50: [c], above: [d, e]", "q: [a], r: [b], s: [c], t: [d], u: [e]", "categories of age"),
        ("name: halves", "name: bands", "the name of the step is taken"),
        ("name: halves", "name: drop", "the name of the step is taken"),
        ("town: [drop]", "town: [drop, drop]", "by the last step only"),
        ("town: [drop]", "town: []", "too few entries"),
        ("town: [drop]", "town: [dropp]", "did you mean drop"),
        ("town: [drop]", "town: [3]", "must be a mapping"),
        ("above: [d, e]}}\n      - drop", "above: d}}\n      - drop", "must be a list"),
    ],
)
def test_which_coarsenings_are_refused(old: str, new: str, words: str) -> None:
    assert old in LADDERS
    assert words in "\n".join(refuse(LADDERS.replace(old, new), r"assessment\.protect"))


FIELDS = """
fields:
  - {name: surname, kind: name%s}
  - {name: born, kind: date, date: {order: ymd}}
  - {name: postcode, kind: code}
  - {name: sex, kind: category%s}
"""
RETENTION = "retention: {uploads_days: 1, results_days: 1, maps_days: 1}\n"


def text(rest: str = "", mode: str = "open", surname: str = "", sex: str = "") -> str:
    return heading("checked", mode) + FIELDS % (surname, sex) + RETENTION + rest


def test_it_reads_back_and_changes_approvals_but_no_signature() -> None:
    plain = load_specification(text())
    checked = read_back(text("quality: {check_field: sex}\n"))
    assert checked.quality is not None
    assert checked.quality.check_field == "sex"
    assert [field.name for field in checked.compared] == ["surname", "born", "postcode"]
    assert [field.name for field in plain.compared] == ["surname", "born", "postcode", "sex"]
    assert "quality" not in dump_specification(plain)
    assert encoding_digest(checked) == encoding_digest(plain)
    assert specification_digest(checked) != specification_digest(plain)


def test_decoys_change_what_is_sent() -> None:
    plain, decoyed, more = (
        load_specification(text(rest))
        for rest in ("", "quality: {decoys: 1000}\n", "quality: {decoys: 2000, check_field: sex}\n")
    )
    assert [spec.decoys for spec in (plain, decoyed, more)] == [0, 1000, 2000]
    assert load_specification(dump_specification(decoyed)) == decoyed
    assert len({encoding_digest(spec) for spec in (plain, decoyed, more)}) == 3


BLOCKED = "blocking:\n  - {name: by, keys: [{field: %s}]%s}\n"


@pytest.mark.parametrize(
    ("document", "where", "what"),
    [
        (text("quality: {check_field: gender}\n"), "quality.check_field", "no field has this name"),
        (text("quality: {check_field: sex}\n" + BLOCKED % ("sex", "")), "quality.check_field", "blocking rule by"),
        (text("quality: {check_field: sex}\n" + BLOCKED % ("born", ", split: sex")), "quality.check_field", "rule by"),
        (
            text("quality: {check_field: sex}\nswaps: [[surname, sex]]\n", surname=", key_domain: sex"),
            "quality.check_field",
            "the exchange of surname and sex",
        ),
        (
            text("quality: {check_field: sex}\n", surname=", salt: {field: sex}"),
            "quality.check_field",
            "the salt of surname",
        ),
        (text("quality: {check_field: sex}\n", sex=", salt: {field: born}"), "quality.check_field", "agree only where"),
        (text("quality: {check_field: sex}\n", sex=", missing_as: level"), "fields[3].missing_as", "no weight"),
        (
            text("quality: {check_field: sex}\n", sex=", value_frequencies: true"),
            "fields[3].value_frequencies",
            "no wei",
        ),
        (text("quality: {decoys: 100}\nlatent: {keys: [sex]}\n"), "quality", "decides again"),
        (text("quality: {decoys: 99}\n"), "quality.decoys", "100"),
        (text("quality: {decoys: 100001}\n"), "quality.decoys", "100000"),
        (text("quality: {decoys: 100}\nlinks: {assignment: many_to_one}\n"), "quality.decoys", "several links"),
        (
            text(
                "quality: {decoys: 100}\nresolution: {by: carole, max_records: 100}\n" + BLOCKED % ("born", ""),
                "block_keyed",
            ),
            "quality.decoys",
            "joins rows",
        ),
        (text("quality: {sample: 5}\n"), "quality.sample", ""),
    ],
)
def test_what_it_is_refused_with(document: str, where: str, what: str) -> None:
    refuse_at(document, where, what)


def test_two_other_fields_must_be_compared() -> None:
    two = heading("two", "open") + "fields:\n  - {name: born, kind: date, date: {order: ymd}}\n"
    two += "  - {name: sex, kind: category}\nquality: {check_field: sex}\n" + RETENTION
    refuse(two, "fewer than two other fields are compared")


ASSESSED = """
variables:
  - {name: region, holder: alice, categories: [n, s], role: key}
assessment: {fractions: {alice: 1, bob: 1, combined: 1}, limits: {false_links: 0.02}}
"""


def test_a_limit_on_false_links_needs_an_estimate() -> None:
    refuse(text(ASSESSED), "nothing estimates the share of false links")
    for quality in ("{check_field: sex}", "{decoys: 100}"):
        spec = load_specification(text(f"{ASSESSED}quality: {quality}\n"))
        assert spec.assessment is not None
        assert spec.assessment.limits.given == {"false_links": 0.02}


def test_notes_state_what_is_held_out() -> None:
    notes = notes_of(text("quality: {check_field: sex}\n"))
    assert "sex is sent but held out" in notes
    assert "resolver" not in notes
    address = notes_of(text("quality: {check_field: postcode}\n"))
    assert "kin share their address" in address
    keyed = text("quality: {check_field: sex}\n" + BLOCKED % ("born", ""), "block_keyed")
    assert "The resolver learns for every candidate pair" in notes_of(keyed)


def test_notes_state_who_learns_which_records_are_decoys_and_what_they_could_be_misused_for() -> None:
    notes = notes_of(text("quality: {decoys: 1000}\n", sex=", describes: household"))
    assert "adds 1,000 invented records" in notes
    assert "The linkage unit learns which" in notes
    assert "whether the other file has that person" in notes
    assert "random half" in notes
    assert "random half" not in notes_of(text("quality: {decoys: 1000}\n"))
    keyed = text("quality: {decoys: 1000}\n" + BLOCKED % ("born", ""), "block_keyed")
    assert "The resolver learns which" in notes_of(keyed)
