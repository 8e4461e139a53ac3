"""``evaluation.json``: the linkage evaluated against the truth, where it is known."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from gemel.common.documents.document import Count, Document, Part, one_length


class Decision(Part):
    """The links evaluated against the truth."""

    links: Count
    true_links: Count
    precision: float
    recall: float
    f1: float


class Best(Part):
    """The threshold at which F1 would have been largest."""

    threshold: float
    precision: float
    recall: float
    f1: float


class Curve(Part):
    """Precision against recall, most probable pairs first."""

    recall: list[float]
    precision: list[float]

    @model_validator(mode="after")
    def _lengths(self) -> Self:
        one_length(recall=self.recall, precision=self.precision)
        return self


class Calibration(Part):
    """Running sums of match probability and of true matches, most probable pairs first."""

    expected: list[float]
    observed: list[float]

    @model_validator(mode="after")
    def _lengths(self) -> Self:
        one_length(expected=self.expected, observed=self.observed)
        return self


class SchemeResult(Decision):
    """The same files linked by one scheme, evaluated against the truth."""

    scheme: str
    auc: float
    calibration_largest_gap: float
    curve: Curve


class EvaluationDocument(Document):
    """The linkage evaluated against the truth."""

    matches: Count
    """True matches between the files."""
    at_decision: Decision
    at_best: Best
    auc: float
    """Area under the expected precision-recall curve."""
    auc_trapezium: float
    """The same by trapezia."""
    curve: Curve
    calibration: Calibration
    calibration_largest_gap: float
    """Greatest difference of the two sums, as a share of the matches; above 0 the probabilities are too high."""
    candidate_recall: float | None = None
    """Share of the true matches among the kept pairs."""
    schemes: list[SchemeResult] = Field(default_factory=list)
    """The same files linked by each scheme, the run's own first."""
