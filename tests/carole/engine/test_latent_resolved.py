"""The extended latent step of a run against the library, of a resolver against a run, and the joint it reports."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from gemel.carole.engine import LinkagePlan
from gemel.carole.engine.decision.coded_links import GROUP
from gemel.carole.engine.decision.conclusion import conclude
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.inputs.files import values_of
from gemel.carole.engine.latent import refit as refitting
from gemel.carole.engine.latent.refit import NOTHING_KNOWN, KnownRecords
from gemel.carole.engine.latent.step import of_few_links, reported_joint
from gemel.carole.engine.linkage import local
from gemel.carole.engine.pairs import selection
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.resolution.resolution_exchange import Resolved, ResolvedHandles, decide
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest, pack_request, unpack_request
from gemel.carole.engine.resolution.resolution_result import ResolutionResult, pack_result, unpack_result
from gemel.carole.engine.run.result import Linkage
from gemel.carole.evaluation.link_quality import expected_precision_recall, matching_pairs, number_of_matches
from gemel.carole.extended_latent import (
    ArrayPairs,
    Classes,
    ExtendedEM,
    ExtendedFit,
    ExtendedSettings,
    Refitted,
    WeightedPairs,
    fit_extended,
)
from gemel.carole.extended_latent.em import kept as keep
from gemel.carole.fellegi_sunter.kinds.estimation import fit_joint
from gemel.carole.fellegi_sunter.kinds.joint_model import Evidence
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.common.errors import ErrorCode
from gemel.common.specification import ReleaseSpec, Specification
from gemel.coordinator.demonstration.people.insured import insured_specification
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import DIGESTS, ENOUGH, codes_of, links_of
from tests.carole.engine.test_known_records import joint_set, training_set
from tests.carole.engine.test_latent import PLAN, SMALL, Insured, all_pairs, invented
from tests.carole.refusals import refusal


@pytest.fixture(scope="module")
def insured() -> Insured:
    return invented(3)


@pytest.fixture(scope="module")
def plain(insured: Insured) -> Linkage:
    """A run in mode open."""
    return insured.linked(SMALL)


def by_library(insured: Insured, plan: LinkagePlan, found: Candidates, kept: KeptPairs) -> ExtendedFit:
    """The step from the library's functions alone, on pairs held as arrays."""
    before, _ = conclude(found, kept.row_a, kept.row_b, plan, quiet)
    values, _ = values_of(*insured.sets, plan.latent)
    assert values is not None
    bounds = [field.bounds for field in plan.compared]
    pairs = ArrayPairs(kept.row_a, kept.row_b, kept.pattern)

    def refit(factors: object, classes: Classes) -> Refitted:
        every = keep(pairs, factors, np.zeros(found.patterns.n_patterns), -math.inf, lambda done: None)
        links = LinkPosterior("one_to_one", every.row_a, every.row_b, found.n_a, found.n_b, threads=1)
        evidence = Evidence(every.pattern, every.log_factor / math.log(2.0))
        model, joint, posterior = fit_joint(
            before.model, found.patterns, plan.dependence, None, (), found.levels, found.outside_blocks,
            (links, every.pattern), evidence=evidence,
        )  # fmt: skip
        assert posterior is not None
        scheme = replace(before.scheme.scheme.of(model, bounds), joint=joint, n_levels=tuple(map(len, bounds)))
        return Refitted(scheme, ExtendedEM(model, posterior.expected_links), every, posterior)

    settings = ExtendedSettings(precision=plan.latent.precision)
    learn_from = WeightedPairs(before.pairs.row_a, before.pairs.row_b, before.pairs.link_probability)
    return fit_extended(
        values, pairs, found.patterns, before.scheme, bounds, settings, learn_from=learn_from, refit=refit
    )


