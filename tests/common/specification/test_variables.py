"""Category variables, and columns that are granted to others: kept, refused with the reason, noted."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gemel.common.errors import GemelErrors
from gemel.common.parties import Side
from gemel.common.specification import (
    Specification,
    encoding_digest,
    load_specification,
    specification_digest,
    specification_notes,
)
from gemel.common.specification.model.granted_variables import Transfer
from gemel.common.specification.model.section import folded_label
from gemel.common.specification.model.variables import VariableSpec
from gemel.common.specification.notes.modes import granted_columns
from gemel.console.web.specification_words import specification_shown
from gemel.coordinator.draft.specification_text import dump_specification
from tests.common.specification.example import EXAMPLE, notes_of, read_back, refuse, refuse_at
from tests.specifications import heading

VARIABLES: list[dict[str, Any]] = [
    {"name": "driving", "holder": "alice", "categories": ["Good", "Poor"], "role": "sensitive"},
    {"name": "home", "holder": "bob", "column": "home_base", "categories": ["city", "rural", 3], "missing": ["x", 9]},
    {"name": "age", "holder": "both", "columns": {"alice": "a", "bob": "b"}, "categories": ["young", "old"]},
]


def text(variables: object) -> str:
    return EXAMPLE + yaml.safe_dump({"variables": variables})


def spec_with(*changed: dict[str, Any]) -> Specification:
    return load_specification(text([{**one, **more} for one, more in zip(VARIABLES, changed, strict=True)]))


SPEC = spec_with({}, {}, {})


def test_who_holds_what_and_where():
    assert [v.name for v in SPEC.variables_of(Side.ALICE)] == ["driving", "age"]
    assert [v.name for v in SPEC.variables_of("bob")] == ["home", "age"]
    assert [SPEC.variable("age").column_of(side) for side in Side] == ["a", "b"]
    assert SPEC.variable("home").column_of("bob") == "home_base"
    assert SPEC.variable("home").categories == ("city", "rural", "3")
    assert SPEC.variable("driving").places == {"good": 0, "poor": 1}
    with pytest.raises(KeyError):
        SPEC.variable("unknown")


def test_they_are_written_out_and_read_again():
    assert load_specification(dump_specification(SPEC)) == SPEC
    assert "variables" not in dump_specification(load_specification(EXAMPLE))
    remarked = dump_specification(SPEC, {"variables[0]": "A comment.", "variables[0].missing": "None besides."})
    assert "  # A comment.\n  - name: driving\n" in remarked
    assert load_specification(remarked) == SPEC


def test_without_them_nothing_is_encoded_otherwise():
    plain = load_specification(EXAMPLE)
    assert load_specification(text([])) == load_specification(text(None)) == plain
    assert encoding_digest(load_specification(text([]))) == encoding_digest(plain)
    assert encoding_digest(SPEC) != encoding_digest(plain)


@pytest.mark.parametrize("change", [{"role": "other"}, {"column": "x"}, {"categories": ["GOOD ", "poor"]}])
def test_what_need_not_be_sent_again(change: dict[str, Any]):
    other = spec_with(change, {}, {})
    assert encoding_digest(other) == encoding_digest(SPEC)
    assert specification_digest(other) != specification_digest(SPEC)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"holder": "both"},
        {"categories": ["Poor", "Good"]},
        {"categories": ["Good", "Poor", "Fair"]},
        {"missing": ["unanswered"]},
    ],
)
def test_what_must_be_sent_again(change: dict[str, Any]):
    assert encoding_digest(spec_with(change, {}, {})) != encoding_digest(SPEC)


@pytest.mark.parametrize(
    ("change", "where", "what"),
    [
        ({"holder": "carole"}, "variables[0].holder", "alice, bob or both"),
        ({"holder": None}, "variables[0].holder", "use alice, bob or both"),
        ({"categories": ["one"]}, "variables[0].categories", "too few"),
        ({"categories": "one"}, "variables[0].categories", "must be a list"),
        ({"categories": ["a", " A "]}, "variables[0].categories[1]", "categories[0] already"),
        ({"categories": ["a", " "]}, "variables[0].categories[1]", "must not be blank"),
        ({"missing": ["POOR"]}, "variables[0].missing[0]", "one of the categories"),
        ({"columns": {"alice": "a", "bob": "b"}}, "variables[0].columns", "only one file"),
        (
            {"holder": "both", "column": "x", "columns": {"alice": "a", "bob": "b"}},
            "variables[0].columns",
            "both given",
        ),
        ({"name": "AGE"}, "variables[2].name", "taken by variables[0]"),
        ({"name": "Surname"}, "variables[0].name", "a compared field has this name"),
        ({"column": "rec_id"}, "variables[0].column", "alice's identifier"),
        ({"role": "secret"}, "variables[0].role", "key, sensitive or other"),
        ({"labels": []}, "variables[0].labels", "unknown key"),
    ],
)
def test_issues_are_named_by_path_with_a_remedy(change: dict[str, Any], where: str, what: str):
    refuse_at(text([{**VARIABLES[0], **change}, *VARIABLES[1:]]), where, what)


def test_all_issues_are_reported_at_once():
    changed = [{**VARIABLES[0], "role": "x"}, {**VARIABLES[1], "categories": ["a", "a"]}, VARIABLES[2]]
    assert len(refuse(text(changed).replace("febrl4", "Not A Name"))) == 3


def test_both_may_hold_the_variable_of_a_compared_field():
    assert load_specification(text([{"name": "sex", "holder": "both", "categories": ["f", "m"]}])).variable("sex")


def test_missing_codes_give_way_to_categories():
    variable = VariableSpec.model_validate(
        {"name": "car", "holder": "bob", "categories": ["none", "one"], "missing": ["Not given"]}
    )
    assert {"", "n/a", "not given"} <= variable.missing_codes
    assert "none" not in variable.missing_codes
    assert folded_label("  Not\u00a0 GIVEN ") == "not given"


def test_notes_state_what_carole_sees_of_them():
    reported = notes_of(SPEC)
    assert "driving (2 categories, alice's file), home (3 categories, bob's file) and age" in reported
    assert "Carole never sees a label" in reported
    assert "one row of alice hold for the whole file: together they may take 4 combinations" in reported
    assert "one row of bob hold for the whole file: together they may take 6 combinations" in reported
    assert "sent as a signature and as a code" not in reported
    assert "sent as a signature and as a code" in notes_of(spec_with({"column": "sex"}, {}, {}))
    assert "codes" not in notes_of(EXAMPLE)


LATENT = {"keys": ["surname", "sex"], "p": "free", "rounds": 2}


def latent(section: object, variables: object = VARIABLES) -> str:
    return text(variables) + yaml.safe_dump({"latent": section})


def test_the_latent_step_is_absent_unless_requested():
    assert SPEC.latent is None
    spec = read_back(latent(LATENT))
    assert spec.latent is not None
    assert (spec.latent.keys, spec.latent.search, spec.latent.p) == (("surname", "sex"), "greedy", "free")
    assert encoding_digest(spec) == encoding_digest(SPEC)
    assert specification_digest(spec) != specification_digest(SPEC)
    assert load_specification(latent({})).latent is not None
    assert load_specification(latent({"keys": ["sex"]}, [])).latent is not None
    reported = notes_of(spec)
    assert "joint distribution of the codes of all variables and of the agreed values of surname and sex" in reported
    assert "can diverge" in reported
    assert "may over-fit" in reported


@pytest.mark.parametrize(
    ("section", "variables", "where", "what"),
    [
        ({}, [], "latent", "no values to use of a pair"),
        ({}, VARIABLES[2:], "latent", "no values to use of a pair"),
        ({}, VARIABLES[:1], "latent", "one file alone are no evidence on a pair, got variables of alice and no keys"),
        ({"keys": ["surnam"]}, VARIABLES, "latent.keys[0]", "did you mean surname?"),
        ({"keys": ["sex", "sex"]}, VARIABLES, "latent.keys[1]", "named already"),
        ({"search": "random"}, VARIABLES, "latent.search", "greedy or annealing"),
        ({"p": "fixed"}, VARIABLES, "latent.p", "held or free"),
        ({"rounds": 11}, VARIABLES, "latent.rounds", "got 11"),
        ({"precision": 0}, VARIABLES, "latent.precision", "got 0"),
        ({"practice": 1}, VARIABLES, "latent.practice", "unknown key"),
        ([], VARIABLES, "latent", "must be a mapping"),
    ],
)
def test_a_value_model_that_makes_no_sense_is_refused(section: object, variables: object, where: str, what: str):
    assert len(refuse_at(latent(section, variables), where, what)) == 1


def test_recipients_of_the_joint_distribution_are_specified_and_noted():
    spec = load_specification(latent(LATENT))
    assert not any(spec.release.joint_to(side) for side in Side)
    granted = Specification.model_validate({**spec.model_dump(), "release": {"joint": "alice"}})
    assert [granted.release.joint_to(side) for side in Side] == [True, False]
    assert encoding_digest(granted) == encoding_digest(spec)
    assert "Alice receives the joint distribution" in notes_of(granted)
    assert "receives the joint" not in notes_of(spec)
    with pytest.raises(GemelErrors, match="without a latent step"):
        Specification.model_validate({**SPEC.model_dump(), "release": {"joint": "both"}})
    with pytest.raises(GemelErrors, match="bob receives nothing"):
        Specification.model_validate({**spec.model_dump(), "release": {"joint": "both", "bob": "nothing"}})


def test_a_variable_with_an_issue_causes_none_of_the_latent_step():
    assert len(refuse(latent({}, [VARIABLES[0], {**VARIABLES[1], "holder": "bib"}]))) == 1


HEAD = heading("people", alice="rec_id", bob="number")
FIELDS = """
fields:
  - {name: surname, kind: name}
  - {name: born, kind: date, date: {order: ymd}}
  - {name: postcode, kind: code}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
