"""Warnings: the registry and its producers agree, and a warning reads the same in documents and on a terminal."""

from __future__ import annotations

import ast
from pathlib import Path
from string import Formatter

import pytest

from gemel.common.documents.document import Document
from gemel.common.documents.result_warning import ResultWarning, by_severity, result_warning, warnings_tables
from gemel.common.documents.warning_codes import BY_SUBJECT, SEVERITIES, WARNING_CODES
from gemel.common.errors import GemelErrors
from tests.architecture.tree import PRODUCT

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
    entries = [entry for entries in BY_SUBJECT.values() for entry in entries]
    assert len(entries) == len(WARNING_CODES)
    table = warnings_tables()
    for entry in entries:
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
