"""The extended latent step in a run: better links where names are poor, a joint distribution in codes, bad input."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from gemel.carole.engine import LinkagePlan
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.inputs.files import WholeFiles, values_of
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.run.plan import LatentPlan
from gemel.carole.engine.run.result import Linkage
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.evaluation.link_quality import calibration, matching_pairs, number_of_matches, quality
from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import ErrorCode
from gemel.common.parties import Side
from gemel.common.signatures.signature_sets import SignatureSet, VariableCodes
from gemel.coordinator.demonstration.people import two_files
from gemel.coordinator.demonstration.people.insured import ALICES, BOBS, KEY, insured_specification, with_traits
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.records import encode_records
from gemel.risk.models.joint_distribution import JointDistribution
from tests.carole.engine.runs import SEED, compared, run
from tests.carole.refusals import refusal

SPEC = insured_specification("drivers")
PLAN = plan_of(SPEC)
assert PLAN.latent is not None
FEW = [variable for variable in PLAN.latent.variables if variable.name in ("SocioEcon", "Age", "HomeBase", KEY)]
SMALL = replace(PLAN, latent=replace(PLAN.latent, variables=tuple(FEW)))
"""Fewer variables, where it does not matter which."""


class Insured:
    """Two files of invented drivers, as their custodians send them, with the truth."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        frames = with_traits(*two_files(400, 500, 250, 0.3, rng, sampled=0.1), rng)
        self.sets: list[SignatureSet] = []
        self.persons: list[np.ndarray] = []
        for side, frame in zip(Side, frames, strict=True):
            cleaned = clean(frame, SPEC, side)
            made = encode_records(cleaned.columns, SPEC, SEED, 1, variables=cleaned.variables)
            self.sets.append(made.sets[0])
            self.persons.append(frame["person_id"].str.slice(1).cast(int).to_numpy()[made.order])

    def linked(self, plan: LinkagePlan, **more: Any) -> Linkage:
        return run(*self.sets, plan, **more)

    def with_variables(self, **codes: VariableCodes) -> tuple[SignatureSet, SignatureSet]:
        """The sets, with other codes of some variables in Alice's."""
        a, b = self.sets
        return replace(a, variables={**a.variables, **codes}), b

    def quality(self, linkage: Linkage):
        found = matching_pairs(*self.persons, linkage.pairs.row_a, linkage.pairs.row_b)
        return quality(found[linkage.links], number_of_matches(*self.persons))

    def largest_gap(self, linkage: Linkage) -> float:
        found = matching_pairs(*self.persons, linkage.pairs.row_a, linkage.pairs.row_b)
        return calibration(linkage.pairs.link_probability, found).largest_gap


def all_pairs(insured: Insured, plan: LinkagePlan) -> tuple[Candidates, KeptPairs]:
    """All pairs, each of them kept."""
    return compared(WholeFiles(*insured.sets), plan)[:2]


invented = cache(Insured)
"""Files by their seed, made once."""


@pytest.fixture(scope="module")
def insured() -> Insured:
    return invented(0)


@pytest.fixture(scope="module")
def linkage(insured: Insured) -> Linkage:
    return insured.linked(PLAN)


@pytest.fixture(scope="module")
def plain(insured: Insured) -> Linkage:
    return insured.linked(replace(PLAN, latent=None))


def test_values_find_matches_that_names_alone_do_not(insured: Insured, linkage: Linkage, plain: Linkage):
    """One of many seeds; `python -m benchmarks latent_rehearsal` prints the average.

    Given name, month of birth and sex are about 13 bits, where 10.6 are needed to find a person's match by.
    """
    assert insured.quality(linkage).f1 > insured.quality(plain).f1 + 0.02
    assert linkage.latent.links_before == len(plain.links)
    assert linkage.latent.claims_before == plain.claims != linkage.claims is not None


def test_values_claim_no_more_than_agreement_alone(insured: Insured, linkage: Linkage, plain: Linkage):
    gap, alone = (insured.largest_gap(found) for found in (linkage, plain))
    assert abs(gap) < abs(alone) + 0.05
    assert abs(gap) < 0.1


def test_weights_are_of_agreement_and_of_values(linkage: Linkage, plain: Linkage):
    pairs = linkage.pairs
    assert plain.pairs.value_bits is None
    np.testing.assert_allclose(pairs.weight, linkage.patterns.weight[pairs.pattern] + pairs.value_bits)
    odds = pairs.weight + np.log2(linkage.model.p) - np.log2(1 - linkage.model.p)
    np.testing.assert_allclose(pairs.match_probability, 1 / (1 + np.exp2(-odds)), rtol=1e-9)
    assert (np.diff(pairs.weight) <= 1e-12).all()
    assert (np.diff(linkage.latent.bits) >= 0).all()


