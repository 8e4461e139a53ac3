"""Classes beside the match: the EM against its definition, their number, and which of them are matches."""

from itertools import product

import numpy as np
import pytest
from scipy.special import betaln

from gemel.carole.fellegi_sunter.dependence import starting_classes as module
from gemel.carole.fellegi_sunter.dependence.kin_classes import KinClasses, class_expectation, log_tables, updated
from gemel.carole.fellegi_sunter.dependence.starting_classes import CountedPairs, starting_classes

NAMES = ("given", "born", "surname", "street", "phone", "town")
U = np.array([0.01, 0.002, 0.004, 0.002, 0.0005, 0.1])
M = np.array([0.92, 0.95, 0.93, 0.9, 0.9, 0.95])
HOUSEHOLD = np.array([0.01, 0.004, 0.95, 0.97, 0.6, 0.99])
NEIGHBOUR = np.array([0.01, 0.002, 0.004, 0.9, 0.001, 0.99])
ERRONEOUS = np.array([0.6, 0.6, 0.35, 0.1, 0.2, 0.5])
GAMMA = np.array(list(product(range(2), repeat=6)), dtype=np.int8)
N = 4_000_000


def density(top):
    return np.prod(np.where(GAMMA == 1, top, 1 - top), axis=1)


def counted(classes, rng=None, personal=(0, 1)):
    """Counts of all vectors for classes of (agreement, pairs); the rest are strangers."""
    strangers = N - sum(pairs for _, pairs in classes)
    expected = strangers * density(U) + sum(pairs * density(top) for top, pairs in classes)
    count = expected if rng is None else rng.poisson(expected).astype(np.float64)
    share = np.array([count[GAMMA[:, q] == 1].sum() for q in range(6)]) / count.sum()
    is_personal = np.isin(np.arange(6), personal)
    return CountedPairs(
        gamma=GAMMA, count=count, identified=np.full(len(GAMMA), 63, dtype=np.uint64),
        valid=np.ones((6, 2), dtype=np.bool_), u=np.column_stack([1 - share, share]),
        belief=np.tile([0.1, 0.9], (6, 1)), worth=np.full(6, 20.0), personal=is_personal, n_pairs=float(count.sum()),
    )  # fmt: skip


def test_the_expectation_step_is_its_definition():
    rng = np.random.default_rng(1)
    levels = rng.dirichlet([1, 1], size=(2, 6))
    shares = np.array([0.01, 0.02, 0.97])
    count = rng.random(len(GAMMA)) * 100
    last = np.log(density(U))
    identified = rng.integers(0, 64, len(GAMMA)).astype(np.uint64)
    found, sizes, posterior = np.empty((2, 6, 2)), np.empty(3), np.empty((len(GAMMA), 3))
    args = count, identified, log_tables(levels), np.log(shares), last, 1, found, sizes, posterior
    log_likelihood = class_expectation(GAMMA, *args)
    joint = np.column_stack(
        [*(s * np.prod(one[np.arange(6), GAMMA], axis=1) for s, one in zip(shares, levels, strict=False)),
         shares[2] * density(U)]
    )  # fmt: skip
    np.testing.assert_allclose(posterior, joint / joint.sum(axis=1, keepdims=True))
    assert log_likelihood == pytest.approx(count @ np.log(joint.sum(axis=1)))
    pairs = count[:, None] * posterior
    np.testing.assert_allclose(sizes, pairs.sum(axis=0))
    for q in range(6):
        known = (identified >> np.uint64(q)) & np.uint64(1) == 1
        for k in range(2):
            here = GAMMA[:, q] == k
            assert found[0, q, k] == pytest.approx(pairs[here & known, 0].sum())
            assert found[1, q, k] == pytest.approx(pairs[here, 1].sum())


def test_a_missing_field_adds_nothing():
    classes = KinClasses(np.tile([0.2, 0.8], (1, 6, 1)), np.array([0.1, 0.9]))
    gamma = GAMMA[-1:].copy()
    gamma[0, 0] = -1
    strangers = np.log(np.array([density(U)[-1] / U[0]]))
    found = classes.log_probability(gamma, strangers)
    assert found[0] == pytest.approx(np.log(0.1 * 0.8**5 + 0.9 * np.exp(strangers[0])))


