"""``statistics.json``: the statistics of a run for every party that is granted them."""

from __future__ import annotations

from gemel.common.documents.assessment_document import CoarsenedVariable
from gemel.common.documents.document import Count, Document, Part
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.documents.model_document import ModelDocument
from gemel.common.documents.result_warning import ResultWarning


class Stage(Part):
    """One stage of a run."""

    name: str
    seconds: float


class Timings(Document):
    """Time by stage."""

    stages: list[Stage]
    """In order."""
    peak_memory_bytes: Count | None = None
    threads: Count | None = None


class StatisticsDocument(Document):
    """The model, the decision and the time a run took: ``model.json`` and ``linkage.json`` are parts of it."""

    model: ModelDocument
    linkage: LinkageDocument
    timings: Timings
    coarsened: list[CoarsenedVariable] | None = None
    """How the variables of the linked records are released, where not as they were sent: whoever combines the linked
    records or publishes tables of them uses them so. Absent where nothing was coarsened."""
    warnings: list[ResultWarning]
    """Warnings of the model and of the linkage, each once, the most serious first."""