def test_groups_of_pairs_are_explained_and_no_single_pair(linkage: Linkage):
    groups = linkage.latent.explained
    assert [group.what for group in groups][:2] == ["all links", "links that agreement alone would not have made"]
    assert all(group.pairs >= 5 for group in groups)
    made = groups[1]
    by_kind = {part.kind: sum(other.bits for other in made.parts if other.kind == part.kind) for part in made.parts}
    assert by_kind["association"] > 1
    assert {part.name for part in made.parts if part.kind == "association"} <= set(BOBS)


def test_an_explanation_adds_up_to_the_weight(insured: Insured, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gemel.carole.engine.latent.report.MAX_EXPLAINED", 10_000)
    linkage = insured.linked(SMALL)
    mean = linkage.pairs.weight[linkage.links].mean() + np.log2(linkage.model.p / (1 - linkage.model.p))
    assert sum(part.bits for part in linkage.latent.explained[0].parts) == pytest.approx(mean, abs=1e-9)


def test_the_joint_distribution_is_in_codes_and_survives_json(linkage: Linkage):
    joint = linkage.latent.joint
    assert set(joint.names) == {*ALICES, *BOBS, KEY}
    assert set(joint.held_by("alice")) == set(ALICES)
    assert all(variable.coded and variable.labels is None for variable in joint.variables)
    back = JointDistribution.from_json(joint.to_json())
    assert back.variables == joint.variables
    np.testing.assert_array_equal(back.table(["Age", "SocioEcon"]), joint.table(["Age", "SocioEcon"]))
    assert 150 < joint.records < 350
    # Age decides about senior training: only the old have it, which neither file shows by itself.
    together = joint.table(["Age", "SeniorTrain"])
    independent = np.outer(together.sum(axis=1), together.sum(axis=0))
    assert np.abs(together - independent).sum() > 0.1


def test_a_key_compared_by_signatures_has_their_values(insured: Insured):
    found, warnings = values_of(*insured.sets, LatentPlan(PLAN.latent.variables, ("sex", KEY)))
    assert not warnings
    sex = found.variables[0]
    assert (sex.name, sex.holder, sex.levels) == ("sex", "both", 2)
    a, b = (part.fields["sex"] for part in insured.sets)
    rows = np.flatnonzero(a.codes >= 0)[:20]
    others = np.flatnonzero(b.codes >= 0)[:20]
    for row, other in zip(rows, others, strict=True):
        equal = bool((a.signatures[a.codes[row]] == b.signatures[b.codes[other]]).all())
        assert (found.codes_a[row, 0] == found.codes_b[other, 0]) == equal


def emptied(insured: Insured, *names: str) -> tuple[SignatureSet, SignatureSet]:
    """Without values of some variables of Alice's."""
    a = insured.sets[0]
    nothing = np.full(a.n_rows, -1, dtype=np.int16)
    return insured.with_variables(**{name: replace(a.variables[name], codes=nothing) for name in names})


@pytest.mark.parametrize(
    ("name", "reason"),
    [("SocioEcon", "no record has a category of it"), (KEY, "a file has no values of it, or it has only one")],
)
def test_a_variable_without_values_is_left_out_and_reported(insured: Insured, name: str, reason: str):
    found, warnings = values_of(*emptied(insured, name), PLAN.latent)
    assert name not in [variable.name for variable in found.variables]
    assert [warning.text for warning in warnings] == [f"{name} is left out of the value model: {reason}."]


def test_without_any_values_the_links_are_those_of_fellegi_sunter(insured: Insured, plain: Linkage):
    nothing = run(*emptied(insured, *ALICES, KEY), PLAN)
    assert nothing.latent is None
    assert result_warning("latent_step_left_out") in nothing.warnings
    np.testing.assert_array_equal(nothing.pairs.weight, plain.pairs.weight)


def test_a_category_that_one_side_never_has_does_no_harm(insured: Insured):
    """Alice's key is recorded as one category throughout; Bob's others agree with none of hers."""
    one = VariableCodes(3, np.where(insured.sets[0].variables[KEY].codes >= 0, 1, -1).astype(np.int16))
    linkage = run(*insured.with_variables(**{KEY: one}), SMALL)
    assert np.isfinite(linkage.pairs.weight).all()
    assert linkage.latent is not None


def test_sets_must_carry_what_the_plan_names(insured: Insured):
    a, b = insured.sets
    other = {**b.variables, "Age": VariableCodes(4, b.variables["Age"].codes)}
    for sets, message in (
        ((replace(a, variables={}), b), "alice, variable SeniorTrain: codes of 2 categories expected, got none"),
        ((a, replace(b, variables=other)), "codes of 3 categories expected"),
    ):
        with refusal(ErrorCode.ENCODING_MISMATCH, message):
            run(*sets, PLAN)


@pytest.mark.parametrize("assignment", ["greedy", "many_to_one"])
def test_every_decision_uses_the_values(insured: Insured, assignment: str):
    linkage = insured.linked(replace(SMALL, assignment=assignment))
    assert insured.quality(linkage).f1 > 0.6
