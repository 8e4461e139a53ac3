"""The frequency that a chance of a right match requires."""

from __future__ import annotations

import numpy as np

from gemel.risk.identification.individual_risk import expected_reciprocal_of_sampled
from gemel.risk.protection.minimal_change import required_frequencies, required_frequency


def test_required_frequency_is_the_smallest() -> None:
    for risk, pi in ((0.2, 1.0), (0.005, 0.05), (0.01, 0.3)):
        f = required_frequency(risk, pi, 10_000)
        assert expected_reciprocal_of_sampled(f, pi) <= risk < expected_reciprocal_of_sampled(f - 1, pi)
    assert required_frequency(0.2, 1.0, 4) == 5


def test_each_record_has_its_own() -> None:
    found = required_frequencies(np.array([0.2, 0.005]), np.array([1.0, 0.05]), 10_000)
    assert found.tolist() == [5, required_frequency(0.005, 0.05, 10_000)]