def test_a_run_estimates_what_the_library_does(insured: Insured, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local, "KEPT_PROBABILITY", 0.0)
    monkeypatch.setattr(refitting, "KEPT_PROBABILITY", 0.0)
    monkeypatch.setattr(selection, "FEW_PAIRS", selection.MAX_PAIRS)
    found, kept = all_pairs(insured, SMALL)
    fit = by_library(insured, SMALL, found, kept)
    linkage = insured.linked(SMALL)
    np.testing.assert_allclose(linkage.model.m, fit.scheme.model.m, atol=1e-6)
    assert linkage.model.p == pytest.approx(fit.scheme.model.p, rel=1e-6)
    for clique, own in zip(linkage.latent.joint.model.cliques, fit.joint.cliques, strict=True):
        np.testing.assert_allclose(clique.values, own.values, atol=1e-6)
    rows = fit.refitted.kept
    links = fit.scheme.informed(LinkPosterior("one_to_one", rows.row_a, rows.row_b, found.n_a, found.n_b, threads=1))
    weight = fit.scheme.match_weights(found.patterns.gamma)[rows.pattern] + rows.log_factor / math.log(2.0)
    own = links.probabilities(weight).probability
    at = {pair: i for i, pair in enumerate(zip(linkage.pairs.row_a, linkage.pairs.row_b, strict=True))}
    place = [at[pair] for pair in zip(rows.row_a, rows.row_b, strict=True)]
    np.testing.assert_allclose(linkage.pairs.link_probability[place], own, atol=1e-6)


def handles_of(insured: Insured, kept: KeptPairs, chosen: np.ndarray) -> list[ResolvedHandles]:
    """Handles for the rows of some pairs, and codes of their records only."""
    handles = []
    for part, rows in zip(insured.sets, (kept.row_a[chosen], kept.row_b[chosen]), strict=True):
        records, place = np.unique(rows, return_inverse=True)
        codes = {name: replace(variable, codes=variable.codes[records]) for name, variable in part.variables.items()}
        handles.append(ResolvedHandles(place.astype(np.int32), len(records), values=codes))
    return handles


def resolved(
    insured: Insured, plan: LinkagePlan, known: KnownRecords = NOTHING_KNOWN
) -> tuple[Linkage, tuple[np.ndarray, np.ndarray]]:
    """As a resolver makes it from the same comparison, and the rows of its pairs."""
    found, kept = all_pairs(insured, plan)
    order = np.lexsort((kept.row_b, kept.row_a))
    request = unpack_request(pack_request(ResolutionRequest(found, DIGESTS, 1, known), order), plan)
    decided = decide(request, *handles_of(insured, kept, order), plan, quiet, "run")
    place = order[decided.order]
    assert sorted(place.tolist()) == list(range(len(kept.pattern)))
    return decided.linkage, (kept.row_a[place], kept.row_b[place])


def same_links(linkage: Linkage, rows: tuple[np.ndarray, np.ndarray], whole: Linkage) -> bool:
    return set(zip(*(of_side[linkage.links].tolist() for of_side in rows), strict=True)) == links_of(whole)


@pytest.mark.parametrize(
    ("seed", "plan"), [(3, SMALL), pytest.param(4, PLAN, marks=pytest.mark.long)], ids=["few", "all"]
)
def test_a_resolver_links_as_a_run_in_mode_open_does(seed: int, plan: LinkagePlan, monkeypatch: pytest.MonkeyPatch):
    insured = invented(seed)
    whole = insured.linked(plan)
    monkeypatch.setattr(local, "KEPT_PROBABILITY", local.KEPT_WITH_VALUES)
    linkage, rows = resolved(insured, plan)
    assert same_links(linkage, rows, whole)
    areas = []
    matches = number_of_matches(*insured.persons)
    for probability, pairs in (
        (linkage.pairs.link_probability, rows),
        (whole.pairs.link_probability, (whole.pairs.row_a, whole.pairs.row_b)),
    ):
        truth = matching_pairs(*insured.persons, *pairs)
        unscored = insured.sets[0].n_rows * insured.sets[1].n_rows - len(probability)
        areas.append(expected_precision_recall(probability, truth, matches, unscored).auc)
    assert areas[0] == pytest.approx(areas[1], abs=0.002)


@pytest.mark.parametrize("file", [pytest.param("training", marks=pytest.mark.long), "joint"])
def test_a_resolver_has_what_custodians_brought(
    insured: Insured, plain: Linkage, monkeypatch: pytest.MonkeyPatch, file: str
):
    """Training records, or the joint distribution itself: the same step as in mode open."""
    names = [variable.name for variable in SMALL.latent.variables]
    part = training_set(2_000) if file == "training" else joint_set(names)
    brought = KnownRecords.of([part], SMALL.latent)
    whole = insured.linked(SMALL, known=brought)
    monkeypatch.setattr(local, "KEPT_PROBABILITY", local.KEPT_WITH_VALUES)
    linkage, rows = resolved(insured, SMALL, brought)
    assert same_links(linkage, rows, whole)
    np.testing.assert_allclose(linkage.latent.joint.table(names), whole.latent.joint.table(names), atol=1e-6)
    assert np.abs(plain.latent.joint.table(names) - whole.latent.joint.table(names)).max() > 2e-3


