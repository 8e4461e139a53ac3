"""The model in a specification: beliefs, the scheme, clusters, known files; what reaches the plan, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gemel.carole.engine.run.specified import plan_of
from gemel.carole.fellegi_sunter.settings import MPrior
from gemel.common.errors import GemelError, GemelErrors
from gemel.common.parties import Side
from gemel.common.specification import (
    Specification,
    encoding_digest,
    load_specification,
    specification_digest,
    specification_notes,
)
from gemel.coordinator.draft.specification_text import dump_specification
from tests.common.specification.example import EXAMPLE, notes_of, read_back, refuse, refuse_at
from tests.common.specification.test_variables import VARIABLES
from tests.specifications import heading


def with_scheme(scheme: str):
    spec = load_specification(EXAMPLE)
    model = spec.model.model_copy(update={"scheme": scheme})
    return load_specification(dump_specification(spec.model_copy(update={"model": model})))


def test_multinomial_is_the_default_and_has_no_note():
    spec = load_specification(EXAMPLE)
    assert spec.model.scheme == "multinomial"
    assert not any("Scheme" in note for note in specification_notes(spec))
    assert plan_of(spec).scheme == "multinomial"
    assert [field.bounds for field in plan_of(spec).fields] == [field.bounds for field in spec.fields]


@pytest.mark.parametrize("scheme", ["exact", "lr_weighted", "log_lr_weighted"])
def test_a_scheme_is_kept_explained_and_needs_no_new_signatures(scheme):
    spec, default = with_scheme(scheme), load_specification(EXAMPLE)
    assert spec.model.scheme == scheme
    assert any(note.startswith(f"Scheme {scheme}") for note in specification_notes(spec))
    assert specification_digest(spec) != specification_digest(default)
    assert encoding_digest(spec) == encoding_digest(default)
    plan = plan_of(spec)
    assert plan.scheme == scheme
    if scheme == "exact":
        assert {len(field.bounds) for field in plan.fields} == {2}


def test_an_unknown_scheme_is_refused_with_the_choices():
    with pytest.raises(GemelErrors, match="multinomial, exact, lr_weighted or log_lr_weighted"):
        with_scheme("binary")


def test_frequencies_and_missing_as_a_level_need_no_new_signatures_and_reach_the_plan():
    default = load_specification(EXAMPLE)
    data = default.model_dump()
    data["fields"][0].update(value_frequencies=True, missing_as="level")
    spec = load_specification(dump_specification(Specification.model_validate(data)))
    assert spec.fields[0].value_frequencies
    assert encoding_digest(spec) == encoding_digest(default)
    assert [field.value_frequencies for field in plan_of(spec).fields][:2] == [True, False]
    assert plan_of(spec).present == (spec.fields[0].name,)
    data["model"]["scheme"] = "lr_weighted"
    with pytest.raises(GemelErrors, match="need weights that are ratios of probabilities"):
        Specification.model_validate(data)


FIELDS = """
fields:
  - {name: given_name, kind: name, describes: name}
  - {name: surname, kind: name}
  - {name: born, kind: date, date: {order: ymd}}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""


def text(model: str = "") -> str:
    return heading("believed", "open") + FIELDS + (f"model: {model}\n" if model else "")


def test_they_reach_the_plan_and_no_signature() -> None:
    given = "{expected_matches: 40, m_prior: [{field: surname, agreement: 0.8, weight: 50}]}"
    plain, believed = load_specification(text()), load_specification(text(given))
    assert load_specification(dump_specification(believed)) == believed
    assert encoding_digest(believed) == encoding_digest(plain)
    plan = plan_of(believed)
    assert (plan.dependence, plan.expected_matches) == ("auto", 40)
    assert plan.m_prior == (("surname", MPrior(0.8, 50.0)),)
    # What a field describes follows from its name where this says so, and otherwise from its kind.
    assert [field.describes for field in plan.fields] == ["name", "family", "birth"]
    assert [field.personal for field in plan.fields] == [True, False, True]
    assert "describes" not in dump_specification(load_specification(text().replace(", describes: name", "")))


