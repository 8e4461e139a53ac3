"""Link probabilities under each assignment, against the enumeration of every set of links that it allows."""

import math

import numpy as np
import pytest

from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior, Stars
from gemel.carole.fellegi_sunter.one_to_one import Competition
from gemel.carole.fellegi_sunter.prior import BetaBipartite, BetaPartners
from gemel.common.errors import GemelError
from tests.carole.fellegi_sunter.enumeration import enumerated


def test_stars_are_exact():
    rng = np.random.default_rng(3)
    record = np.array([4, 0, 4, 0, 2, 4])
    log_ratio = rng.normal(0, 3, 6)
    stars = Stars(record, log_ratio - 1.2)
    settled = stars.run(1.2)
    found = stars.beliefs()
    assert settled.expected_links == pytest.approx(found.probability.sum())
    expected, log_sum = enumerated(record, np.arange(6), log_ratio)
    np.testing.assert_allclose(found.probability, expected)
    assert found.log_weight_sum == pytest.approx(log_sum)


def test_stars_of_any_weight_do_not_overflow():
    stars = Stars(np.array([0, 0, 1, 2]), np.array([2000.0, 2000.0, -2000.0, 2000.0]))
    stars.run(0.0)
    np.testing.assert_allclose(stars.beliefs().probability, [0.5, 0.5, 0.0, 1.0], atol=1e-12)
    assert np.isfinite(stars.beliefs().log_weight_sum)


@pytest.mark.parametrize(("n_records", "n_partners"), [(4, 3), (3, 1), (1, 5)])
def test_the_prior_of_partners_is_a_distribution(n_records, n_partners):
    prior = BetaPartners(n_records, n_partners, alpha=1.5, beta=0.7)
    number = [math.comb(n_records, n) * n_partners**n for n in range(n_records + 1)]
    assert sum(k * math.exp(prior.log_density(n)) for n, k in enumerate(number)) == pytest.approx(1)


def test_one_more_partner_has_the_odds_of_the_prior():
    prior = BetaPartners(900, 600)
    for n in (3, 100, 895):
        exact = (n + 1) / ((900 - n) * 600)
        assert prior.log_density(n + 1) - prior.log_density(n) == pytest.approx(math.log(exact))
        slope = (prior.log_density(n + 1e-4) - prior.log_density(n - 1e-4)) / 2e-4
        assert prior.log_odds(n) == pytest.approx(slope, abs=1e-4)
    assert math.isfinite(prior.log_odds(900))


@pytest.mark.parametrize("graphs", [7, pytest.param(20, marks=pytest.mark.long)])
def test_many_to_one_as_the_exact_posterior_over_all_linkages(graphs):
    """Six records with four possible partners, the prior itself instead of its mode: every linkage enumerated."""
    rng = np.random.default_rng(5)
    errors = []
    for _ in range(graphs):
        weight = rng.normal(-3, 1.5, (6, 4))
        weight[np.arange(6), rng.integers(0, 4, 6)] += np.where(rng.random(6) < 0.6, 10, 0)
        a, b = (index.ravel() for index in np.indices((6, 4)))
        log_prior = [BetaPartners(6, 4).log_density(n) for n in range(7)]
        exact, _ = enumerated(a, np.arange(24), weight.ravel() * math.log(2), log_prior)
        posterior = LinkPosterior("many_to_one", a, b, 6, 4).probabilities(weight.ravel())
        errors.append(np.abs(posterior.probability - exact).max())
    assert np.median(errors) < 0.1


def test_one_to_many_is_many_to_one_with_the_files_exchanged():
    rng = np.random.default_rng(1)
    a, b = np.nonzero(rng.random((30, 20)) < 0.2)
    weight = rng.normal(4, 6, len(a))
    one = LinkPosterior("one_to_many", a, b, 30, 20).probabilities(weight)
    other = LinkPosterior("many_to_one", b, a, 20, 30).probabilities(weight)
    np.testing.assert_array_equal(one.probability, other.probability)
    assert np.bincount(b, one.probability).max() <= 1 + 1e-9
    assert one.probability.sum() == pytest.approx(one.expected_links, abs=0.05)


