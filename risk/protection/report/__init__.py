"""The report of a protection: one HTML page without script or network, for whoever decides on the release."""

from gemel.risk.protection.report.page import render

__all__ = ["render"]
