"""Pages of a report: one HTML file without script or network, its look, its colours, its charts.

`page` puts a template into the shell that all share and writes the page, `drawing` has the colours and draws charts as
inline SVG; `attribution`, `identification`, `magnitude`, `protection` fill the pages of `gemel risk`.
"""

from gemel.risk.report.drawing import draw
from gemel.risk.report.page import rendered, write_page

__all__ = ["draw", "rendered", "write_page"]
