"""`release.variables`: who may receive which columns, what is refused and why, what approvers are shown."""

from __future__ import annotations

import pytest

from gemel.common.errors import GemelErrors
from gemel.common.parties import Side
from gemel.common.specification import (
    Specification,
    dump_specification,
    load_specification,
    specification_digest,
    specification_notes,
)
from gemel.common.specification.model.granted_variables import Transfer
from gemel.common.specification.notes.modes import granted_columns
from gemel.console.web.specification_words import specification_shown
from tests.specifications import heading

HEAD = heading("people", alice="rec_id", bob="number")
FIELDS = """
fields:
  - {name: surname, kind: name}
  - {name: born, kind: date, date: {order: ymd}}
  - {name: postcode, kind: code}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
VARIABLES = """
variables:
  - {name: sex, holder: alice, categories: [m, f], role: key}
  - {name: region, holder: alice, column: area, categories: [north, south], role: key, categorisation: [
      {category: north, alice: [n, nn]}, {category: south, alice: [s]}]}
  - {name: illness, holder: bob, categories: ["yes", "no"], role: sensitive}
assessment: {fractions: {alice: 0.1, bob: 0.1, combined: 0.02}, limits: {sample_uniques: 0.2}}
"""


def spec(release: str, more: str = "") -> Specification:
    return load_specification(f"{HEAD}{FIELDS}{more}release: {{{release}}}\n")


def refusal(release: str, more: str = "") -> str:
    with pytest.raises(GemelErrors) as caught:
        spec(release, more)
    return str(caught.value)


GRANTS = "variables: [{to: bob, alice: [sex, income]}, {to: institute, alice: [sex], bob: [illness]}]"


def test_the_transfers_and_their_columns() -> None:
    release = spec(GRANTS).release
    to_bob, *to_institute = release.transfers
    assert to_bob == Transfer(Side.ALICE, "bob")
    assert to_institute == [Transfer(Side.ALICE, "institute"), Transfer(Side.BOB, "institute")]
    assert release.granted_columns(to_bob) == ("sex", "income")
    assert release.granted_columns(Transfer(Side.BOB, "institute")) == ("illness",)
    assert release.granted_columns(Transfer(Side.BOB, "alice")) == ()
    assert not release.drawn_to(to_bob)
    assert spec(f"alice: draws, bob: draws, {GRANTS}").release.drawn_to(to_bob)
    assert not spec(f"alice: draws, {GRANTS}").release.drawn_to(to_bob), "the other end has no drawn linkages"


def test_it_is_written_out_and_changes_the_digest_only_where_it_is() -> None:
    granted, plain = spec(GRANTS), spec("")
    assert load_specification(dump_specification(granted)) == granted
    assert "variables" not in dump_specification(plain)
    assert specification_digest(spec("variables: []")) == specification_digest(plain)
    wider = spec(GRANTS.replace("income]", "income, debts]"))
    assert len({specification_digest(each) for each in (plain, granted, wider)}) == 3


@pytest.mark.parametrize(
    ("release", "words"),
    [
        ("variables: [{to: bob, bob: [x]}]", "Bob has the columns of its own file"),
        ("variables: [{to: bob}]", "receives no column"),
        ("variables: [{to: bob, alice: [x]}, {to: bob, alice: [y]}]", "named twice"),
        ("variables: [{to: bob, alice: [x, x]}]", "column is named twice"),
        ("variables: [{to: bob, alice: [rec_id]}]", "identifiers never leave it"),
        ("variables: [{to: alice, bob: [link_id]}]", "has a column of this name itself"),
        ("variables: [{to: carole, alice: [x]}]", "neither the linkage unit"),
        ("variables: [{to: coordinator, alice: [x]}]", "neither the linkage unit"),
        ("bob: statistics, variables: [{to: bob, alice: [x]}]", "Bob receives no links"),
        ("alice: nothing, variables: [{to: bob, alice: [x]}]", "Alice receives no links"),
        ("alice: statistics, variables: [{to: institute, alice: [x], bob: [y]}]", "Alice receives no links"),
        ("exact_probabilities: alice, variables: [{to: institute, bob: [x]}]", "none that is exact"),
        ("variables: [{to: An Institute, alice: [x]}]", "variables[0].to"),
    ],
)
def test_what_cannot_be_granted_is_refused_with_the_reason(release: str, words: str) -> None:
    assert words in refusal(release)


def test_under_clusters_there_is_none() -> None:
    assert "how many records the other file has" in refusal(
        "variables: [{to: bob, alice: [x]}]", "links: {assignment: clusters}\n"
    )


def test_approvers_read_who_receives_what_and_what_is_not_assessed() -> None:
    notes = "\n".join(specification_notes(spec(GRANTS)))
    assert "Bob receives the columns sex and income of Alice's linked records" in notes
    assert "The analyst institute receives the column illness of Bob's linked records" in notes
    assert "the columns sex and income that Bob receives of Alice are released without an assessment" in notes
    assert "there is no assessment" in notes
    assert not any("release.variables" in note for note in specification_notes(spec("")))


def test_only_columns_as_the_assessment_counts_them_are_assessed() -> None:
    grants = "variables: [{to: bob, alice: [sex, income, area]}, {to: alice, bob: [illness]}]"
    notes = [note for note in specification_notes(spec(grants, VARIABLES)) if note.startswith("NOT ASSESSED")]
    (note,) = notes
    assert "the columns income and area that Bob receives" in note, "the file's areas are finer than the categories"
    assert "sex" not in note


def test_the_report_has_which_columns_are_assessed() -> None:
    grants = "variables: [{to: bob, alice: [sex, area]}, {to: institute, bob: [illness]}]"
    assert granted_columns(spec(grants, VARIABLES))["granted"] == [
        {"to": "bob", "of": "alice", "assessed": ["sex"], "not_assessed": ["area"]},
        {"to": "institute", "of": "bob", "assessed": ["illness"], "not_assessed": []},
    ]
    assert granted_columns(spec("", VARIABLES)) == {}


def test_a_column_that_records_are_compared_by_is_named() -> None:
    notes = "\n".join(specification_notes(spec("variables: [{to: bob, alice: [surname]}]")))
    assert "SUCH VALUES IDENTIFY PEOPLE" in notes


def test_the_console_shows_it() -> None:
    shown = specification_shown(spec(GRANTS), "")["receives"]
    assert ("Bob", "the links of its own rows; of Alice's linked records sex and income") in shown
    assert (
        "The analyst institute",
        "the links by ids; of Alice's linked records sex; of Bob's linked records illness",
    ) in shown
