"""What all reports have in common: one HTML file without script or network, its look, its colours, its charts.

`page` puts a package's template into the shell and writes the page, `drawing` draws charts as inline SVG, `palette` has
the colours on a light ground and on a dark one.
"""

from gemel.risk.report.drawing import draw
from gemel.risk.report.page import rendered, write_page

__all__ = ["draw", "rendered", "write_page"]
