"""Probabilities of a key that stands alone: common values by their shares, rare ones by those of similar frequency."""

from __future__ import annotations

import numpy as np
import pytest

from gemel.carole.extended_latent import Values, Variable, WeightedPairs
from gemel.carole.extended_latent.bayes_factor import discount, frequencies
from gemel.coordinator.demonstration.people.names import name_tables


def test_common_values_have_nearly_their_shares():
    rng = np.random.default_rng(1)
    truth = np.array([0.5, 0.3, 0.2])
    files = [rng.choice(3, (n, 1), p=truth).astype(np.int32) for n in (4000, 6000)]
    key = frequencies(Values((Variable("key", "both", 3, alone=True),), *files))[0]
    assert key.match == pytest.approx(truth, abs=0.02)
    assert key.match.sum() == pytest.approx(1, abs=1e-3)


def test_a_person_in_both_files_counts_once():
    codes = np.array([[0], [1], [2], [2]], dtype=np.int32)
    values = Values((Variable("key", "both", 3, alone=True),), codes, codes)
    everybody = WeightedPairs(np.arange(4, dtype=np.int32), np.arange(4, dtype=np.int32), np.ones(4))
    key = frequencies(values, everybody)[0]
    plain = frequencies(values)[0]
    # Four people, of whom two bear the third name; the discount is 1/2.
    assert discount(np.array([1.0, 1.0, 2.0])) == 0.5
    assert key.match * 4 == pytest.approx([0.5, 0.5, 3 - 2 * 3 / 4 - 0.5])
    assert plain.match * 8 == pytest.approx([0.5, 0.5, 2.5])


def test_agreement_on_names_has_the_weight_of_the_population_where_shares_fail():
    """Real surnames, 400 and 600 people, 240 of them in both: the mean log factor of the true matches."""
    table = name_tables()["surname"]
    truth = table.weights / table.weights.sum()
    found = []
    for seed in range(10):
        rng = np.random.default_rng([3, seed])
        people = np.searchsorted(np.cumsum(table.weights), rng.integers(0, table.weights.sum(), 760), side="right")
        distinct, codes = np.unique(people, return_inverse=True)
        a, b = codes[:400, None].astype(np.int32), codes[160:, None].astype(np.int32)
        values = Values((Variable("surname", "both", len(distinct), alone=True),), a, b)
        matches = np.arange(240)
        weighted = WeightedPairs((160 + matches).astype(np.int32), matches.astype(np.int32), np.full(240, 0.5))
        p = truth[distinct][a[160:, 0]]
        known = np.log((truth**2).sum() / p).mean()
        key = frequencies(values, weighted)[0]
        shares = np.bincount(np.concatenate([a[:, 0], b[:, 0]])) / 1000
        plain = np.log((shares**2).sum() / shares[a[160:, 0]]).mean()
        found.append((known, key.log_factors[a[160:, 0]].mean(), plain))
    known, estimated, plain = np.mean(found, axis=0)
    assert plain < 0.1 * known
    assert 0.4 * known < estimated < 1.2 * known
