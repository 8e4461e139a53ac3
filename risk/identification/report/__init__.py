"""The report of a file's identification risk: one HTML page without script or network, for a data steward."""

from gemel.risk.identification.report.page import render

__all__ = ["render"]
