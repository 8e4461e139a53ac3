"""The report's charts, drawn as inline SVG on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
from markupsafe import Markup

from gemel.risk.report import draw
from gemel.risk.report.palette import GREY, OCHRE, TEAL


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
    points = (
        alt.Chart(alt.InlineData(values=values), width=800, height=260)
        .mark_point(filled=True, size=90, opacity=1)
        .encode(
            x=alt.X("bits:Q", title="bits of information lost, a record"),
            y=alt.Y(
                "risk:Q", title="expected correct matches", scale=alt.Scale(type="log"), axis=alt.Axis(format="~%")
            ),
            color=alt.Color("state:N", scale=alt.Scale(domain=states, range=[TEAL, OCHRE, GREY])),
        )
    )
    return draw(
        points,
        "frontier",
        f"{len(values)} candidate protections by the bits of information that they lose and the expected correct "
        "matches that they leave.",
    )


def lost_chart(rows: Sequence[Mapping[str, Any]]) -> Markup:
    """What each key keeps and loses, in bits a record."""
    parts = ("kept", "lost")
    values = [
        {"key": row["key"], "part": part, "bits": bits, "order": number}
        for row in rows
        for number, (part, bits) in enumerate(zip(parts, (row["of"] - row["bits"], row["bits"]), strict=True))
    ]
    bars = (
        alt.Chart(alt.InlineData(values=values), width=680, height={"step": 24})
        .mark_bar()
        .encode(
            y=alt.Y("key:N", title=None, sort=None),
            x=alt.X("bits:Q", title="bits of information a record"),
            color=alt.Color("part:N", scale=alt.Scale(domain=list(parts), range=[TEAL, GREY])),
            order="order:Q",
        )
    )
    return draw(bars, "lost", "Bits of information a record that each key keeps and loses.")
