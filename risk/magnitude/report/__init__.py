"""The report on magnitude tables: one HTML file."""

from gemel.risk.magnitude.report.page import render

__all__ = ["render"]
