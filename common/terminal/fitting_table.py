"""A table for people that cuts nothing off: where its longest words do not fit side by side, each cell has a line."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

_WIDE = 100_000


class FittingTable(Table):
    """A table of rich's, in which a cell wraps between words; too narrow a screen gets ``heading: cell`` lines."""

    def add_column(self, *arguments: Any, **named: Any) -> None:
        """Add a column as `rich.table.Table.add_column`; what is too long is folded, and never cut."""
        super().add_column(*arguments, **{"overflow": "fold", **named})

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.__rich_measure__(console, options.update_width(_WIDE)).minimum <= options.max_width:
            yield from super().__rich_console__(console, options)
            return
        if self.title is not None:
            yield self._text(console, self.title)
        headings = [self._text(console, column.header) for column in self.columns]
        for row in zip_longest(*(column.cells for column in self.columns), fillvalue=""):
            for heading, cell in zip(headings, row, strict=True):
                yield Text.assemble((f"{heading}: " if heading else "  "), self._text(console, cell), overflow="fold")
            yield ""

    @staticmethod
    def _text(console: Console, shown: Any) -> Text:
        return console.render_str(shown, highlight=False) if isinstance(shown, str) else Text(str(shown))
