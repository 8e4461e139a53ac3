"""Sentences of documents: recognised by their form, with their figures; what is unknown stays and is marked."""

from __future__ import annotations

import pytest

from gemel.common.documents.result_warning import result_warning
from gemel.common.language import in_language
from gemel.risk.report.page import WARNINGS, Phrases

KNOWN = Phrases(WARNINGS)


@pytest.mark.parametrize(
    ("code", "figures", "german"),
    [
        (
            "key_often_missing",
            {"share": 0.25, "variable": "age"},
            "25\u00a0% der verknüpften Datensätze haben keinen Wert von age,",
        ),
        (
            "model_contradicts_dis",
            {"model": "the log-linear model", "implied": 0.5, "dis": 0.25, "low": 0.2, "high": 0.3,
             "direction": "too high"},
            "Nach dem log-linearen Modell ist eine eindeutige Zuordnung mit Wahrscheinlichkeit 0,5 richtig",
        ),
        ("records_without_key", {"number": "Up to 2", "side": "Alice", "total": 1500, "unit": "records"},
         "Bis zu 2 der 1\u202f500 Datensätze von Alice"),
        ("earlier_tables_left_out", {"variables": "age and sex"}, "Tabellen über age und sex wurden"),
        ("m_below_belief", {"fields": "sex 0.80 (believed 0.95), town 0.50 (believed 0.90)"},
         "sex 0,80 (angenommen 0,95), town 0,50 (angenommen 0,90)"),
        ("m_from_few_matches", {"fields": "sex 1.5, town 0.2"}, "Treffern geschätzt: sex 1,5, town 0,2."),
        ("links_exceed_smaller_file", {"links": 3000, "records": 1000, "times": 3.0}, "im Mittel 3,0-mal"),
    ],
)  # fmt: skip
def test_a_warning_is_recognised_with_its_figures(code: str, figures: dict[str, str | float], german: str) -> None:
    warning = result_warning(code, **figures)
    with in_language("de"):
        assert german in KNOWN.shown(warning.text)
    assert KNOWN.shown(warning.text) == warning.text


def test_every_warning_is_recognised_as_itself() -> None:
    with in_language("fr"):
        lost = [template for template in KNOWN.templates if "{" not in template and KNOWN.found(template) is None]
    assert lost == []


def test_a_warning_may_be_the_reason_of_another() -> None:
    text = "Within Bob's file: EM stopped after 5 iterations without converging; it was still moving away. Every"
    with in_language("de"):
        own = KNOWN.shown(f"{text} probability is provisional.")
    assert own.startswith("Innerhalb der Datei von Bob: EM endete nach 5 Iterationen")
    assert own.endswith("vorläufig.")


def test_what_is_unknown_stays_and_is_marked_as_english() -> None:
    with in_language("de"):
        assert str(KNOWN.shown("A <b>newer</b> warning.")) == (
            '<span lang="en">A &lt;b&gt;newer&lt;/b&gt; warning.</span>'
        )
        assert KNOWN.plain("A newer warning.") == "A newer warning."
    assert KNOWN.shown("A <b>newer</b> warning.") == "A <b>newer</b> warning."


def test_names_are_not_translated() -> None:
    with in_language("de"):
        assert (
            KNOWN.shown("No linked record has a value of rows.")
            == "Kein verknüpfter Datensatz hat einen Wert von rows."
        )


def test_a_long_text_of_the_forms_own_words_is_refused_at_once() -> None:
    hostile = "; ".join(["Within Alice's file: " * 50] * 200)
    with in_language("de"):
        assert KNOWN.found(hostile) is None
        assert KNOWN.found("Within Alice's file: " * 180) is None