GRANTED_VARIABLES = """
variables:
  - {name: sex, holder: alice, categories: [m, f], role: key}
  - {name: region, holder: alice, column: area, categories: [north, south], role: key, categorisation: [
      {category: north, alice: [n, nn]}, {category: south, alice: [s]}]}
  - {name: illness, holder: bob, categories: ["yes", "no"], role: sensitive}
assessment: {fractions: {alice: 0.1, bob: 0.1, combined: 0.02}, limits: {sample_uniques: 0.2}}
"""


def releasing(release: str, more: str = "") -> str:
    return f"{HEAD}{FIELDS}{more}release: {{{release}}}\n"


def spec(release: str, more: str = "") -> Specification:
    return load_specification(releasing(release, more))


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
    assert words in "".join(refuse(releasing(release)))


def test_under_clusters_there_is_none() -> None:
    text = releasing("variables: [{to: bob, alice: [x]}]", "links: {assignment: clusters}\n")
    refuse(text, "how many records the other file has")


def test_approvers_read_who_receives_what_and_what_is_not_assessed() -> None:
    notes = notes_of(spec(GRANTS))
    assert "Bob receives the columns sex and income of Alice's linked records" in notes
    assert "The analyst institute receives the column illness of Bob's linked records" in notes
    assert "the columns sex and income that Bob receives of Alice are released without an assessment" in notes
    assert "there is no assessment" in notes
    assert not any("release.variables" in note for note in specification_notes(spec("")))


