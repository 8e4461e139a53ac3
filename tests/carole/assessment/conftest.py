"""A small built population, its combined output, and the document of its assessment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks._built_population import SMALL, Built, built
from gemel.carole.assessment.combined_assessment import Assessment, AssessmentContext, assess
from tests.carole.assessment.outputs import RUN, assessed

LIMITS = "correct_matches: 0.2, correct_unique_matches: 0.1, certain_attribution: 0.9, members_disclosed: 0.9"


@pytest.fixture(scope="session")
def population() -> Built:
    """4,000 people, half of them in each file; one limit of four is breached."""
    return built(SMALL, 4_000, (0.5, 0.5), np.random.default_rng(7), LIMITS)


@pytest.fixture(scope="session")
def assessment(population: Built) -> Assessment:
    """The assessment of its combined output."""
    return assess(population.combined, population.spec, AssessmentContext(RUN))


@pytest.fixture(scope="session")
def without_advice(population: Built) -> Assessment:
    """The same without the search for options, which is most of the work."""
    return assessed(population.combined, population.spec)


@pytest.fixture(scope="session")
def document(assessment: Assessment) -> dict[str, Any]:
    """An example of the document, for whoever shows it."""
    return assessment.document
