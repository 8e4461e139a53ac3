"""T11 chapter 5, figures 31 and 32: what seven strategies achieve and cost on samples of 3 %.

The population is chapter 7's, made and not fitted to this chapter, so order and identities are asserted, in every
sample; its levels are held to what the page says only as far as it explains the difference from the thesis.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks._public_populations import ADULT
from research._smith2011_strategies_study import (
    PRINTED,
    PRINTED_UNIQUES,
    beside,
    generated,
    mean_of,
    populations,
    public,
    simulated,
)
from research._smith2011_study import NOTIONAL


@pytest.fixture(scope="module")
def found():
    people = generated(2011)
    return people.counts, simulated(people, 40, np.random.default_rng(5))


def test_the_population_is_less_sparse_than_the_thesis_s_and_its_strategies_show_it(found):
    F, strategies = found
    assert F.sum() == NOTIONAL
    assert 0.6 * PRINTED_UNIQUES < (F == 1).sum() < 0.9 * PRINTED_UNIQUES
    for number in (1, 4):
        assert mean_of(strategies, number, "probability")[2] < PRINTED[number][0]
    assert mean_of(strategies, 5, "probability")[1] > PRINTED[5][0]


def test_the_sample_unique_is_the_surest_and_dearest_target_in_every_sample(found):
    for a in found[1]:
        assert max(a, key=lambda n: a[n].probability) == 4
        assert max((n for n in a if a[n].targets), key=lambda n: a[n].cost) == 4
        assert a[4].probability >= a[5].probability
        assert a[6].probability >= a[7].probability
        assert a[3].probability >= a[2].probability


def test_with_replacement_searches_from_the_sample_lie_on_a_line(found):
    """Figure 32: Pr(cm) = cost / N for strategies 1, 4 and 6; and from the population they are far more efficient."""
    for a in found[1]:
        for number in (1, 4, 6):
            if a[number].targets:
                assert a[number].probability == pytest.approx(a[number].cost_replaced / NOTIONAL, rel=1e-12)
        assert a[5].probability / a[5].cost_replaced == pytest.approx(a[5].targets / NOTIONAL)
        assert a[5].efficiency > 50 * a[4].efficiency


def test_public_populations_stand_beside_it():
    """Each with every set of its keys; the same order of strategies, and claims with their truth."""
    names = [people.name for people in populations(2011)]
    assert names[0] == "generated"
    assert len(names) == len(set(names)) >= 6
    five = public(ADULT, 2011)[0]
    own = beside(five, 5, 2, 1, fractions=(0.05,))
    assert own.people.codes.shape == (NOTIONAL, 5)
    for a in own.strategies:
        assert a[4].probability >= a[5].probability
    for claim in own.claims.values():
        assert (claim.claimed > 0.9).all()
        assert (claim.true > 0.5).all()