def test_one_to_one_is_that_of_belief_propagation():
    rng = np.random.default_rng(2)
    a, b = np.nonzero(rng.random((30, 20)) < 0.2)
    weight = rng.normal(4, 6, len(a))
    one_to_one = Competition(a, b).probabilities(weight, BetaBipartite(30, 20))
    for assignment in ("one_to_one", "greedy"):
        found = LinkPosterior(assignment, a, b, 30, 20).probabilities(weight)
        np.testing.assert_array_equal(found.probability, one_to_one.probability)


def test_without_an_assignment_each_pair_has_its_own_odds_at_the_implied_share():
    rng = np.random.default_rng(4)
    a, b = np.nonzero(rng.random((40, 40)) < 0.1)
    weight = rng.normal(2, 8, len(a))
    found = LinkPosterior("none", a, b, 40, 40).probabilities(weight)
    odds = (found.expected_links + 1) / (1600 - found.expected_links) * 2.0**weight
    np.testing.assert_allclose(found.probability, odds / (1 + odds), rtol=0.03)


def test_copies_in_the_file_of_many_all_keep_their_partner():
    """Two equal records of A and one of B: one-to-one has to share, many-to-one links both."""
    a, b, weight = np.array([0, 1]), np.array([0, 0]), np.array([40.0, 40.0])
    assert LinkPosterior("many_to_one", a, b, 100, 100).probabilities(weight).probability.min() > 0.99
    shared = LinkPosterior("one_to_one", a, b, 100, 100).probabilities(weight).probability
    np.testing.assert_allclose(shared, 0.5, atol=1e-3)


def test_known_copies_do_not_annihilate_each_other():
    """Rows 0 and 1 of A are one person, as 2 and 3 of B: all their pairs have the probability of one link."""
    a, b = np.array([0, 0, 1, 1, 5]), np.array([2, 3, 2, 3, 5])
    weight = np.array([40.0, 40.0, 40.0, 40.0, 13.0])
    first_a, first_b = np.arange(100), np.arange(100)
    first_a[1], first_b[3] = 0, 2
    found = LinkPosterior("one_to_one", a, b, 100, 100, (first_a, first_b)).probabilities(weight)
    assert found.probability[:4].min() > 0.99
    assert found.expected_links == pytest.approx(found.probability.sum())
    alone = LinkPosterior("one_to_one", a[[0, 4]], b[[0, 4]], 99, 99).probabilities(weight[[0, 4]])
    np.testing.assert_allclose(found.probability[[0, 4]], alone.probability)


def test_the_link_of_two_persons_has_the_mean_likelihood_ratio_of_their_records():
    first = np.array([0, 0, 2])
    links = LinkPosterior("many_to_one", np.array([0, 1, 2]), np.array([0, 0, 1]), 3, 3, (first, None))
    found = links.probabilities(np.array([6.0, 2.0, -3.0]))
    alone = LinkPosterior("many_to_one", np.array([0, 2]), np.array([0, 1]), 2, 3).probabilities(
        np.array([np.log2((2.0**6 + 2.0**2) / 2), -3.0])
    )
    np.testing.assert_allclose(found.probability, alone.probability[[0, 0, 1]])


def test_an_expected_number_of_pairs_is_one_of_persons():
    """A hundred persons are in both files, three records each; the pairs of others are hardly alike."""
    person, records = np.arange(200), np.arange(3)
    weight = np.where(person < 100, 16.0, 3.0)
    alone = LinkPosterior("clusters", person, person, 200, 200, expected_matches=100.0, worth=1e4)
    person, row_a, row_b = (each.ravel() for each in np.meshgrid(person, records, records, indexing="ij"))
    first = np.repeat(3 * np.arange(200), 3)
    rows = 3 * person + row_a, 3 * person + row_b
    of_records = LinkPosterior("clusters", *rows, 600, 600, (first, first), expected_matches=900.0, worth=1e4)
    expected, found = alone.probabilities(weight).probability, of_records.probabilities(weight[person]).probability
    np.testing.assert_allclose(found, expected[person], atol=1e-6)
    assert expected[100:].max() < 0.5


