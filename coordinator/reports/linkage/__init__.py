"""The linkage report: one HTML file that needs no network, no script and no record.

``write_report`` turns a :class:`ReportContent` - the documents ``model.json``, ``linkage.json`` and ``evaluation.json``
of `gemel.common.documents` - into a page for the statistician who fitted the model and the steward who must sign what
comes out. `content` holds the documents together, `charts` draws, `wording` states the findings in sentences,
`page` renders the page.
"""

from .content import ReportContent, RunDescription
from .page import charts_of, render_report, write_report

__all__ = ["ReportContent", "RunDescription", "charts_of", "render_report", "write_report"]