def test_only_columns_as_the_assessment_counts_them_are_assessed() -> None:
    grants = "variables: [{to: bob, alice: [sex, income, area]}, {to: alice, bob: [illness]}]"
    notes = [note for note in specification_notes(spec(grants, GRANTED_VARIABLES)) if note.startswith("NOT ASSESSED")]
    (note,) = notes
    assert "the columns income and area that Bob receives" in note, "the file's areas are finer than the categories"
    assert "sex" not in note


def test_the_report_has_which_columns_are_assessed() -> None:
    grants = "variables: [{to: bob, alice: [sex, area]}, {to: institute, bob: [illness]}]"
    assert granted_columns(spec(grants, GRANTED_VARIABLES))["granted"] == [
        {"to": "bob", "of": "alice", "assessed": ["sex"], "not_assessed": ["area"]},
        {"to": "institute", "of": "bob", "assessed": ["illness"], "not_assessed": []},
    ]
    assert granted_columns(spec("", GRANTED_VARIABLES)) == {}


def test_a_column_that_records_are_compared_by_is_named() -> None:
    notes = notes_of(spec("variables: [{to: bob, alice: [surname]}]"))
    assert "SUCH VALUES IDENTIFY PEOPLE" in notes


def test_the_console_shows_it() -> None:
    shown = specification_shown(spec(GRANTS), "")["receives"]
    assert ("Bob", "the links of its own rows; of Alice's linked records sex and income") in shown
    assert (
        "The analyst institute",
        "the links by ids; of Alice's linked records sex; of Bob's linked records illness",
    ) in shown
