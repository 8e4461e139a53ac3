"""Put an assessment into a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from gemel.risk.attribution.report.charts import sap_chart
from gemel.risk.report import rendered
from gemel.risk.report.page import number, share

_SHOWN = 60


def render(assessment: Mapping[str, Any]) -> str:
    """The page for an assessment (the dictionary that `assessment.assess` makes).

    Cells are listed the most exposed first, and only so many: the JSON has them all.
    """
    cells = sorted(assessment["bounds"]["cells"], key=_exposure)
    sap = assessment["sap"]
    shown = {
        "a": assessment,
        "shown": cells[:_SHOWN],
        "hidden": max(0, len(cells) - _SHOWN),
        "chart": sap_chart(sap) if sap["computed"] else Markup(""),
        "most": _SHOWN,
    }
    return rendered(__package__, "page.html.j2", shown, filters={"share": share, "number": number})


def _exposure(cell: Mapping[str, Any]) -> tuple[int, int]:
    """Known exactly first, then narrow ranges, small counts first."""
    if cell["upper"] is None:
        return (2**31, 0)
    return (cell["upper"] - cell["lower"], cell["upper"])
