"""``--json``: what a command shows as one JSON document on standard output, which then holds nothing else.

Whatever a command has for people, words, tables, progress, warnings, goes to standard error meanwhile. So a program
reads standard output, and a person still sees what is going on. An error is a document too (`error_document`), with the
exit code that it has without.

A report is an object: a page of HTML that shows itself in a notebook and is written to a file.
"""

from __future__ import annotations

import html
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from gemel.common.durable import whole_file, write_text
from gemel.common.errors import GemelError, GemelErrors

STANDARD_OUTPUT = Path("-")
"""The name of a file that stands for standard output."""

Document = Mapping[str, Any] | Sequence[Any]


class _Output:
    """Where the document goes: standard output as it was before words were kept off it; None without ``--json``."""

    selected = False
    printed = False
    stream: TextIO | None = None


def _select(ctx: typer.Context, value: Any) -> Any:
    if ctx.resilient_parsing:
        return value
    _Output.selected, _Output.printed = value is True or value == STANDARD_OUTPUT, False
    if _Output.selected:
        ctx.with_resource(_words_on_standard_error())
    return value


Json = Annotated[
    bool, typer.Option("--json", callback=_select, help="Print JSON, for programs; words go to standard error.")
]
"""The option of a command that shows a state."""

JsonFile = Annotated[
    Path | None,
    typer.Option("--json", callback=_select, help="Where to write everything as JSON; - is standard output."),
]
"""The option of a command that computes a document."""


@contextmanager
def _words_on_standard_error() -> Iterator[None]:
    _Output.stream = sys.stdout
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _Output.stream = None


def json_awaited() -> bool:
    """Whether this process is to print a document on standard output and has not done so yet."""
    return _Output.selected and not _Output.printed


def print_json(document: Document) -> None:
    stream = _Output.stream or sys.stdout
    _Output.printed = True
    stream.write(_text(document))
    stream.flush()


def write_json(path: Path, document: Document) -> bool:
    """Write a document to a file, whole or not at all, or to standard output; whether there is a file now."""
    if path == STANDARD_OUTPUT:
        print_json(document)
        return False
    write_text(path, _text(document))
    return True


def error_document(error: GemelError) -> dict[str, Any]:
    """An error as a document: ``{"error": {"code", "what", "where", "got", "remedy"}}``. Several errors found together
    are in ``errors``, each with the same keys."""
    return {"error": _error(error)}


def _error(error: GemelError) -> dict[str, Any]:
    document: dict[str, Any] = {"code": error.code.name}
    document |= {name: getattr(error, name) for name in ("what", "where", "got", "remedy")}
    if isinstance(error, GemelErrors):
        document["errors"] = [_error(each) for each in error.errors]
    return document


def _text(document: Document) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


_FRAME = '<iframe srcdoc="{page}" title="{title}" sandbox style="width:100%;height:{height}px;border:0"></iframe>'


@dataclass(frozen=True)
class Report:
    """A page that needs no network and no script."""

    title: str
    """What it is about, for those who cannot see it."""
    html: str = field(repr=False)

    def write(self, path: Path | str) -> None:
        """Write the page; it appears whole or not at all, and replaces an earlier one."""
        with whole_file(Path(path), mode=0o644) as file:
            file.write(self.html.encode())

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its styles stay in it."""
        return _FRAME.format(page=html.escape(self.html, quote=True), title=html.escape(self.title), height=720)
