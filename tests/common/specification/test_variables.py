"""Category variables in a specification: their content, what is refused, and the notes on them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gemel.common.errors import GemelErrors
from gemel.common.parties import Side
from gemel.common.specification import (
    Specification,
    dump_specification,
    encoding_digest,
    load_specification,
    specification_digest,
    specification_notes,
)
from gemel.common.specification.model.section import folded_label
from gemel.common.specification.model.variables import VariableSpec
from tests.common.specification.example import EXAMPLE

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
    changed = [{**VARIABLES[0], **change}, *VARIABLES[1:]]
    with pytest.raises(GemelErrors) as raised:
        load_specification(text(changed))
    found = [str(error) for error in raised.value.errors]
    assert any(f", {where}: " in issue and what in issue for issue in found), found


def test_all_issues_are_reported_at_once():
    changed = [{**VARIABLES[0], "role": "x"}, {**VARIABLES[1], "categories": ["a", "a"]}, VARIABLES[2]]
    with pytest.raises(GemelErrors) as raised:
        load_specification(text(changed).replace("febrl4", "Not A Name"))
    assert len(raised.value.errors) == 3


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
    reported = "\n".join(specification_notes(SPEC))
    assert "driving (2 categories, alice's file), home (3 categories, bob's file) and age" in reported
    assert "Carole never sees a label" in reported
    assert "one row of alice hold for the whole file: together they may take 4 combinations" in reported
    assert "one row of bob hold for the whole file: together they may take 6 combinations" in reported
    assert "sent as a signature and as a code" not in reported
    assert "sent as a signature and as a code" in "\n".join(specification_notes(spec_with({"column": "sex"}, {}, {})))
    assert "codes" not in "\n".join(specification_notes(load_specification(EXAMPLE)))


LATENT = {"keys": ["surname", "sex"], "p": "free", "rounds": 2}


def latent(section: object, variables: object = VARIABLES) -> str:
    return text(variables) + yaml.safe_dump({"latent": section})


def test_the_latent_step_is_absent_unless_requested():
    assert SPEC.latent is None
    spec = load_specification(latent(LATENT))
    assert spec.latent is not None
    assert (spec.latent.keys, spec.latent.search, spec.latent.p) == (("surname", "sex"), "greedy", "free")
    assert encoding_digest(spec) == encoding_digest(SPEC)
    assert specification_digest(spec) != specification_digest(SPEC)
    assert load_specification(dump_specification(spec)) == spec
    assert load_specification(latent({})).latent is not None
    assert load_specification(latent({"keys": ["sex"]}, [])).latent is not None
    reported = "\n".join(specification_notes(spec))
    assert "joint distribution of the codes of all variables and of the agreed values of surname and sex" in reported
    assert "can diverge" in reported
    assert "may over-fit" in reported


@pytest.mark.parametrize(
    ("section", "variables", "where", "what"),
    [
        ({}, [], "latent", "no values to use of a pair"),
        ({}, VARIABLES[2:], "latent", "no values to use of a pair"),
        (
            {},
            VARIABLES[:1],
            "latent",
            "one file alone are no evidence on a pair, got variables of alice and no keys",
        ),
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
    with pytest.raises(GemelErrors) as raised:
        load_specification(latent(section, variables))
    found = [str(error) for error in raised.value.errors]
    assert any(f", {where}: " in issue and what in issue for issue in found), found
    assert len(found) == 1


def test_recipients_of_the_joint_distribution_are_specified_and_noted():
    spec = load_specification(latent(LATENT))
    assert not any(spec.release.joint_to(side) for side in Side)
    granted = Specification.model_validate({**spec.model_dump(), "release": {"joint": "alice"}})
    assert [granted.release.joint_to(side) for side in Side] == [True, False]
    assert encoding_digest(granted) == encoding_digest(spec)
    assert "Alice receives the joint distribution" in "\n".join(specification_notes(granted))
    assert "receives the joint" not in "\n".join(specification_notes(spec))
    with pytest.raises(GemelErrors, match="without a latent step"):
        Specification.model_validate({**SPEC.model_dump(), "release": {"joint": "both"}})
    with pytest.raises(GemelErrors, match="bob receives nothing"):
        Specification.model_validate({**spec.model_dump(), "release": {"joint": "both", "bob": "nothing"}})


def test_a_variable_with_an_issue_causes_none_of_the_latent_step():
    with pytest.raises(GemelErrors) as raised:
        load_specification(latent({}, [VARIABLES[0], {**VARIABLES[1], "holder": "bib"}]))
    assert len(raised.value.errors) == 1