@pytest.mark.parametrize("matches", [0, 10, 1000])
def test_households_and_neighbours_are_found_and_are_no_matches(matches):
    """Four times as many relatives as matches, or no match at all."""
    pairs = counted([(M, matches), (HOUSEHOLD, 60), (NEIGHBOUR, 4000)], np.random.default_rng(matches))
    found = starting_classes(pairs)
    assert found.matches == pytest.approx(matches, abs=2 + 0.1 * matches)
    assert len(found.kin) == 2
    household = int(np.argmax(found.kin.levels[:, 2, 1]))
    assert found.kin.shares[household] * N == pytest.approx(60, rel=0.6)
    assert found.kin.levels[household, 0, 1] < 0.25
    weight = dict(zip(map(tuple, GAMMA.tolist()), found.weight, strict=True))
    prior = np.log2(max(found.matches, 1) / N)
    assert weight[1, 1, 1, 1, 1, 1] + prior > 3 or not matches
    assert weight[0, 0, 1, 1, 1, 1] + prior < -3


def test_no_class_is_added_where_there_is_none():
    found = starting_classes(counted([(M, 2000)], np.random.default_rng(3)))
    assert len(found.kin) == 0
    assert found.evidence[0] == 0
    assert max(found.evidence[1:]) < 0
    assert found.matches == pytest.approx(2000, rel=0.05)


@pytest.mark.parametrize(("personal", "of_matches"), [((0, 1), True), ((), False)])
def test_records_with_errors_are_matches_where_personal_fields_are_known(personal, of_matches):
    pairs = counted([(M, 2000), (ERRONEOUS, 600), (HOUSEHOLD, 500)], np.random.default_rng(4), personal)
    found = starting_classes(pairs)
    # EM divides records with errors between the two classes of matches and that of households.
    assert (found.matches > 2200) == of_matches
    assert found.matches < 2700
    assert len(found.kin) == (1 if of_matches else 2)


def test_the_evidence_is_that_of_one_class_where_it_can_be_had_exactly():
    """Pairs that are certainly matches or strangers: the marginal likelihood is a product of beta functions."""
    certain = np.array([[0] * 6, [1] * 6], dtype=np.int8)
    n, rest = 40.0, 1e6
    pairs = CountedPairs(
        certain, np.array([rest, n]), np.full(2, 63, dtype=np.uint64), np.ones((6, 2), dtype=np.bool_),
        np.tile([1 - 1e-9, 1e-9], (6, 1)), np.tile([0.1, 0.9], (6, 1)), np.full(6, 20.0),
        np.zeros(6, dtype=np.bool_), n + rest,
    )  # fmt: skip
    fit = module._fitted(pairs, pairs.belief[None], (module.Role.MATCH,))
    exact = betaln(rest + 1, n + 1) + 6 * (betaln(2, 18 + n) - betaln(2, 18)) + rest * 6 * np.log1p(-1e-9)
    assert fit.evidence == pytest.approx(exact, abs=0.5)


def test_more_expected_matches_than_the_counts_show_are_shrunk_towards_them():
    pairs = counted([(M, 100)])
    free = starting_classes(pairs).matches
    held = starting_classes(CountedPairs(**{**pairs.__dict__, "expected_matches": 10.0})).matches
    assert free == pytest.approx(100, rel=0.05)
    assert held == pytest.approx((free + 4) / 1.4, rel=0.05)


def test_kin_are_estimated_again_beside_given_strangers():
    pairs = counted([(HOUSEHOLD, 3000), (NEIGHBOUR, 8000)])
    start = KinClasses(
        np.stack([np.column_stack([1 - top, top]) for top in (0.5 * HOUSEHOLD + 0.1, 0.5 * NEIGHBOUR)]),
        np.array([1e-3, 1e-3, 0.998]),
    )
    strangers = np.log(density(U))
    classes = start
    for _ in range(100):
        classes, share = updated(classes, GAMMA, pairs.count, strangers, pairs.valid)
    np.testing.assert_allclose(classes.levels[:, :, 1], [HOUSEHOLD, NEIGHBOUR], atol=0.05)
    np.testing.assert_allclose(classes.shares[:2] * N, [3000, 8000], rtol=0.1)
    assert (pairs.count * share).sum() == pytest.approx(N - 11_000, rel=1e-3)
    unmoved, _ = updated(start, GAMMA, pairs.count, strangers, pairs.valid, steps=0)
    assert unmoved is start