@pytest.mark.parametrize(
    ("m_prior", "what"),
    [
        ("[{field: town}]", "not compared"),
        ("[{field: surname}, {field: surname, agreement: 0.5}]", "contradict each other"),
        ("[{field: given_name, agreement: .1}, {field: surname, agreement: .2}, {field: born, agreement: .3}]",
         "nothing identifies a person"),
        ("[{field: surname, agreement: 1.5}]", "less than 1"),
        ("[{field: surname, weight: 0}]", "greater than 0"),
    ],
)  # fmt: skip
def test_beliefs_that_cannot_hold_are_refused(m_prior: str, what: str) -> None:
    refuse(text(f"{{m_prior: {m_prior}}}"), what)


PERSONS = """
fields:
  - {name: surname, kind: name}
  - {name: given, kind: name}
  - {name: born, kind: date, date: {order: ymd}}
  - {name: sex, kind: category}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
CLUSTERS = "links: {assignment: clusters}\n"
CODED = """
variables:
  - {name: region, holder: alice, categories: [n, s], role: key}
  - {name: illness, holder: bob, categories: [none, some], role: sensitive}
"""
RULE = "blocking: [{name: born, keys: [{field: born}]}]\n"


def clustered(extra: str = "", mode: str = "open") -> str:
    return heading("twice", mode) + PERSONS + CLUSTERS + extra


@pytest.mark.parametrize("mode", ["open", "trusted"])
def test_it_is_accepted_and_kept(mode: str) -> None:
    spec = read_back(clustered(mode=mode))
    assert spec.links.assignment == "clusters"


@pytest.mark.parametrize(
    ("extra", "mode", "reason", "remedy"),
    [
        (RULE, "block_keyed", "compares no rows of one file with each other", "gemel duplicates"),
        (CODED + "latent: {}\n", "open", "latent step judges pairs", "drop `latent`"),
        ("release: {alice: draws}\n", "open", "linkages are drawn for given persons", "grant alice links or pairs"),
        ("quality: {check_field: sex}\n", "open", "share its records", "drop `quality`"),
    ],
)
def test_what_supposes_one_link_of_a_record_is_refused(extra: str, mode: str, reason: str, remedy: str) -> None:
    with pytest.raises(GemelError) as caught:
        load_specification(clustered(extra, mode))
    message = str(caught.value)
    assert "links.assignment" in message
    assert reason in message
    assert remedy in message


def test_the_notes_state_what_each_learns() -> None:
    notes = notes_of(clustered())
    assert "each custodian with the grant links learns this of its own rows" in notes
    assert "with the grant pairs" not in notes
    notes = notes_of(clustered("release: {alice: pairs}\n"))
    assert "Alice also learns which of the linked people are in Bob's file more than once" in notes
    assert "Bob also learns" not in notes


TRAINING = {"by": "alice", "sha256": "0a" * 32, "records": 500}
JOINT = {"by": "bob", "sha256": "0b" * 32, "cells": 12}
PRIORS = {
    "m": [{"field": "surname", "agreement": 0.8, "weight": 30}],
    "u": [{"field": "sex", "agreement": 0.5, "weight": 1000}],
}


def text_with(variables: list[dict[str, Any]] = VARIABLES, **latent: Any) -> str:
    return EXAMPLE + yaml.safe_dump({"variables": variables, "latent": latent})


def spec_with(*variables: list[dict[str, Any]], **latent: Any) -> Specification:
    return load_specification(text_with(*variables, **latent))


PLAIN = spec_with(keys=["sex"])


def test_they_are_written_out_and_read_again():
    for latent in ({"training": TRAINING}, {"joint": JOINT}, {"priors": PRIORS}):
        spec = spec_with(keys=["sex"], **latent)
        assert load_specification(dump_specification(spec)) == spec
        assert specification_digest(spec) != specification_digest(PLAIN)
    (only,) = spec_with(keys=["sex"], training=TRAINING).latent.files
    assert (only.by, only.records) == ("alice", 500)


def test_what_is_sent_with_the_signatures_is_part_of_the_encoding_and_beliefs_are_not():
    variants = [
        spec_with(keys=["sex"], **latent)
        for latent in (
            {},
            {"training": TRAINING},
            {"training": {**TRAINING, "sha256": "0c" * 32}},
            {"training": {**TRAINING, "by": "bob"}},
            {"joint": JOINT},
        )
    ]
    assert len({encoding_digest(spec) for spec in variants}) == 5
    assert encoding_digest(spec_with(keys=["sex"], priors=PRIORS)) == encoding_digest(PLAIN)


def test_the_columns_of_a_file_are_the_variables_of_the_value_model():
    """Those of one file, and of both only where they are keys."""
    variables = [*VARIABLES[:2], {"name": "sex", "holder": "both", "categories": ["f", "m"]}, VARIABLES[2]]
    assert [v.name for v in spec_with(variables, training=TRAINING).value_variables] == ["driving", "home"]
    keyed = spec_with(variables, keys=["surname", "sex"], training=TRAINING)
    assert [v.name for v in keyed.value_variables] == ["driving", "home", "sex"]
    without = spec_with(variables, training=TRAINING)
    assert encoding_digest(keyed) != encoding_digest(without)


def test_notes_state_who_sends_what_of_whom():
    reported = notes_of(spec_with(training=TRAINING))
    assert "Alice sends 500 training records (SHA-256 0a0a0a0a...), the keyed codes of driving and home" in reported
    assert "OTHER PEOPLE" in reported
    reported = notes_of(spec_with(joint=JOINT))
    assert "Bob sends a known joint distribution of driving and home (SHA-256 0b0b0b0b...): 12 cells" in reported


@pytest.mark.parametrize(
    ("latent", "where", "what"),
    [
        ({"training": {**TRAINING, "records": 3}}, "latent.training.records", "got 3"),
        ({"training": {**TRAINING, "records": 2_000_000}}, "latent.training.records", "got 2000000"),
        ({"training": {**TRAINING, "sha256": "0A" * 32}}, "latent.training.sha256", ""),
        ({"training": {**TRAINING, "by": "carole"}}, "latent.training.by", "alice or bob"),
        ({"joint": {**JOINT, "cells": 1}}, "latent.joint.cells", "got 1"),
        ({"training": TRAINING, "joint": JOINT}, "latent.training", "not estimated from training records"),
        ({"joint": JOINT, "rounds": 1}, "latent.rounds", "not estimated again"),
        ({"joint": JOINT, "separate": True}, "latent.separate", "joint distribution is known"),
        ({"priors": {}}, "latent.priors", "nothing is believed"),
        ({"priors": {"m": [{"field": "surnam"}]}}, "latent.priors.m[0].field", "did you mean surname?"),
        ({"priors": {"m": [{"field": "sex"}, {"field": "sex"}]}}, "latent.priors.m[1].field", "contradict each other"),
        ({"priors": {"m": [{"field": "sex", "agreement": 1}]}}, "latent.priors.m[0].agreement", "got 1"),
        ({"priors": {"u": [{"field": "sex", "agreement": 0.5}]}}, "latent.priors.u[0].weight", "missing"),
        ({"priors": {"p": {"matches": 1, "non_matches": 99}}}, "latent.priors.p", "set `latent.p` to free"),
        ({"priors": {"p": {"matches": -1, "non_matches": 9}}, "p": "free"}, "latent.priors.p.matches", "got -1"),
    ],
)
def test_what_makes_no_sense_is_refused(latent: dict[str, Any], where: str, what: str):
    assert len(refuse_at(text_with(**latent), where, what)) == 1


def test_a_file_without_a_column_is_refused():
    """Keys that are only compared fields have no categories."""
    for latent in ({"training": TRAINING}, {"joint": JOINT}):
        refuse(text_with([VARIABLES[2]], keys=["sex"], **latent), "would have no column")


def test_a_variable_may_not_have_the_name_of_the_column_of_counts():
    counted = [VARIABLES[0], {**VARIABLES[1], "name": "Count"}]
    assert spec_with(counted, training=TRAINING).value_variables[1].name == "Count"
    refuse(text_with(counted, joint=JOINT), "rename the variable")


def test_each_file_may_have_an_order_of_dates_of_its_own() -> None:
    plain = load_specification(text())
    stated = text().replace("{order: ymd}", "{order: {alice: dmy, bob: mdy}, latest_year: 2026}")
    spec = load_specification(stated)
    assert load_specification(dump_specification(spec)) == spec
    assert encoding_digest(spec) != encoding_digest(plain)
    assert "latest_year" not in dump_specification(plain)
    read = [spec.field("born").read_in(side).date for side in Side]
    assert [date.order for date in read if date is not None] == ["dmy", "mdy"]
    assert plain.field("born").read_in(Side.BOB) is plain.field("born")
    with pytest.raises(GemelErrors, match=r"fields\[2\].date.order.bob: must be ymd, dmy or mdy"):
        load_specification(text().replace("{order: ymd}", "{order: {alice: dmy, bob: dym}}"))
