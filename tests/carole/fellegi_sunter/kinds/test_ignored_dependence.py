"""A warning where fields are independent by the settings and two of them are strongly dependent in the files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.dependence import linked
from benchmarks.latent_rehearsal import SPEC
from benchmarks.latent_rehearsal import files as insurers
from gemel.carole.engine import Resources, link
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.fellegi_sunter.kinds.diagnosis import CERTAIN, STRONG, Misfit, ignored_dependence
from gemel.common.documents.result_warning import ResultWarning
from research.ignored_dependence import FIELDS, files, ratio

ENOUGH = Resources(2**31, 2)
CODE = "dependence_ignored"


def warned(values: int, follows: float, seed: int, kind: str = "none") -> list[ResultWarning]:
    model, _, _, _ = linked(files(np.random.default_rng(seed), values, follows, 30), kind, FIELDS)
    return [warning for warning in model.warnings if warning.code == CODE]


def of_seeds(now: int, all_of_them: int) -> list[object]:
    """So many, and the others in `make long`."""
    return [seed if seed < now else pytest.param(seed, marks=pytest.mark.long) for seed in range(all_of_them)]


@pytest.mark.parametrize("seed", of_seeds(2, 20))
def test_independent_and_weakly_dependent_fields_bring_no_warning(seed: int):
    assert not warned(2, 0.0, seed)
    assert not warned(2, 0.32, seed)


@pytest.mark.parametrize("seed", of_seeds(1, 5))
def test_a_field_that_follows_from_another_brings_one(seed: int):
    (warning,) = warned(2, 1.0, seed)
    assert warning.severity == "warning"
    assert "both first and second" in warning.text
    assert ratio(2, 1.0) == 2.0
    assert any(f"{times} times" in warning.text for times in ("1.9", "2.0", "2.1"))
    assert not warned(2, 1.0, seed, kind="auto")


def misfit(**changed: object) -> Misfit:
    known: dict[str, object] = {
        "within": "others", "fields": ("name", "sex"), "gain": 2 * CERTAIN, "observed": 0.02, "expected": 0.01,
    }  # fmt: skip
    return Misfit(**{**known, **changed})  # type: ignore[arg-type]


def test_only_certain_and_strong_agreement_of_two_people_counts():
    assert ignored_dependence((misfit(),))
    for weaker in (
        {"gain": CERTAIN / 2}, {"observed": 0.0149}, {"observed": 0.005}, {"expected": 0.0}, {"within": "matches"},
    ):  # fmt: skip
        assert not ignored_dependence((misfit(**weaker),))
    assert ignored_dependence((misfit(observed=STRONG * 0.01),))


def test_the_strongest_is_named_and_the_others_are_counted():
    weaker = misfit(fields=("town", "area"), observed=0.016, gain=90.0)
    (warning,) = ignored_dependence((weaker, misfit(), misfit(within="matches")))
    assert "both name and sex 2.0 times as often" in warning.text
    assert "too many matches are claimed; 1 other pair of fields too." in warning.text


def test_given_name_and_sex_of_the_insurers():
    sets, _ = insurers(0, 300, 0.1)
    plan = replace(plan_of(SPEC), latent=None)
    by_dependence = {}
    for kind in ("none", plan.dependence):
        run = link(*sets, replace(plan, dependence=kind), ENOUGH, lambda stage, done: None)
        document = findings(run, plan, ENOUGH, {}).plain()
        by_dependence[kind] = [warning for warning in document["warnings"] if warning["code"] == CODE]
    assert plan.dependence == "auto"
    assert not by_dependence["auto"]
    (warning,) = by_dependence["none"]
    assert "both given_name and sex" in warning["text"]
