"""The shell that all reports share: escaped, without script or network, and readable on a dark ground."""

from __future__ import annotations

import re
from pathlib import Path

import altair as alt
import pytest
from jinja2 import UndefinedError

from gemel.common.documents.result_warning import result_warning
from gemel.common.language import in_language
from gemel.risk.report import draw, page, rendered, write_page
from gemel.risk.report.attribution import render as tables_page
from gemel.risk.report.drawing import COLOURS, TEAL, tables
from gemel.risk.report.identification import render as records_page
from gemel.risk.report.page import WARNINGS, Phrases


@pytest.fixture(scope="module")
def pages() -> list[str]:
    from gemel.risk.attribution.table_assessment import assess as assess_tables
    from gemel.risk.identification.assessment.file_assessment import assess as assess_records
    from gemel.risk.identification.key_file import KeyFile
    from tests.risk.attribution.test_releases import FIGURE_18, release_of
    from tests.risk.identification.test_assessment import KEYS, people

    columns = {key: people(300)[key].to_list() for key in KEYS}
    return [
        records_page(assess_records(KeyFile.from_columns(columns, 0.1))),
        tables_page(assess_tables(release_of(FIGURE_18))),
    ]


def test_every_report_is_in_the_shell(pages: list[str]) -> None:
    for text in pages:
        assert "default-src 'none'; style-src 'unsafe-inline'" in text
        assert text.count("<h1>") == 1
        assert text.count("<section>") == text.count("</section>") > 2
        assert not re.search(r"<script|src=|href=", text)
    styles = {re.findall(r"<style>.*?</style>", text, flags=re.DOTALL)[0] for text in pages}
    assert len(styles) == 1


def test_what_a_chart_draws_has_a_colour_on_a_dark_ground(pages: list[str]) -> None:
    light = {pair[0] for pair in COLOURS.values()}
    for text in pages:
        drawn = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]+)"', "".join(re.findall(r"<svg.*?</svg>", text))))
        assert TEAL in drawn
        assert drawn <= light


def test_a_template_is_escaped_and_may_leave_nothing_undefined(monkeypatch: pytest.MonkeyPatch) -> None:
    text = page._text
    child = '{% extends "shell.html.j2" %}{% block body %}{{ content }}{% endblock %}'
    monkeypatch.setattr(page, "_text", lambda package, name: child if name == "child" else text(package, name))
    assert "&lt;b&gt;" in rendered("gemel.risk.report", "child", {"content": "<b>"}, filters={})
    with pytest.raises(UndefinedError):
        rendered("gemel.risk.report", "child", {}, filters={})


def test_a_chart_says_what_it_shows_to_whoever_cannot_see_it() -> None:
    bars = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_bar().encode(x="x:Q")
    drawn = draw(bars, "bars", "one <bar>")
    assert '<title id="bars-alt">one &lt;bar&gt;</title>' in drawn
    assert 'aria-labelledby="bars-alt"' in drawn


def test_a_page_replaces_the_one_before_it_or_leaves_it(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_page(path, "one")
    write_page(path, "two")
    with pytest.raises(UnicodeEncodeError):
        write_page(path, "\ud800")
    assert path.read_text() == "two"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("value", "words"), [(None, "-"), (0.0, "0"), (0.5, "0.5"), (1.0, "1"), (0.00012, "0.00012"), (12.0, "12")]
)
def test_shares_in_words(value: float | None, words: str) -> None:
    assert page.share(value) == words


# The table beside a chart has the numbers that the chart draws.


def _bars(values: list[dict[str, object]]) -> alt.Chart:
    return (
        alt.Chart(alt.InlineData(values=values))
        .mark_bar()
        .encode(x=alt.X("people:Q", title="number of people"), y=alt.Y("town:N", title=None))
    )


def test_rows_are_those_of_the_chart_with_the_words_first() -> None:
    [table] = tables(_bars([{"town": "Ash", "people": 12345}, {"town": "Elm", "people": 0.25}]).to_dict())
    assert table.columns == ["town", "number of people"]
    assert table.rows == [["Ash", "12,345"], ["Elm", "0.25"]]


def test_panels_have_a_table_each_and_marks_of_one_row_none() -> None:
    values: list[dict[str, object]] = [{"town": "Ash", "people": 1}, {"town": "Elm", "people": 2}]
    rule = alt.Chart(alt.InlineData(values=[{"people": 1.5, "town": "limit"}])).mark_rule().encode(x="people:Q")
    chart = alt.hconcat(alt.layer(_bars(values), rule).properties(title="left"), _bars(values[::-1]))
    found = tables(chart.to_dict())
    assert [table.caption for table in found] == ["left", ""]
    assert [row[0] for row in found[1].rows] == ["Elm", "Ash"]


def test_a_long_curve_is_thinned_and_says_so() -> None:
    curve = alt.Chart(alt.InlineData(values=[{"a": k / 7, "b": k} for k in range(600)])).mark_line()
    [table] = tables(curve.encode(x="a:Q", y="b:Q").to_dict())
    assert len(table.rows) == 60
    assert table.left_out == 540
    assert table.rows[1] == ["1.429", "10"]


def test_what_a_cell_holds_is_escaped() -> None:
    drawn = draw(_bars([{"town": "<b>", "people": 1}, {"town": "Elm", "people": 2}]), "x", "words")
    assert "<td>&lt;b&gt;</td>" in drawn
    assert 'tabindex="0"' in drawn


# Sentences of documents: recognised by their form, with their figures; what is unknown stays and is marked.

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
