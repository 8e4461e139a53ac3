"""The check field: its parts against closed forms and other optimisers, and how often its interval holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import beta, binomtest

from gemel.carole.evaluation import check_field
from gemel.carole.evaluation.check_field import FAR, MISSING, NEAR, SAME, CheckedPairs, false_links, sure_links
from gemel.common.errors import ErrorCode
from tests.carole.refusals import refusal

BITS = np.array([8.0, 14.0, 6.0, 5.0, 5.0])
"""Match weight that each field loses where it is dissimilar."""


def weights(likeness: np.ndarray) -> np.ndarray:
    """Match weights of pairs of given names, birthdays, surnames and two parts of an address."""
    return 30 - (likeness == FAR) @ BITS - 0.3 * (likeness == NEAR) @ BITS


@dataclass(frozen=True)
class Simulated:
    links: CheckedPairs
    probability: np.ndarray
    known_false: CheckedPairs
    share: float


def simulated(rng: np.random.Generator, n: int = 600, false: int = 60, slope: float = 0.0) -> Simulated:
    """Links of which `false` are kin: another given name and birthday, the same sex as strangers in three of ten.

    True links have typing errors, and the more of them the more errors in the check field, by `slope` each. Namesakes
    among the false pairs agree on the given name, and then nearly always on sex.
    """

    def kin(k: int) -> tuple[np.ndarray, np.ndarray]:
        likeness = np.full((k, 5), SAME, dtype=np.int8)
        likeness[:, :2] = FAR
        named = rng.random(k) < 0.1
        likeness[named, 0] = SAME
        return likeness, np.where(named, rng.random(k) < 0.97, rng.random(k) < 0.3)

    true = np.where(rng.random((n - false, 5)) < 0.15, NEAR, SAME).astype(np.int8)
    moved = rng.random(n - false) < 0.05
    true[moved, 3:] = FAR
    differing = (true != SAME).sum(axis=1)
    right = rng.random(n - false) >= expit(-4.5 + slope * differing)
    wrong, agrees = kin(false)
    likeness = np.concatenate([true, wrong])
    links = CheckedPairs(likeness, weights(likeness), np.concatenate([right, agrees]).astype(np.int8))
    known, of_known = kin(400)
    known_false = CheckedPairs(known, weights(known), of_known.astype(np.int8))
    return Simulated(links, np.full(n, 0.999), known_false, false / n)


def estimate(case: Simulated, seed: int = 0) -> check_field.FalseLinks:
    found = false_links(case.links, case.probability, case.known_false, 0.5, np.random.default_rng(seed))
    assert found is not None
    return found


@pytest.mark.parametrize("slope", [0.0, 0.8])
@pytest.mark.parametrize("false", [0, 60, 300])
def test_its_interval_holds_whether_or_not_errors_cluster(slope: float, false: int) -> None:
    """Forty linkages; 95 % intervals that hold less than 31 times would be a chance of one in 10,000."""
    held, off = 0, []
    for seed in range(40):
        case = simulated(np.random.default_rng(seed), false=false, slope=slope)
        found = estimate(case)
        held += found.lower <= case.share <= found.upper
        off.append(found.share - case.share)
    assert binomtest(held, 40, 0.95).pvalue > 1e-4, held
    assert abs(np.mean(off)) < 0.03


def test_without_the_correction_clustered_errors_would_look_like_false_links() -> None:
    """The plain form, m of perfect links for all, gives several times the share that the corrected one gives."""
    case = simulated(np.random.default_rng(3), n=4000, false=0, slope=1.3)
    agrees, perfect = case.links.agrees, case.links.differing == 0
    m, x = agrees[perfect].mean(), agrees.mean()
    plain = (m - x) / (m - 0.3)
    assert plain > 0.03
    assert estimate(case).share < plain / 3


def test_among_perfect_links_m_has_the_beta_posterior() -> None:
    n, errors = 80, 3
    agrees = np.ones(n, dtype=np.int8)
    agrees[:errors] = 0
    perfect = CheckedPairs(np.full((n, 4), SAME, dtype=np.int8), np.zeros(n), agrees)
    mean, draws = check_field._agreement_of_true(perfect, np.random.default_rng(1))
    exact = beta(n - errors + 0.5, errors + 0.5)
    assert mean[0] == pytest.approx(exact.mean(), abs=1e-4)
    np.testing.assert_allclose(np.quantile(draws[:, 0], (0.025, 0.975)), exact.ppf((0.025, 0.975)), atol=6e-3)


def test_the_regression_finds_what_another_optimiser_finds() -> None:
    rng = np.random.default_rng(5)
    design = np.column_stack([np.ones(300), rng.random((300, 3)) < 0.4]).astype(float)
    agrees = (rng.random(300) < expit(design @ [-1.0, 2.0, 0.0, -1.0])).astype(float)
    precision = np.eye(4) / 9

    def loss(effect: np.ndarray) -> float:
        score = 0.3 + design @ effect
        return float(np.logaddexp(0, score).sum() - agrees @ score + effect @ precision @ effect / 2)

    found, curvature = check_field._regression(design, agrees, 0.3, precision)
    other = minimize(loss, np.zeros(4), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 5000})
    np.testing.assert_allclose(found, other.x, atol=1e-4)
    step = 1e-4 * np.eye(4)
    second = [
        [(loss(found + i + j) - loss(found + i - j) - loss(found - i + j) + loss(found - i - j)) / 4e-8 for j in step]
        for i in step
    ]
    np.testing.assert_allclose(curvature, second, rtol=1e-3, atol=1e-3)


def test_separable_pairs_do_not_stop_the_regression() -> None:
    design = np.column_stack([np.ones(200), np.repeat([0.0, 1.0], 100)])
    found, _ = check_field._regression(design, np.repeat([0.0, 1.0], 100), -7.0, np.eye(2) / 9)
    assert expit(-7.0 + design @ found)[[0, -1]] == pytest.approx([0, 1], abs=0.05)


def test_sure_links_have_no_dissimilar_field_or_one_difference() -> None:
    likeness = np.array(
        [[SAME, SAME, SAME], [NEAR, NEAR, SAME], [FAR, SAME, SAME], [FAR, NEAR, SAME], [FAR, MISSING, SAME]]
    )
    pairs = CheckedPairs(likeness.astype(np.int8), np.zeros(5), np.ones(5, dtype=np.int8))
    assert sure_links(pairs, np.full(5, 0.999)).tolist() == [True, True, True, False, True]
    assert not sure_links(pairs, np.full(5, 0.98)).any()


def test_where_it_shows_nothing_there_is_no_estimate() -> None:
    case = simulated(np.random.default_rng(1))
    links, known, rng = case.links, case.known_false, np.random.default_rng(0)
    few = np.arange(600) < 20
    assert false_links(links.rows(few), case.probability[few], known, 0.5, rng) is None
    assert false_links(links, np.full(600, 0.6), known, 0.5, rng) is None  # no link is sure
    assert false_links(links, case.probability, known, 1.0, rng) is None  # all the same
    shared = CheckedPairs(known.likeness, known.weight, np.ones(len(known.agrees), dtype=np.int8))
    assert false_links(links, case.probability, shared, 0.01, rng) is None  # kin share it
    unknown = CheckedPairs(links.likeness, links.weight, np.full(600, MISSING, dtype=np.int8))
    assert false_links(unknown, case.probability, known, 0.5, rng) is None


def test_no_estimate_rests_on_fewer_than_twenty_links() -> None:
    """From fewer, how a single pair agrees could be computed."""
    perfect = CheckedPairs(np.full((50, 3), SAME, dtype=np.int8), np.zeros(50), np.ones(50, dtype=np.int8))
    none = perfect.rows(np.zeros(50, dtype=np.bool_))
    found = false_links(perfect, np.full(50, 0.998), none, 0.5, np.random.default_rng(0))
    assert found is not None
    assert found.share == found.lower == 0
    assert 0.02 < found.upper < 0.2
    assert (found.links, found.in_doubt) == (50, 20)


def test_missing_values_are_left_out() -> None:
    case = simulated(np.random.default_rng(2))
    lacking = CheckedPairs(case.links.likeness[:1], case.links.weight[:1], np.array([MISSING], dtype=np.int8))
    more = CheckedPairs(
        *(np.concatenate(both) for both in zip(vars(case.links).values(), vars(lacking).values(), strict=True))
    )
    with_missing = Simulated(more, np.append(case.probability, 0.9), case.known_false, case.share)
    assert estimate(with_missing) == estimate(case)


def test_inputs_that_disagree_are_refused() -> None:
    case = simulated(np.random.default_rng(2))
    with refusal(ErrorCode.PARAMETER, "one probability per link"):
        false_links(case.links, case.probability[1:], case.known_false, 0.5, np.random.default_rng(0))
    with refusal(ErrorCode.PARAMETER, "one agreement per row"):
        CheckedPairs(case.links.likeness, case.links.weight, case.links.agrees[1:])
