"""Put an assessment into a page."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined
from markupsafe import Markup

from risk.attribution.report.charts import sap_chart

_SHOWN = 60


def render(assessment: Mapping[str, Any]) -> str:
    """The page for an assessment (the dictionary that `assessment.assess` makes).

    Cells are listed the most exposed first, and only so many: the JSON has them all.
    """
    environment = Environment(
        loader=BaseLoader(), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"share": _share, "number": _number}
    text = files(__package__).joinpath("page.html.j2").read_text(encoding="utf-8")
    cells = sorted(assessment["bounds"]["cells"], key=_exposure)
    sap = assessment["sap"]
    return environment.from_string(text).render(
        a=assessment,
        shown=cells[:_SHOWN],
        hidden=max(0, len(cells) - _SHOWN),
        chart=sap_chart(sap) if sap["computed"] else Markup(""),
        most=_SHOWN,
    )


def _exposure(cell: Mapping[str, Any]) -> tuple[int, int]:
    """Known exactly first, then narrow ranges, small counts first."""
    if cell["upper"] is None:
        return (2**31, 0)
    return (cell["upper"] - cell["lower"], cell["upper"])


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}".rstrip("0").rstrip(".") or "0"


def _number(value: int | None) -> str:
    return "none" if value is None else f"{value:,}"
