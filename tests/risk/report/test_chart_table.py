"""The table beside a chart has the numbers that the chart draws."""

from __future__ import annotations

import altair as alt

from gemel.risk.report import draw
from gemel.risk.report.drawing import tables


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
