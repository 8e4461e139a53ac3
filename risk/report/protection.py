"""Put a protection's report into a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
from markupsafe import Markup

from gemel.risk.protection.policy import decision_words
from gemel.risk.report import draw, rendered
from gemel.risk.report.drawing import GREY, OCHRE, TEAL
from gemel.risk.report.page import number, share


def frontier_chart(rows: Sequence[Mapping[str, Any]]) -> Markup:
    """Each candidate by what it loses and what risk it leaves."""
    states = ["chosen", "meets the policy", "does not meet it"]
    values = [
        {
            "bits": row["bits_lost"],
            "risk": max(row["correct_matches"], 1e-6),
            "state": states[0] if row["chosen"] else states[1] if not row["breaches"] else states[2],
        }
        for row in rows
    ]
    scale, axis = alt.Scale(type="log"), alt.Axis(format="~%")
    points = alt.Chart(alt.InlineData(values=values), width=800, height=260).mark_point(filled=True, size=90, opacity=1)
    points = points.encode(
        x=alt.X("bits:Q", title="bits of information lost, a record"),
        y=alt.Y("risk:Q", title="expected correct matches", scale=scale, axis=axis),
        color=alt.Color("state:N", scale=alt.Scale(domain=states, range=[TEAL, OCHRE, GREY])),
    )
    words = "candidate protections by the bits of information that they lose and the expected correct matches that they"
    return draw(points, "frontier", f"{len(values)} {words} leave.")


def lost_chart(rows: Sequence[Mapping[str, Any]]) -> Markup:
    """What each key keeps and loses, in bits a record."""
    parts = ("kept", "lost")
    values = [
        {"key": row["key"], "part": part, "bits": bits, "order": number}
        for row in rows
        for number, (part, bits) in enumerate(zip(parts, (row["of"] - row["bits"], row["bits"]), strict=True))
    ]
    bars = alt.Chart(alt.InlineData(values=values), width=680, height={"step": 24}).mark_bar()
    bars = bars.encode(
        y=alt.Y("key:N", title=None, sort=None),
        x=alt.X("bits:Q", title="bits of information a record"),
        color=alt.Color("part:N", scale=alt.Scale(domain=list(parts), range=[TEAL, GREY])),
        order="order:Q",
    )
    return draw(bars, "lost", "Bits of information a record that each key keeps and loses.")


_ROWS = (
    ("combinations", "combinations of key values", number),
    ("k", "fewest records that agree with a record (k)", number),
    ("below_2", "unique records", number),
    ("below_3", "records with which fewer than 3 agree", number),
    ("below_5", "records with which fewer than 5 agree", number),
    ("correct_matches", "expected correct matches, as a share of the records", share),
    ("correct_matches_strict", "the same, if missing values agree with missing values only", share),
    ("record_risk", "largest chance of a correct match of a record", share),
    ("dis", "DIS: chance that a unique match is right", share),
    ("minimal_uniques", "minimal sample uniques", number),
)

_EXACT = (
    ("correct_matches", "by the population, exactly: correct matches, as a share of the records", share),
    ("record_risk", "by the population, exactly: largest chance of a correct match of a record", share),
    ("population_uniques", "by the population, exactly: records that fit one person only", number),
)
_CALIBRATED = (
    ("tau2", "calibrated tau2: expected correct matches among unique records, with its interval"),
    ("correct_matches", "calibrated: expected correct matches, as a share of the records"),
)

_UPPER = (
    ("correct_matches", "upper end of the expected correct matches, as a share of the records"),
    ("record_risk", "upper end of the largest chance of a correct match of a record"),
)

_LIMITS = {
    "k": "at least {} records agree with each record",
    "max_correct_matches": "expected correct matches at most {} of the records",
    "max_record_risk": "no record's chance of a correct match above {}",
    "max_suppressed": "at most {} of the key values suppressed",
}


def render(report: Mapping[str, Any]) -> str:
    """The page for the report of `protect`."""
    rows = [
        {"words": words, "before": write(report["before"][name]), "after": write(report["after"][name])}
        for name, words, write in _ROWS
    ]
    exact = report["before"]["exact"] is not None
    if exact:
        rows += [
            {"words": words, **{when: write(report[when]["exact"][name]) for when in ("before", "after")}}
            for name, words, write in _EXACT
        ]
    rows += [
        {"words": words, **{when: _calibrated(report["calibrated"][when], name) for when in ("before", "after")}}
        for name, words in _CALIBRATED
    ]
    rows += [
        {"words": words, **{when: _upper(report[when]["upper"], name) for when in ("before", "after")}}
        for name, words in _UPPER
    ]
    limits = [_LIMITS[name].format(f"{value:g}") for name, value in report["log"]["policy"].items()]
    charts = {"lost": lost_chart(report["lost"]), "frontier": frontier_chart(report["frontier"])}
    changes = [
        {**change, "words": ", ".join(f"{n} {_words(v)}" for n, v in change["parameter"].items() if v != [])}
        for change in report["log"]["changes"]
    ]
    shown = {
        "r": report,
        "risk_rows": rows,
        "limits": limits,
        "exact": exact,
        "judged": decision_words(report["policy_decision"]),
        "larger": report["policy_decision"]["by"] == "larger",
        "why": {when: own["why"] for when, own in report["calibrated"].items() if "why" in own},
        "doubts": sorted({code for own in report["calibrated"].values() for code in own.get("warnings", ())}),
        "matches": {when: (report[when]["exact"] or report[when])["correct_matches"] for when in ("before", "after")},
        "changes": changes,
        "charts": charts,
        "bits": sum(row["bits"] for row in report["lost"]),
        "of": sum(row["of"] for row in report["lost"]),
    }
    filters = {"share": share, "number": number, "figure": _figure}
    return rendered(__package__, "protection.html.j2", shown, filters=filters)


def _calibrated(own: Mapping[str, Any], name: str) -> str:
    if "why" in own:
        return "-"
    value = own[name]
    if isinstance(value, dict):
        return f"{_figure(value['value'])} ({_figure(value['low'])} to {_figure(value['high'])})"
    return share(value)


def _upper(own: Mapping[str, Any], name: str) -> str:
    return f"{share(own[name])}{' (the bound 1/f)' if own['by'] == 'bound' else ''}"


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else f"{value:g}" if isinstance(value, float) else str(value)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:,.4g}"