def test_a_joint_distribution_comes_back_from_a_resolver_or_is_refused(plain: Linkage):
    document, joint = findings(plain, SMALL, ENOUGH, {}), plain.latent.joint
    content = pack_result(ResolutionResult(document, {}, joint=joint))
    variables = SMALL.latent.variables
    assert unpack_result(content, (), None, variables).joint.to_json() == joint.to_json()
    # Where none is released or assessed it is more than was requested.
    for others in (None, variables[1:], (replace(variables[0], categories=9), *variables[1:])):
        with refusal(ErrorCode.UPLOAD_CORRUPT):
            unpack_result(content, (), None, others)
    broken = pack_result(ResolutionResult(document, {}, joint=replace(joint, records=-1.0)))
    with refusal(ErrorCode.UPLOAD_CORRUPT, "an invalid joint distribution"):
        unpack_result(broken, (), None, variables)


PLAIN = insured_specification("insurers", mode="block_keyed")
GRANTED = Specification.model_validate(PLAIN.model_copy(update={"release": ReleaseSpec(joint="bob")}).model_dump())


class Comparison:
    """A comparison, of which any of the pairs may be requested."""

    def __init__(self, seed: int) -> None:
        self.insured = invented(seed)
        self.found, self.kept = all_pairs(self.insured, PLAN)
        self.whole = self.decided(np.arange(len(self.kept.pattern)))
        self.links = self.whole.order[self.whole.linkage.links]

    def decided(self, chosen: NDArray[np.int64]) -> Resolved:
        """The resolver's decision on some of the pairs, with the codes of their records."""
        handles = handles_of(self.insured, self.kept, chosen)
        found = replace(self.found, pattern=self.found.pattern[chosen])
        return decide(ResolutionRequest(found, DIGESTS, 1), *handles, PLAN, quiet, "run")

    def codes_of(self, pair: int) -> dict[str, int]:
        """The codes of both records of a pair, where they have any; of a key that differs neither."""
        held: dict[str, set[int]] = {}
        for part, row in zip(self.insured.sets, (self.kept.row_a[pair], self.kept.row_b[pair]), strict=True):
            for name, variable in part.variables.items():
                held.setdefault(name, set()).add(int(variable.codes[row]))
        return {name: min(codes) for name, codes in held.items() if len(codes) == 1 and min(codes) >= 0}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return Comparison(3)


def test_of_many_links_it_is_reported_where_it_is_released_or_assessed(comparison: Comparison) -> None:
    linkage = comparison.whole.linkage
    assert len(linkage.links) > GROUP
    assert reported_joint(linkage, GRANTED) is linkage.latent.joint is not None
    assert reported_joint(linkage, PLAIN) is None
    assert reported_joint(replace(linkage, latent=None), GRANTED) is None
    assert "joint_withheld" not in codes_of(linkage)


@pytest.mark.parametrize("place", range(5))
def test_of_one_pair_it_shows_every_code_and_is_withheld(comparison: Comparison, place: int) -> None:
    pair = int(comparison.links[place])
    resolved = comparison.decided(np.array([pair]))
    joint, codes = resolved.linkage.latent.joint, comparison.codes_of(pair)
    read = {name: int(joint.table([name]).argmax()) for name in codes}
    assert read == codes
    assert len(codes) > 5
    assert reported_joint(resolved.linkage, GRANTED) is None
    withheld = [warning for warning in resolved.document.warnings if warning.code == "joint_withheld"]
    assert len(withheld) == 1


@pytest.mark.parametrize(("number", "few"), [(GROUP - 1, True), (GROUP, False)])
def test_links_of_twenty_records_are_many(comparison: Comparison, number: int, few: bool) -> None:
    links = comparison.whole.linkage.links[:number]
    assert of_few_links(replace(comparison.whole.linkage, links=links)) is few


def test_links_of_one_record_count_once(comparison: Comparison) -> None:
    """Where a record may have several links."""
    linkage = comparison.whole.linkage
    one = replace(linkage.pairs, row_a=np.zeros_like(linkage.pairs.row_a))
    assert of_few_links(replace(linkage, pairs=one))
