"""One assessment for all tests of the report."""

from __future__ import annotations

from typing import Any

import pytest

from gemel.carole.assessment.combined_assessment import AssessmentContext, assess
from tests.coordinator.reports.disclosure.documents import population


@pytest.fixture(scope="package")
def breach() -> dict[str, Any]:
    """An assessment of a built population that breaches two limits of four."""
    made = population(3_000, (0.5, 0.5))
    return assess(made.combined, made.spec, AssessmentContext("r" * 32)).document
