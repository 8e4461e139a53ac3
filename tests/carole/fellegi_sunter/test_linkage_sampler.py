"""The Markov chain over linkages, against the enumeration of every matching under Sadinle's prior."""

import numpy as np
import pytest

from gemel.carole.fellegi_sunter.linkage_sampler import average_links, choices, sweep
from gemel.carole.fellegi_sunter.prior import BetaBipartite
from tests.carole.fellegi_sunter.enumeration import enumerated, matchings


def chain_of(a, b, log_weight, log_prior, pull):
    order = np.lexsort((b, a))
    first = np.concatenate(([0], np.cumsum(np.bincount(a)))).astype(np.int64)
    return choices(first, b[order], np.exp(log_weight[order]), pull, log_prior), order


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_every_linkage_is_visited_as_often_as_it_is_probable(seed):
    """Chi-square over all linkages of a 3 x 4 graph, the chain thinned so that visits are nearly independent."""
    rng = np.random.default_rng(seed)
    a, b = np.nonzero(np.ones((3, 4)))
    log_weight, pull = rng.normal(0, 2, len(a)), np.exp(rng.normal(0, 1, 4))
    prior = BetaBipartite(6, 5)
    log_prior = np.array([prior.log_density(n) for n in range(4)])
    chain, order = chain_of(a, b, log_weight, log_prior, pull)
    every = {tuple(sorted(m)): k for k, m in enumerate(matchings(list(a), list(b)))}
    exact = np.array([log_prior[len(m)] + sum(log_weight[e] for e in m) for m in every])
    exact = np.exp(exact - exact.max())
    exact /= exact.sum()
    edge_of_row, row_of_column, n = np.full(3, -1), np.full(4, -1), 0
    visits = np.zeros(len(every))
    draws, thin = 20_000, 4
    for k in range(draws * thin):
        n = sweep(chain, edge_of_row, row_of_column, n, rng)
        if k % thin == 0:
            visits[every[tuple(sorted(order[edge_of_row[edge_of_row >= 0]]))]] += 1
    often = exact * draws >= 5
    expected = np.append(exact[often], exact[~often].sum()) * draws
    seen = np.append(visits[often], visits[~often].sum())
    statistic = ((seen - expected) ** 2 / np.maximum(expected, 1e-9))[expected > 1].sum()
    degrees = (expected > 1).sum() - 1
    # Five standard deviations of a chi-square, with a quarter more for what is left of the chain's memory.
    assert statistic < 1.25 * (degrees + 5 * np.sqrt(2 * degrees))


def test_averages_agree_with_enumeration_and_bookkeeping_holds():
    rng = np.random.default_rng(4)
    a, b = np.nonzero(rng.random((5, 5)) < 0.8)
    log_weight = rng.normal(0, 3, len(a))
    prior = BetaBipartite(8, 5)
    log_prior = np.array([prior.log_density(n) for n in range(6)])
    chain, order = chain_of(a, b, log_weight, log_prior, np.ones(5))
    found = np.empty(len(a))
    found[order] = average_links(chain, np.zeros(len(a)), 20_000, rng)
    np.testing.assert_allclose(found, enumerated(a, b, log_weight, log_prior)[0], atol=0.02)
    edge_of_row, row_of_column, n = np.full(5, -1), np.full(5, -1), 0
    for _ in range(200):
        n = sweep(chain, edge_of_row, row_of_column, n, rng)
        linked = edge_of_row >= 0
        assert linked.sum() == n
        np.testing.assert_array_equal(row_of_column[chain.column[edge_of_row[linked]]], np.flatnonzero(linked))
        assert (row_of_column >= 0).sum() == n
