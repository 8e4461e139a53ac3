"""Recodings: marginals of models against full tables, fast merges against recodings, search against all."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.matching.bayesian_matching import bayesian_matching, fit_models
from gemel.risk.identification.matching.recoding import (
    KnownProbabilities,
    Recoding,
    merges,
    ordered_variables,
    probabilities,
    recoded,
)
from gemel.risk.identification.matching.recoding_search import MEASURES, minimal_recoding
from gemel.risk.identification.matching.risk_reduction import category_risks, variable_risks
from tests.risk.identification.small_files import sampled_file

FILE = sampled_file(250, 4_000, 5)
MATCHING = bayesian_matching(FILE, fit_models(FILE))
NONE = Recoding.none(FILE)


@st.composite
def recodings(draw):
    found = NONE
    for _ in range(draw(st.integers(0, 6))):
        q = draw(st.integers(0, FILE.n_keys - 1))
        if found.sizes[q] > 1:
            pair = draw(st.lists(st.integers(0, found.sizes[q] - 1), min_size=2, max_size=2, unique=True))
            found = found.merged(q, *pair)
    return found


@given(recodings())
def test_recoded_models_are_marginals_of_the_full_joint_distribution(recoding):
    found = recoded(MATCHING, recoding)
    for k, model in enumerate(MATCHING.models.average.models):
        joint = model.marginal(FILE.names)
        for q, own in enumerate(recoding.groups):
            groups = np.array(own)
            parts = [joint.take(np.flatnonzero(groups == g), axis=q).sum(axis=q) for g in range(groups.max() + 1)]
            joint = np.stack(parts, axis=q)
        np.testing.assert_allclose(found.probabilities[k], joint[tuple(found.cells.T)], rtol=1e-9)
    assert found.counts.sum() == FILE.n_records
    np.testing.assert_array_equal(found.cells[found.of_cell], recoding.applied(FILE.cells))


@settings(max_examples=15)
@given(recodings(), st.booleans())
def test_merges_are_recodings(recoding, ordered):
    now = recoded(MATCHING, recoding)
    for merge in merges(MATCHING, now, [ordered] * FILE.n_keys):
        slow = recoded(MATCHING, recoding.merged(merge.variable, merge.first, merge.second)).measures
        assert merge.measures.uniques == slow.uniques
        for name in ("expected_matches", "cm", "cm_given_um", "cm_given_su", "greatest", "pu_given_su"):
            assert getattr(merge.measures, name) == pytest.approx(getattr(slow, name), rel=1e-9, abs=1e-12)


@given(recodings())
def test_coarser_is_never_riskier_for_anyone(recoding):
    found = recoded(MATCHING, recoding)
    assert (found.correct_match[found.of_cell] <= MATCHING.correct_match + 1e-12).all()
    before, after = MATCHING.measures, found.measures
    assert after.expected_matches <= before.expected_matches + 1e-9
    assert after.cm <= before.cm + 1e-12
    assert (recoding.loss(FILE) >= 0).all()


def test_leaving_everything_out_leaves_one_combination():
    everything = Recoding(tuple((0,) * n for n in FILE.levels))
    found = recoded(MATCHING, everything)
    np.testing.assert_allclose(found.probabilities, 1.0)
    assert found.measures.uniques == 0
    assert found.measures.cm == pytest.approx(1 / FILE.population_total, rel=1e-2)
    assert everything.described(FILE) == [f"leave out {name}" for name in FILE.names]


def test_variables_by_relative_risk():
    found = variable_risks(MATCHING)
    for q, name in enumerate(FILE.names):
        after = recoded(MATCHING, NONE.without(q)).measures
        assert found[name].after == after
        assert found[name].relative_risk == pytest.approx(MATCHING.measures.cm_given_um / after.cm_given_um)
        assert 0 <= found[name].avoided <= 1
    # The same file without the variable, modelled again, gives much the same (the thesis expects no more).
    reduced = FILE.only([n for n in FILE.names if n != "rooms"])
    redrawn = bayesian_matching(reduced, fit_models(reduced)).measures
    assert found["rooms"].after.uniques == redrawn.uniques
    assert found["rooms"].after.expected_matches == pytest.approx(redrawn.expected_matches, rel=0.1)


def test_categories_by_suppression_and_by_merging():
    found = category_risks(MATCHING)
    assert len(found) == sum(FILE.levels)
    q = FILE.names.index("tenure")
    k = FILE.labels[q].index("other")
    own = (FILE.counts == 1) & (FILE.cells[:, q] == k)
    category = found["tenure", "other"]
    assert category.suppressed is not None
    assert category.suppressed.after.uniques == MATCHING.measures.uniques - own.sum()
    assert category.suppressed.avoided == pytest.approx(
        MATCHING.correct_match[own].sum() / MATCHING.measures.expected_matches
    )
    # tenure has no order: merged with each of the two others; rooms has one: its ends have one neighbour.
    after = [recoded(MATCHING, NONE.merged(q, k, other)).measures for other in range(3) if other != k]
    assert category.merged_relative_risk == pytest.approx(
        np.mean([MATCHING.measures.cm_given_um / m.cm_given_um for m in after])
    )
    assert ordered_variables(FILE.labels) == (True, True, False, False)


def brute_force(matching, selected, measure, ordered):
    """Every recoding of a tiny file."""
    file = matching.file

    def partitions(n, is_ordered):
        if is_ordered:
            return [tuple(np.cumsum([0, *cuts]).tolist()) for cuts in product((0, 1), repeat=n - 1)]
        found = [(0,)]
        for _ in range(n - 1):
            found = [(*own, g) for own in found for g in range(max(own) + 2)]
        return found

    best = np.inf
    for groups in product(*(partitions(n, o) for n, o in zip(file.levels, ordered, strict=True))):
        recoding = Recoding(groups)
        measures = recoded(matching, recoding).measures
        risk = measures.expected_matches / file.n_records if measure == "matches" else getattr(measures, measure)
        if risk <= selected:
            best = min(best, recoding.loss(file).sum())
    return best


@pytest.mark.parametrize("measure", MEASURES)
def test_the_exact_search_finds_the_least_of_all_recodings(measure):
    rng = np.random.default_rng(8)
    columns = {
        "age": np.minimum(rng.poisson(1.2, 60), 3),
        "group": np.array(list("abc"))[np.minimum(rng.poisson(0.4, 60), 2)],
        "sex": rng.integers(0, 2, 60),
    }
    file = KeyFile.from_columns(columns, 0.05)
    matching = bayesian_matching(file, fit_models(file))
    ordered = (True, False, False)
    risk = matching.measures.expected_matches / 60 if measure == "matches" else getattr(matching.measures, measure)
    for share in (0.7, 0.3):
        found = minimal_recoding(matching, share * risk, measure, ordered=ordered)
        assert found.exact
        assert found.reached
        assert found.risk <= share * risk
        assert sum(found.loss) == pytest.approx(brute_force(matching, share * risk, measure, ordered))
        greedy = minimal_recoding(matching, share * risk, measure, ordered=ordered, exact_to=0)
        assert greedy.reached
        assert sum(greedy.loss) >= sum(found.loss) - 1e-12


def test_the_greedy_search_reaches_the_risk_and_goes_to_the_end_where_it_cannot():
    before = MATCHING.measures.expected_matches / FILE.n_records
    found = minimal_recoding(MATCHING, before / 10, exact_to=0)
    assert found.reached
    assert not found.exact
    assert found.risk <= before / 10
    impossible = minimal_recoding(MATCHING, 0.0, "cm", exact_to=0)
    assert not impossible.reached
    assert max(impossible.recoding.sizes) == 1


def test_what_cannot_be_is_refused():
    with pytest.raises(GemelError, match="measure"):
        minimal_recoding(MATCHING, 0.1, "beauty")
    with pytest.raises(GemelError, match="risk lies"):
        minimal_recoding(MATCHING, 1.5)
    with pytest.raises(GemelError, match="every level"):
        recoded(MATCHING, Recoding(((0, 1),)))


@settings(max_examples=20)
@given(st.lists(recodings(), min_size=2, max_size=4))
def test_what_was_looked_up_before_is_what_would_be_looked_up(several):
    known = KnownProbabilities(MATCHING)
    for recoding in several:
        cells = np.unique(recoding.applied(FILE.cells), axis=0)
        np.testing.assert_array_equal(known.of(recoding, cells), known.of(recoding, cells))
        np.testing.assert_allclose(
            known.of(recoding, cells), probabilities(MATCHING, recoding, cells), rtol=1e-9, atol=1e-300
        )
