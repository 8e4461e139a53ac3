"""The report on a result's disclosure risk, for a steward who is no statistician: one HTML file without a network.

``write_risk_report`` turns the document that Carole's assessment made, ``assessment.json``, into a page: the verdict
first, then each risk in plain words with its number and its intruder, where the risk lies, what would lower it, and at
the end how it was worked out. `content` picks out of the document what is shown, `wording` has the plain words,
`charts` draws, `page` puts it together; the look is that of `risk.report`.
"""

from .page import render_risk_report, write_risk_report

__all__ = ["render_risk_report", "write_risk_report"]
