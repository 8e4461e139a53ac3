"""A report's content from plain dictionaries, as read from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gemel.common.documents.linkage_document import EvaluationDocument, LinkageDocument
from gemel.common.documents.model_document import ModelDocument, Timings
from gemel.coordinator.reports.linkage import ReportContent, RunDescription


def content_of(documents: Mapping[str, Any]) -> ReportContent:
    """``run``, ``model``, ``linkage`` and ``timings``, and ``evaluation`` where there is truth."""
    evaluation = documents.get("evaluation")
    return ReportContent(
        run=RunDescription.of(documents.get("run"), "run"),
        model=ModelDocument.of(documents.get("model"), "model"),
        linkage=LinkageDocument.of(documents.get("linkage"), "linkage"),
        evaluation=EvaluationDocument.of(evaluation, "evaluation") if evaluation else None,
        timings=Timings.of(documents.get("timings"), "timings"),
    )
