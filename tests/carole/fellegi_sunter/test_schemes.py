"""Schemes: the weighted ones by their definition, the exact one as the binary model, and all through a run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.fellegi_sunter.em import fit
from gemel.carole.fellegi_sunter.model import MISSING, PatternCounts, match_weights
from gemel.carole.fellegi_sunter.schemes import (
    agreement_counts,
    fit_scheme,
    folded_counts,
    log_ratio_shaded,
    ratio_shaded,
    similarities,
    unshaded,
)
from gemel.carole.fellegi_sunter.settings import Estimation, FieldLevels
from gemel.common.errors import ErrorCode, GemelError
from tests.carole.fellegi_sunter.populations import exact_population

NAMES = ["surname", "born", "sex", "town"]
BOUNDS = [(0.2, 0.6, 0.999, 1.0), (0.5, 0.999, 1.0), (0.999, 1.0), (0.999, 1.0)]
M = [[0.02, 0.03, 0.15, 0.8], [0.1, 0.1, 0.8], [0.05, 0.95], [0.2, 0.8]]
U = [[0.8, 0.17, 0.02, 0.01], [0.9, 0.08, 0.02], [0.5, 0.5], [0.9, 0.1]]
PLAIN = Estimation(prior=0, one_to_one=False)


@pytest.fixture(scope="module")
def population():
    return exact_population(M, U, 0.01, 100_000, 100_000, missing=[0.1, 0.0, 0.2, 0.0])


def fitted(scheme, population, settings=PLAIN):
    return fit_scheme(scheme, population[0], NAMES, BOUNDS, 100_000, 100_000, settings)


def test_the_multinomial_scheme_is_the_model_itself(population):
    scheme = fitted("multinomial", population)
    gamma = population[0].gamma
    assert scheme.match_weights(gamma) == pytest.approx(match_weights(gamma, scheme.model.m, scheme.model.u))
    assert scheme.match_probabilities(gamma) == pytest.approx(scheme.model.match_probabilities(gamma))
    assert scheme.scheme.vectors(gamma, [4, 3, 2, 2]) is gamma
    assert scheme.warnings == ()


@pytest.mark.parametrize("scheme", ["exact", "lr_weighted", "log_lr_weighted"])
def test_the_others_estimate_from_agreement_alone(scheme, population):
    """The parameters are those of the levels below the top taken together."""
    model = fitted(scheme, population).model
    assert model.m[:, 1] == pytest.approx([row[-1] for row in M], abs=1e-5)
    assert model.u[:, 1] == pytest.approx([row[-1] for row in U], abs=1e-5)
    assert model.p == pytest.approx(0.01, rel=1e-4)


@pytest.mark.parametrize("scheme", ["exact", "lr_weighted", "log_lr_weighted"])
def test_a_pair_is_scored_by_the_definition(scheme, population):
    found = fitted(scheme, population)
    gamma = population[0].gamma
    weights = found.match_weights(gamma)
    for i in np.random.default_rng(1).choice(len(gamma), 60, replace=False):
        total = 0.0
        for q, k in enumerate(gamma[i]):
            if k == MISSING:
                continue
            m, u = found.model.m[q, 1], found.model.u[q, 1]
            a, d = m / u, (1 - m) / (1 - u)
            top = len(BOUNDS[q]) - 1
            lower = BOUNDS[q][k - 1] if k else 0.0
            s = 1.0 if k == top else (lower + BOUNDS[q][k]) / 2
            if k == 0:
                s = min(s, 0.1) if top > 1 else 0.0
            if scheme == "lr_weighted":
                total += np.log2(s * a + (1 - s) * d)
            elif scheme == "log_lr_weighted":
                total += s * np.log2(a) + (1 - s) * np.log2(d)
            else:
                total += np.log2(a if k == top else d)
        assert weights[i] == pytest.approx(total, abs=1e-9)


def test_the_exact_scheme_is_the_binary_model(population):
    binary = agreement_counts(population[0], [4, 3, 2, 2])
    model = fit(binary, [FieldLevels(name, 2) for name in NAMES], 100_000, 100_000, PLAIN)
    found = fitted("exact", population)
    assert found.model.m == pytest.approx(model.m)
    assert found.match_weights(population[0].gamma) == pytest.approx(
        match_weights(found.scheme.vectors(population[0].gamma, [4, 3, 2, 2]), model.m, model.u)
    )


@given(a=st.floats(0.1, 20), d=st.floats(-20, -0.1), s=st.lists(st.floats(0, 1), min_size=2, max_size=9).map(sorted))
def test_a_weight_rises_with_similarity_between_disagreement_and_agreement(a, d, s):
    similarity = np.array([0.0, *s, 1.0])
    for shaded in (ratio_shaded, log_ratio_shaded):
        weights = shaded(a, d, similarity)
        assert weights[0] == pytest.approx(d)
        assert weights[-1] == pytest.approx(a)
        assert (np.diff(weights) >= -1e-9).all()
    # By the inequality of the means, the ratio's mean is never below that of its logarithm.
    assert (ratio_shaded(a, d, similarity) >= log_ratio_shaded(a, d, similarity) - 1e-9).all()


def test_an_infinite_ratio_counts_only_where_it_is_met():
    s = np.array([0.0, 0.5, 1.0])
    assert log_ratio_shaded(np.inf, -2.0, s).tolist() == [-2.0, np.inf, np.inf]
    assert ratio_shaded(3.0, -np.inf, s).tolist() == [-np.inf, 2.0, 3.0]
    assert unshaded(3.0, -np.inf, s).tolist() == [-np.inf, -np.inf, 3.0]


def test_levels_count_as_their_middle_and_agreement_as_1():
    assert similarities((0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.999, 1.0)).tolist() == pytest.approx(
        [0.1, 0.3, 0.5, 0.7, 0.85, 0.925, 0.9745, 1]
    )
    assert similarities((0.8, 0.999, 1.0)).tolist() == pytest.approx([0.1, 0.8995, 1])
    assert similarities((0.999, 1.0)).tolist() == [0, 1]
    assert similarities((1.0,)).tolist() == [1]
    assert similarities((0.2, 0.8, 1.0), graded=False).tolist() == [0, 0, 1]


@given(
    vectors=st.lists(
        st.tuples(st.integers(-1, 3), st.integers(-1, 2), st.integers(-1, 0), st.integers(0, 1), st.integers(1, 9)),
        max_size=30,
    )
)
def test_pairs_are_counted_by_agreement(vectors):
    table = np.array(vectors, dtype=np.int64).reshape(-1, 5)
    patterns = PatternCounts(table[:, :3].astype(np.int8), table[:, 3].astype(np.uint32), table[:, 4])
    expected = {}
    for first, second, third, mask, count in vectors:
        key = (-1 if first < 0 else int(first == 3), -1 if second < 0 else int(second == 2), third, mask)
        expected[key] = expected.get(key, 0) + count
    folded = agreement_counts(patterns, [4, 3, 1])
    found = {
        (*vector, mask): count
        for vector, mask, count in zip(folded.gamma.tolist(), folded.mask.tolist(), folded.count.tolist(), strict=True)
    }
    assert found == expected


def test_levels_over_all_pairs_are_folded_likewise():
    counts = np.array([[5.0, 4.0, 3.0, 2.0], [7.0, 0.0, 0.0, 0.0], [1.0, 2.0, 0.0, 0.0]])
    assert folded_counts(counts, [4, 1, 2]).tolist() == [[12, 2], [7, 0], [1, 2]]


def test_an_unknown_scheme_is_refused(population):
    with pytest.raises(GemelError, match="multinomial, exact, lr_weighted, log_lr_weighted") as caught:
        fitted("fuzzy", population)
    assert caught.value.code is ErrorCode.PARAMETER
