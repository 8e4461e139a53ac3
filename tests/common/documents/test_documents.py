"""Documents read back as they were written, and warnings with their figures."""

from __future__ import annotations

import ast
import json
import tomllib
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from typer.testing import CliRunner

from gemel.common.documents.document import Document, Part
from gemel.common.documents.linkage_document import EvaluationDocument
from gemel.common.documents.result_warning import ResultWarning, by_severity, result_warning
from gemel.common.documents.warning_codes import SEVERITIES, SUBJECTS, WARNING_CODES
from gemel.common.errors import ErrorCode, GemelError, GemelErrors
from gemel.coordinator.commands.spec import app
from gemel.coordinator.reports.document_schemas import DOCUMENTS, document_schema
from tests.architecture.tree import PRODUCT
from tests.carole.refusals import refusal
from tests.document_reference import reference, warnings_tables

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


ROOT = Path(__file__).resolve().parents[3]


def calls() -> list[tuple[str, ast.Call]]:
    """Every call of `result_warning` in the program, with its place."""
    found = []
    for package in PRODUCT.values():
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if "result_warning(" not in text:
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "result_warning":
                    found.append((f"{path.relative_to(ROOT)}:{node.lineno}", node))
    return found


CALLS = calls()


def code_of(call: ast.Call) -> str:
    (code,) = call.args
    assert isinstance(code, ast.Constant), "the code must be written out, so that the registry can be checked"
    assert isinstance(code.value, str)
    return code.value


def figures(text: str) -> set[str]:
    """Names of the figures that a text needs."""
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize(("place", "call"), CALLS, ids=[place for place, _ in CALLS])
def test_a_producer_uses_a_registered_code_with_its_figures(place: str, call: ast.Call) -> None:
    code = code_of(call)
    assert code in WARNING_CODES, place
    assert {keyword.arg for keyword in call.keywords} == figures(WARNING_CODES[code].text), place


def test_every_registered_code_has_a_producer() -> None:
    assert {code_of(call) for _, call in CALLS} == set(WARNING_CODES)


def test_codes_are_registered_once_and_described_in_sentences() -> None:
    registry = tomllib.loads((ROOT / "common/documents/warning_codes.toml").read_text(encoding="utf-8"))
    assert list(registry) == ["subjects", *SUBJECTS]
    assert sum(len(registry[subject]) for subject in SUBJECTS) == len(WARNING_CODES)
    table = warnings_tables()
    for entry in WARNING_CODES.values():
        assert entry.severity in SEVERITIES
        assert entry.code.replace("_", "").isalnum()
        assert entry.code == entry.code.lower()
        assert f"| `{entry.code}` | {entry.severity} | {entry.meaning} | {entry.remedy or '-'} |\n" in table
        for sentence in (entry.meaning, entry.text, *([entry.remedy] if entry.remedy else [])):
            assert sentence.endswith("."), sentence
            assert "|" not in sentence
        assert entry.severity == "note" or entry.remedy, f"{entry.code} must have a remedy"


def test_a_warning_has_its_figures_and_its_line_shows_all() -> None:
    warning = result_warning("field_mostly_missing", side="Bob", field="town", share=0.75)
    assert warning.plain() == {
        "code": "field_mostly_missing",
        "severity": "warning",
        "text": "Bob has no value of town in 75% of the rows.",
        "remedy": "Check the field's column and its missing codes in this file.",
    }
    assert warning.line == f"warning: {warning.text} {warning.remedy}"
    note = result_warning("judged_pair_by_pair")
    assert "remedy" not in note.plain()
    assert note.line == f"note: {note.text}"
    assert ResultWarning.model_validate(note.plain()) == note


def test_figures_cannot_bring_in_others() -> None:
    """A name from a specification is data, even one in braces."""
    assert "{rule.__class__}" in result_warning("rule_without_pairs", rule="{rule.__class__}").text


def test_the_most_serious_come_first_each_once_otherwise_as_given() -> None:
    note = result_warning("judged_pair_by_pair")
    first, second = (result_warning("field_constant", field=name) for name in ("a", "b"))
    serious = result_warning("no_matches")
    assert by_severity([note, first, second, first, serious]) == [serious, first, second, note]
    assert SEVERITIES == ("note", "warning", "serious")


class Sample(Document):
    """A document that has warnings."""

    warnings: list[ResultWarning]


@pytest.mark.parametrize("change", [{"code": "unheard_of"}, {"severity": "fatal"}, {"extra": 1}])
def test_a_document_refuses_what_is_no_warning(change: dict[str, object]) -> None:
    good = result_warning("no_matches").plain()
    assert Sample.of({"warnings": [good]}, "sample").plain() == {"warnings": [good]}
    with pytest.raises(GemelErrors):
        Sample.of({"warnings": [{**good, **change}]}, "sample")
