"""T11 chapter 5, figures 31 and 32: what seven strategies achieve and cost on 40 samples of 3 %.

The population is made, with the thesis's number of combinations and nearly its population uniques; over 40 samples the
intervals of the means are narrow (.005 to .01). The thesis's own means must lie within a tenth of ours, relatively,
which shows that the populations are alike, and the order of the strategies must hold in every sample.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers.smith2011_strategies import PEOPLE, PRINTED, SAMPLES, frequencies, interval, simulated


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(5)
    F = frequencies(PEOPLE, rng)
    return F, simulated(F, SAMPLES, rng)


def test_the_population_is_as_sparse_as_the_thesis_s(found):
    F, _ = found
    assert F.sum() == 10_000
    assert (F == 1).sum() == pytest.approx(3_036, rel=0.05)


def test_chances_and_costs_are_near_the_printed_ones(found):
    for number, (chance, cost) in PRINTED.items():
        assert interval([a[number].probability for a in found[1]])[0] == pytest.approx(chance, rel=0.1)
        assert interval([a[number].cost for a in found[1]])[0] == pytest.approx(cost, rel=0.1)


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
                assert a[number].probability == pytest.approx(a[number].cost_replaced / PEOPLE, rel=1e-12)
        assert (a[5].probability / a[5].cost_replaced if a[5].targets else 0.0) == pytest.approx(a[5].targets / PEOPLE)
        assert a[5].efficiency > 50 * a[4].efficiency
