"""The public documents by name, and their JSON Schemas."""

from __future__ import annotations

from typing import Any

from gemel.common.documents.assessment_document import AssessmentDocument
from gemel.common.documents.document import Document
from gemel.common.documents.linkage_document import EvaluationDocument, LinkageDocument
from gemel.common.documents.model_document import ModelDocument, StatisticsDocument
from gemel.common.errors import ErrorCode, GemelError

DOCUMENTS: dict[str, type[Document]] = {
    "model": ModelDocument,
    "linkage": LinkageDocument,
    "evaluation": EvaluationDocument,
    "assessment": AssessmentDocument,
    "statistics": StatisticsDocument,
}


def document_schema(name: str) -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of one of `DOCUMENTS`; NOT_FOUND if there is no document of this name."""
    if name not in DOCUMENTS:
        what = f"expected one of {', '.join(DOCUMENTS)}"
        raise GemelError(ErrorCode.NOT_FOUND, what, where="document", got=name[:60])
    schema = DOCUMENTS[name].model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": f"{name}.json"}
