"""One assessment for all tests of the report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks._built_population import SMALL, built
from gemel.carole.assessment.combined_assessment import AssessmentContext, assess

LIMITS = "correct_matches: 0.2, correct_unique_matches: 0.1, certain_attribution: 0.9, members_disclosed: 0.9"


@pytest.fixture(scope="package")
def breach() -> dict[str, Any]:
    """An assessment of a built population that breaches two limits of four."""
    population = built(SMALL, 3_000, (0.5, 0.5), np.random.default_rng(7), LIMITS)
    return assess(population.combined, population.spec, AssessmentContext("r" * 32)).document
