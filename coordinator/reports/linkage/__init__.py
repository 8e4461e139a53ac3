"""The linkage report: one HTML file that needs no network, no script and no record.

``write_report`` turns a :class:`ReportContent` - the plain dictionaries that are also written as ``model.json``,
``linkage.json`` and ``evaluation.json`` - into a page for the statistician who fitted the model and the steward who
must sign what comes out. `content` says what the dictionaries hold and `documents` types them, `charts` draws,
`wording` says it in sentences, `page` puts it together.
"""

from .content import ReportContent
from .page import render_report, write_report

__all__ = ["ReportContent", "render_report", "write_report"]