@pytest.mark.parametrize("assignment", ["one_to_one", "greedy", "many_to_one", "one_to_many", "none"])
@pytest.mark.parametrize("seed", range(5))
def test_pairs_that_meet_by_their_definition(assignment, seed):
    """Two of the chosen pairs with one record, in a file whose records have one link at most."""
    rng = np.random.default_rng(seed)
    n_a, n_b = 9, 7
    a, b = np.divmod(rng.choice(n_a * n_b, 12, replace=False), n_b)
    chosen = rng.random(12) < 0.6
    sides = {"many_to_one": [(a, n_a)], "one_to_many": [(b, n_b)], "none": []}.get(assignment, [(a, n_a), (b, n_b)])
    expected = [
        chosen[i] and any(row[i] == row[j] and chosen[j] and i != j for row, _ in sides for j in range(12))
        for i in range(12)
    ]
    meeting, at_random = LinkPosterior(assignment, a, b, n_a, n_b).meeting(chosen)
    assert meeting.tolist() == expected
    free = math.prod(1 - len(set(row[chosen].tolist())) / n for row, n in sides)
    assert at_random == pytest.approx(1 - free)


def test_pairs_of_copies_do_not_meet_each_other():
    """Records 0 and 1 of A are one person: its two pairs with record 0 of B meet where there is a third only."""
    first = np.array([0, 0, 2])
    links = LinkPosterior("one_to_one", np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1]), 3, 2, (first, None))
    meeting, at_random = links.meeting(np.array([True, True, False, False]))
    assert not meeting.any()
    assert at_random == pytest.approx(1 - (1 - 1 / 2) * (1 - 1 / 2))
    assert links.meeting(np.array([True, True, True, False]))[0].tolist() == [True, True, True, False]


@pytest.mark.parametrize(
    ("assignment", "people"), [("one_to_one", 4), ("none", 4), ("many_to_one", 2), ("one_to_many", 3)]
)
def test_pairs_of_a_record_that_may_have_several_are_of_one_person(assignment, people):
    """The pairs (0, 0), (1, 0), (2, 0) and (2, 1), and a fifth that was not chosen."""
    links = LinkPosterior(assignment, np.array([0, 1, 2, 2, 3]), np.array([0, 0, 0, 1, 2]), 4, 3)
    assert links.people(np.array([True, True, True, True, False])) == people


def test_pairs_of_known_copies_are_of_one_person():
    first = np.array([0, 0, 2])
    links = LinkPosterior("clusters", np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1]), 3, 2, (first, None))
    assert links.people(np.array([True, True, False, False])) == 1
    assert links.people(np.array([True, True, True, True])) == 3


def test_no_candidates_and_invalid_input():
    nothing = np.zeros(0, dtype=np.int64)
    posterior = LinkPosterior("many_to_one", nothing, nothing, 10, 10).probabilities(np.zeros(0))
    assert posterior.expected_links == 0
    assert posterior.converged
    with pytest.raises(GemelError, match="finite match weights"):
        LinkPosterior("many_to_one", np.array([0]), np.array([0]), 1, 1).probabilities(np.array([np.inf]))


def test_links_are_calibrated_where_blocking_lost_a_third_of_the_matches():
    """Of 1,000 matches 400 are beyond doubt, 270 like strangers, and 330 are no candidates."""
    n, doubtful, matches = 2_000, 0.27, 1_000
    u = doubtful * matches / n**2
    claimed: dict[float, list[float]] = {0.67: [], 1.0: []}
    true = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        sure = np.arange(400)
        alike = np.arange(400, 400 + rng.binomial(600, 0.45))
        strangers = np.unique(rng.integers(0, n, (rng.poisson(u * n**2), 2)), axis=0)
        strangers = strangers[strangers[:, 0] != strangers[:, 1]]
        a = np.concatenate([sure, alike, strangers[:, 0]])
        b = np.concatenate([sure, alike, strangers[:, 1]])
        weight = np.where(np.arange(len(a)) < 400, 60.0, np.log2(doubtful / u))
        true.append(len(alike))
        for recall, found in claimed.items():
            links = LinkPosterior("one_to_one", a, b, n, n, recall=recall)
            found.append(links.probabilities(weight).probability[400:].sum())
    half = 1.96 * np.std(np.array(claimed[0.67]) - true, ddof=1) / np.sqrt(len(true))
    assert abs(np.mean(claimed[0.67]) - np.mean(true)) < max(half, 10)
    assert np.mean(claimed[1.0]) < np.mean(true) - 20
