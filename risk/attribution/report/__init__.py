"""The report on a release's attribution risk: one HTML page without script or network, for a data steward."""

from gemel.risk.attribution.report.page import render

__all__ = ["render"]
