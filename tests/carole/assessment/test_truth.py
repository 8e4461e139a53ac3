"""Assessed risk beside the true risk of built populations: intervals that cover, and biases that are small.

The small version of ``python -m benchmarks assess``. The seeds are fixed; a binomial count of misses with chance .05
exceeds 3 of 10 with probability .001.
"""

from __future__ import annotations

import pytest

from benchmarks._built_population import SMALL
from benchmarks.assess import Compared, replicates
from tests.carole.assessment.outputs import OUTPUT_MEASURES, RELEASE_MEASURES

REPLICATES, SEED = 10, 110

BIAS = {
    "sample_uniques": 0.02,
    "population_uniques": 0.15,
    "correct_matches": 0.1,
    "largest_record_risk": 0.1,
    "gain_over_own_file": 0.1,
    "certain_attribution": 0.02,
    "probable_attribution": 0.02,
    "attribution_gain": 0.05,
    "few_values": 0.02,
    "subtraction": 0.1,
    "members_disclosed": 0.01,
}
"""Largest mean difference from the truth, as a share of the truth, by measure. The linkage misses 5 % of the matches,
and 2 % of its links are false."""

INTERVALS = {
    "sample_uniques",
    "correct_unique_matches",
    "population_uniques",
    "correct_matches",
    "gain_over_own_file",
    "certain_attribution",
    "probable_attribution",
    "few_values",
    "largest_record_risk",
    "attribution_gain",
    "subtraction",
    "members_disclosed",
}

ONE_TRUTH = {"largest_record_risk", "subtraction"}
"""Of which the truth is one number for all these populations: someone is alone, and the tables have empty cells. Where
it varies is test_largest_risk.py and test_publication.py."""


@pytest.fixture(scope="module")
def compared() -> dict[str, Compared]:
    return replicates(SMALL, 3_000, (0.5, 0.5), REPLICATES, SEED)


def test_every_measure_is_compared(compared: dict[str, Compared]) -> None:
    assert set(compared) == OUTPUT_MEASURES - RELEASE_MEASURES
    assert {name for name, found in compared.items() if found.misses is not None} == INTERVALS
    assert set(BIAS) == OUTPUT_MEASURES - RELEASE_MEASURES - {"correct_unique_matches"}


@pytest.mark.parametrize("measure", sorted(INTERVALS))
def test_the_interval_covers_the_truth(compared: dict[str, Compared], measure: str) -> None:
    found = compared[measure]
    assert found.misses is not None
    assert found.misses <= 3, (SEED, found)
    # The truth is not one number, so that an interval that covers everything would be noticed.
    assert found.true.std() > 0.005 or measure in ONE_TRUTH
    assert found.width < 0.3


@pytest.mark.parametrize("measure", sorted(BIAS))
def test_the_bias_is_small(compared: dict[str, Compared], measure: str) -> None:
    assert abs(compared[measure].bias) <= BIAS[measure] * compared[measure].true.mean(), (SEED, compared[measure])
