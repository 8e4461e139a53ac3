"""A report as an object: a page of HTML that shows itself in a notebook and is written to a file."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from pathlib import Path

from gemel.common.durable import whole_file

_FRAME = '<iframe srcdoc="{page}" title="{title}" sandbox style="width:100%;height:{height}px;border:0"></iframe>'


@dataclass(frozen=True)
class Report:
    """A page that needs no network and no script.

    Attributes
    ----------
    title
        What it is about, for those who cannot see it.
    html
        The whole page.
    """

    title: str
    html: str = field(repr=False)

    def write(self, path: Path | str) -> None:
        """Write the page; it appears whole or not at all, and replaces an earlier one."""
        with whole_file(Path(path), mode=0o644) as file:
            file.write(self.html.encode())

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its styles stay in it."""
        return _FRAME.format(page=html.escape(self.html, quote=True), title=html.escape(self.title), height=720)
