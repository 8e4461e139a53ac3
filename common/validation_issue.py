"""A validation error of a document: its path, what is wrong, the value found and the remedy."""

from __future__ import annotations

from dataclasses import dataclass

from gemel.common.errors import ErrorCode, GemelError

DocumentPath = tuple[str | int, ...]
"""Keys and list positions from the top of a document, such as ``("fields", 2, "levels")``."""


@dataclass(frozen=True)
class ValidationIssue:
    """One thing to correct in a document."""

    path: DocumentPath
    what: str
    got: str = ""
    remedy: str = ""

    def error(self, code: ErrorCode, line: int | None = None) -> GemelError:
        """The issue as an error of a kind, with its line in the file when it is known."""
        where = path_text(self.path)
        if line is not None:
            where = f"line {line}, {where}" if where else f"line {line}"
        return GemelError(code, self.what, where=where, got=self.got, remedy=self.remedy)


def path_text(path: DocumentPath) -> str:
    """A path as people write it: ``fields[2].levels``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
