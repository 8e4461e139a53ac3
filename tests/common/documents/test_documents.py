"""Public documents: read, bounded, refused in plain words, written back as they were, and described entry by entry."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from gemel.common.documents.document import Document, Part
from gemel.common.documents.linkage_document import EvaluationDocument
from gemel.common.documents.reference import DOCUMENTS, document_schema, reference
from gemel.common.errors import ErrorCode, GemelError, GemelErrors
from gemel.coordinator.commands.spec import app
from tests.carole.refusals import refusal

EVALUATION: dict[str, Any] = {
    "matches": 10,
    "at_decision": {"links": 9, "true_links": 8, "precision": 8 / 9, "recall": 0.8, "f1": 0.842},
    "at_best": {"threshold": 0.4, "precision": 0.9, "recall": 0.9, "f1": 0.9},
    "auc": 0.9,
    "auc_trapezium": 0.91,
    "curve": {"recall": [0.5, 1.0], "precision": [1.0, 0.8]},
    "calibration": {"expected": [5.0, 9.5], "observed": [5, 9]},
    "calibration_largest_gap": 0.05,
    "candidate_recall": None,
}


def test_written_back_with_the_entries_that_were_given() -> None:
    read = EvaluationDocument.read(json.dumps(EVALUATION).encode(), "evaluation")
    assert read == EvaluationDocument.of(EVALUATION, "evaluation")
    assert json.loads(read.written()) == EVALUATION
    assert read.schemes == []


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"matches": "10"}, "evaluation.matches"),
        ({"matches": -1}, "evaluation.matches"),
        ({"auc": float("nan")}, "evaluation.auc"),
        ({"extra": 1}, "evaluation.extra"),
        ({"curve": {"recall": [1.0], "precision": []}}, "evaluation.curve"),
        ({"calibration": {"expected": [1.0, None], "observed": [1.0, 1.0]}}, "evaluation.calibration.expected[1]"),
    ],
)
def test_an_error_names_its_place_and_no_value(change: dict[str, Any], place: str) -> None:
    with pytest.raises(GemelErrors) as caught:
        EvaluationDocument.of({**EVALUATION, **change}, "evaluation")
    assert [error.where for error in caught.value.errors] == [place]
    assert caught.value.code is ErrorCode.PARAMETER


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b"null", b'{"auc": NaN}'])
def test_what_is_no_document_is_refused(text: bytes) -> None:
    with pytest.raises(GemelErrors):
        EvaluationDocument.read(text, "evaluation")


def test_a_long_document_is_not_parsed() -> None:
    text = json.dumps(EVALUATION).encode()
    assert EvaluationDocument.read(text, "evaluation", len(text))
    with refusal(ErrorCode.UPLOAD_LIMIT, "longer than"):
        EvaluationDocument.read(text, "evaluation", len(text) - 1)


def parts(model: type[Part]) -> dict[str, type[Part]]:
    """A model and all that it is made of, by name."""
    found: dict[str, type[Part]] = {}
    waiting = [model]
    while waiting:
        one = waiting.pop()
        found[one.__name__] = one
        for info in one.model_fields.values():
            kinds = [info.annotation]
            while kinds:
                kind = kinds.pop()
                kinds += getattr(kind, "__args__", ())
                if isinstance(kind, type) and issubclass(kind, Part) and kind.__name__ not in found:
                    waiting.append(kind)
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_entry_is_in_the_schema_and_on_the_page(name: str) -> None:
    schema, page = document_schema(name), reference()
    tables = {"": schema, **schema["$defs"]}
    for part, model in parts(DOCUMENTS[name]).items():
        described = tables["" if model is DOCUMENTS[name] else part]
        entries = {info.alias or own for own, info in model.model_fields.items()}
        assert set(described["properties"]) == entries
        assert described["description"]
        title = f"## {name}.json\n" if model is DOCUMENTS[name] else f"### {part}\n"
        assert issubclass(model, Document) or page.count(title) == 1, f"two parts are called {part}"


def test_the_schema_is_exported() -> None:
    done = CliRunner().invoke(app, ["schema", "model"])
    assert done.exit_code == 0
    assert json.loads(done.stdout) == document_schema("model")
    with pytest.raises(GemelError, match="expected one of model, linkage"):
        document_schema("modle")
