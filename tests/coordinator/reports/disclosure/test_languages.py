"""The report on disclosure risk in another language: everything on the page is translated, and the figures stay."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import gemel.carole.assessment
import gemel.carole.store.releases
import gemel.risk.attribution.cell_bounds
import gemel.risk.attribution.shuttle
from gemel.coordinator.reports.disclosure import render_risk_report
from gemel.coordinator.reports.linkage.statistics_phrases import phrases_of
from tests.common.language.pseudo import Marks, marking, unmarked
from tests.coordinator.reports.disclosure.documents import NOT_COARSENED, TRIED, coarsened, page_of

_BUILT = {"linear programming (", "integer programming ("}
"""Parts that Carole puts together from smaller ones."""
NAMES = {"Gemel", "Alice", "Bob", "bob"}


@pytest.fixture(scope="module")
def documents(breach: dict[str, Any]) -> list[dict[str, Any]]:
    """One that is held, one that is coarsened, and one that has everything that a page may show."""
    none = {**NOT_COARSENED, "assessed": 1, "exact": False, "tried": [{**TRIED, "breaches": []}] * 9}
    done = coarsened(dict.fromkeys(breach["measures"], 0.5))
    done["changes"] = [{**done["changes"][0], "coarsening": "drop", "categories": 0, "bits": 0.0}]
    difference = {
        "runs": ["a" * 32, "b" * 32],
        "projects": ["", ""],
        "variables": ["age"],
        "reordered": True,
        "people": 3,
        "small_cells": 2,
        "small": 2,
        "attributed": 1,
        "disclosed": 2,
        "share": 0.5,
    }
    unseen = {"run": "0" * 32, "project": "", "links": 30, "reason": "it published no table"}
    table = {"variables": ["age"], "protection": "random", "base": 3, "earlier": True, "cells": 4}
    known = {
        "variable": "age",
        "intruder": "bob",
        "inferred": 0.2,
        "lower": 0.1,
        "upper": 0.3,
        "by_frequency": 0.1,
        "posterior": "with the prior taken away",
    }
    measures = {name: {**found, "earlier": 0.99} for name, found in breach["measures"].items()}
    whole = {
        **breach,
        "measures": measures,
        "on_breach": "refuse",
        "protection": none,
        "differences": {"releases": 2, "compared": 1, "tables": [difference], "unseen": [unseen]},
        "tables": [{**table, "empty_cells": 1, "small_cells": 1, "subtraction": 0.5}],
        "released_joint": [known, {**known, "intruder": "keys"}],
        "earlier_releases": 2,
        "granted": [{"to": "bob", "of": "alice", "assessed": ["age"], "not_assessed": ["region", "sex"]}],
    }
    held = {name: {**found, "limit": 1.0, "breached": False} for name, found in breach["measures"].items()}
    return [
        breach,
        whole,
        {**breach, "verdict": "within", "breaches": [], "measures": held, "protection": done, "earlier_releases": 1},
    ]


def names_of(document: dict[str, Any]) -> set[str]:
    return NAMES | {document["project"]} | {variable["name"] for variable in document["supposed"]["variables"]}


def test_every_word_of_the_page_is_a_message_or_a_name(documents: list[dict[str, Any]]) -> None:
    for document in documents:
        marks = Marks()
        page = render_risk_report(document, invented=True, sha256=bytes(32), language=marking(marks))
        assert unmarked(page, names_of(document)) == set()
        assert 'lang="qps"' in page
        assert 'lang="en"' not in page, "a sentence of the document was not recognised"


@pytest.mark.parametrize(("language", "verdict"), [("de", "Die Richtlinie ist verletzt"), ("fr", "La politique est")])
def test_the_figures_are_the_same_in_every_language(breach: dict[str, Any], language: str, verdict: str) -> None:
    english, page = page_of(breach), render_risk_report(breach, language=language)  # type: ignore[arg-type]
    assert f'<html lang="{language}">' in page
    assert verdict in page

    def figures(text: str) -> list[str]:
        cells = re.findall(r'<td class="n[^"]*">([^<]*)</td>', text)
        return [re.sub(r"[^\d]", "", cell) for cell in cells]

    assert figures(page) == figures(english)
    # No decimal point is left in a cell.
    assert not [cell for cell in re.findall(r'<td class="n[^"]*">([^<]*)</td>', page) if re.search(r"\d\.\d", cell)]


def test_the_phrases_are_those_that_carole_writes() -> None:
    folder = Path(gemel.carole.assessment.__file__).parent
    others = gemel.risk.attribution.cell_bounds, gemel.risk.attribution.shuttle, gemel.carole.store.releases
    modules = [*folder.glob("*.py"), *(Path(module.__file__) for module in others)]
    constants = "\n".join(
        node.value
        for path in modules
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    absent = []
    for phrase in phrases_of("gemel.coordinator.reports.disclosure"):
        for part in re.split(r"\{[^{}]*\}|; ", phrase):
            if (
                len(part) > 8
                and not part.endswith(" 95 % interval")
                and part not in _BUILT
                and part.strip(" ;:,()") not in constants
            ):
                absent.append(part)
    assert absent == []
