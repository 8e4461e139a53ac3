"""Estimates of quality in a specification: what a check field must be held out of, limits, and notes."""

from __future__ import annotations

import pytest

from gemel.common.errors import GemelErrors
from gemel.common.specification import (
    dump_specification,
    encoding_digest,
    load_specification,
    specification_digest,
    specification_notes,
)
from tests.specifications import heading

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
    checked = load_specification(text("quality: {check_field: sex, bootstrap: 39}\n"))
    assert checked.quality is not None
    assert (checked.quality.check_field, checked.quality.bootstrap) == ("sex", 39)
    assert [field.name for field in checked.compared] == ["surname", "born", "postcode"]
    assert [field.name for field in plain.compared] == ["surname", "born", "postcode", "sex"]
    assert load_specification(dump_specification(checked)) == checked
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
        (text("quality: {bootstrap: 39}\nlatent: {keys: [sex]}\n"), "quality", "decides again"),
        (text("quality: {bootstrap: 38}\n"), "quality.bootstrap", "39"),
        (text("quality: {decoys: 99}\n"), "quality.decoys", "100"),
        (text("quality: {decoys: 100001}\n"), "quality.decoys", "100000"),
        (
            text("quality: {decoys: 100}\nlinks: {assignment: many_to_one}\n"),
            "quality.decoys",
            "several links",
        ),
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
    with pytest.raises(GemelErrors) as refused:
        load_specification(document)
    assert any(where in str(error) and what in str(error) for error in refused.value.errors), str(refused.value)


def test_two_other_fields_must_be_compared() -> None:
    two = heading("two", "open") + "fields:\n  - {name: born, kind: date, date: {order: ymd}}\n"
    two += "  - {name: sex, kind: category}\nquality: {check_field: sex}\n" + RETENTION
    with pytest.raises(GemelErrors, match="fewer than two other fields are compared"):
        load_specification(two)


ASSESSED = """
variables:
  - {name: region, holder: alice, categories: [n, s], role: key}
assessment: {fractions: {alice: 1, bob: 1, combined: 1}, limits: {false_links: 0.02}}
"""


def test_a_limit_on_false_links_needs_an_estimate() -> None:
    with pytest.raises(GemelErrors, match="nothing estimates the share of false links"):
        load_specification(text(ASSESSED))
    for quality in ("{check_field: sex}", "{decoys: 100}", "{bootstrap: 39}"):
        spec = load_specification(text(f"{ASSESSED}quality: {quality}\n"))
        assert spec.assessment is not None
        assert spec.assessment.limits.given == {"false_links": 0.02}


def test_notes_state_what_is_held_out_and_what_it_costs() -> None:
    notes = " ".join(specification_notes(load_specification(text("quality: {check_field: sex, bootstrap: 60}\n"))))
    assert "sex is sent but held out" in notes
    assert "again 60 times" in notes
    assert "resolver" not in notes
    address = " ".join(specification_notes(load_specification(text("quality: {check_field: postcode}\n"))))
    assert "kin share their address" in address
    keyed = text("quality: {check_field: sex}\n" + BLOCKED % ("born", ""), "block_keyed")
    assert "The resolver learns for every candidate pair" in " ".join(specification_notes(load_specification(keyed)))


def test_notes_state_who_learns_which_records_are_decoys_and_what_they_could_be_misused_for() -> None:
    notes = " ".join(specification_notes(load_specification(text("quality: {decoys: 1000}\n"))))
    assert "adds 1,000 invented records" in notes
    assert "The linkage unit learns which" in notes
    assert "whether the other file has that person" in notes
    assert "random half" in notes
    marked = " ".join(
        specification_notes(load_specification(text("quality: {decoys: 1000}\n", sex=", personal: true")))
    )
    assert "random half" not in marked
    keyed = text("quality: {decoys: 1000}\n" + BLOCKED % ("born", ""), "block_keyed")
    assert "The resolver learns which" in " ".join(specification_notes(load_specification(keyed)))
