"""The linkage report in another language: everything on the page is translated, and the figures stay."""

from __future__ import annotations

import ast
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import gemel.carole
from gemel.coordinator.reports.linkage import render_report
from gemel.coordinator.reports.linkage.statistics_phrases import STAGES, phrases_of
from tests.common.language.pseudo import Marks, marking, unmarked
from tests.coordinator.reports.linkage.documents import content_of
from tests.coordinator.reports.linkage.test_page import EFFECT, LATENT, without_truth

OWN = phrases_of("gemel.coordinator.reports.linkage")
NAMES = {"Gemel", "Alice", "Bob", "F1", "demo", "multinomial", "exact", "lr_weighted", "Age", "Car", "born", "named"}


def shown(documents: dict[str, Any]) -> list[dict[str, Any]]:
    """With the truth and values; without the truth, blocked, its claim checked; of one file."""
    documents = deepcopy(documents)
    if documents["model"].get("standard_errors"):
        documents["model"]["standard_errors"]["of"] = f"{OWN[1]}; {OWN[3]}"
    for stage, name in zip(documents["timings"]["stages"], STAGES, strict=False):
        stage["name"] = name
    whole = deepcopy(documents)
    whole["linkage"]["latent"] = {**LATENT, "effect": EFFECT, "precision": 64.0}
    whole["model"]["dependence"] = dependence([field["name"] for field in documents["model"]["fields"]])
    whole["run"] |= {"invented": True, "variables": 2, "mode": "block_keyed", "joined": True}
    blocked = without_truth(documents)
    blocked["run"] |= {"variables": 2, "assessed": True, "mode": "block_keyed"}
    interval = {"value": 0.9, "lower": 0.8, "upper": 0.95}
    blocked["linkage"]["quality"] = [
        {
            "method": "decoys",
            "precision": interval,
            "observations": 200,
            "supposes": ["people of either file who are not in the other resemble its records as decoys do"],
        }
    ]
    blocked["model"]["standard_errors"] = None
    alone = deepcopy(documents)
    alone["run"] |= {"one_file": True, "mode": "trusted"}
    alone["evaluation"] = None
    return [whole, blocked, alone]


def dependence(fields: list[str]) -> dict[str, Any]:
    """Kinds of pairs of each form, dependent fields, and both kinds of misfit."""
    first, second = fields[:2]
    of = {"fields": [first, second], "gain": 20.0, "observed": 0.1, "expected": 0.01}
    words = {
        "matches": f"pairs of one person differ on both {first} and {second} 5.2 times as often as independence has it "
        "(4.3% of them)",
        "others": f"pairs of two people agree on both {first} and {second} 71 times as often as independence has it "
        "(one in 2,982)",
    }
    return {
        "kind": "pairwise",
        "edges": [{"fields": [first, second], "gain": 20.0}],
        "kinds": [
            {"shared": shared, "pairs": 30.0, "one_person": 0.5, "doubt": 0.25}
            for shared in ([], fields, fields[:1], fields[:-1])
        ],
        "misfits": [of | {"within": within, "words": text} for within, text in words.items()],
    }


def names_of(documents: dict[str, Any]) -> set[str]:
    fields = [field["name"] for field in documents["model"]["fields"]]
    dashed = [rule["name"] for rule in (documents["linkage"].get("blocking") or {}).get("rules", [])]
    return NAMES | set(fields) | set(dashed)


def test_every_word_of_the_page_is_a_message_or_a_name(documents: dict[str, Any]) -> None:
    for case in shown(documents):
        marks = Marks()
        page = render_report(content_of(case), marking(marks))
        assert unmarked(page, names_of(case)) == set()
        foreign = set(re.findall(r'<span lang="en">([^<]*)</span>', page)) - NAMES
        assert foreign == set(), "a sentence of the documents was not recognised"


def test_the_figures_are_the_same_in_every_language(documents: dict[str, Any]) -> None:
    content = content_of(documents)
    cells = re.compile(r'<td class="n">([^<]*)</td>')
    english = [re.sub(r"[^\d]", "", cell) for cell in cells.findall(render_report(content))]
    assert len(english) > 50
    for language, title in (("de", "Verknüpfungsbericht"), ("fr", "rapport d’appariement")):
        page = render_report(content, language)  # type: ignore[arg-type]
        assert f'<html lang="{language}">' in page
        assert title in page
        assert [re.sub(r"[^\d]", "", cell) for cell in cells.findall(page)] == english
        assert not [cell for cell in cells.findall(page) if re.search(r"\d\.\d", cell)]


def test_the_phrases_are_those_that_carole_writes() -> None:
    constants = "\n".join(
        node.value
        for folder in ("engine", "fellegi_sunter", "evaluation", "service", "extended_latent")
        for path in (Path(gemel.carole.__file__).parent / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    absent = [
        part
        for phrase in OWN
        for part in re.split(r"\{[^{}]*\}", phrase)
        if len(part) > 5 and part.strip() not in constants and phrase != "agreement alone"
    ]
    assert absent == []
