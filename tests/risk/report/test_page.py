"""The shell that all reports share: escaped, without script or network, and readable on a dark ground."""

from __future__ import annotations

import re
from pathlib import Path

import altair as alt
import pytest
from jinja2 import UndefinedError

from gemel.risk.report import draw, page, rendered, write_page
from gemel.risk.report.attribution import render as tables_page
from gemel.risk.report.drawing import COLOURS, TEAL
from gemel.risk.report.identification import render as records_page


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
