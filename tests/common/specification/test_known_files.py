"""Training records, a known joint distribution and priors in a specification: what they mean, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gemel.common.errors import GemelErrors
from gemel.common.specification import (
    Specification,
    dump_specification,
    encoding_digest,
    load_specification,
    specification_digest,
    specification_notes,
)
from tests.common.specification.example import EXAMPLE
from tests.common.specification.test_variables import VARIABLES

TRAINING = {"by": "alice", "sha256": "0a" * 32, "records": 500}
JOINT = {"by": "bob", "sha256": "0b" * 32, "cells": 12}
PRIORS = {
    "m": [{"field": "surname", "agreement": 0.8, "weight": 30}],
    "u": [{"field": "sex", "agreement": 0.5, "weight": 1000}],
}


def spec_with(variables: list[dict[str, Any]] = VARIABLES, **latent: Any) -> Specification:
    return load_specification(EXAMPLE + yaml.safe_dump({"variables": variables, "latent": latent}))


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
    reported = "\n".join(specification_notes(spec_with(training=TRAINING)))
    assert "Alice sends 500 training records (SHA-256 0a0a0a0a...), the keyed codes of driving and home" in reported
    assert "OTHER PEOPLE" in reported
    reported = "\n".join(specification_notes(spec_with(joint=JOINT)))
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
    with pytest.raises(GemelErrors) as raised:
        spec_with(**latent)
    found = [str(error) for error in raised.value.errors]
    assert any(f", {where}: " in issue and what in issue for issue in found), found
    assert len(found) == 1


def test_a_file_without_a_column_is_refused():
    """Keys that are only compared fields have no categories."""
    for latent in ({"training": TRAINING}, {"joint": JOINT}):
        with pytest.raises(GemelErrors, match="would have no column"):
            spec_with([VARIABLES[2]], keys=["sex"], **latent)


def test_a_variable_may_not_have_the_name_of_the_column_of_counts():
    counted = [VARIABLES[0], {**VARIABLES[1], "name": "Count"}]
    assert spec_with(counted, training=TRAINING).value_variables[1].name == "Count"
    with pytest.raises(GemelErrors, match="rename the variable"):
        spec_with(counted, joint=JOINT)
