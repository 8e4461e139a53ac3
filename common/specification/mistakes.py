"""A mistake in a specification: where, what, what was got and what to do; the paths that say where; words for lists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from tryst.common.errors import ErrorCode, TrystError

Path = tuple[str | int, ...]
"""Keys and list positions from the top of the document, such as ``("fields", 2, "levels")``."""


@dataclass(frozen=True)
class Mistake:
    """One thing to mend."""

    path: Path
    what: str
    got: str = ""
    remedy: str = ""

    def error(self, line: int | None = None) -> TrystError:
        """The mistake as an error, with its line in the file when it is known."""
        where = written(self.path)
        if line is not None:
            where = f"line {line}, {where}" if where else f"line {line}"
        return TrystError(ErrorCode.SPECIFICATION, self.what, where=where, got=self.got, remedy=self.remedy)


def written(path: Path) -> str:
    """A path as people write it: ``fields[2].levels``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def shown(value: object, limit: int = 60) -> str:
    """A value of the document for a message, cut to a readable length."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}" if len(value) else "an empty list"
    text = repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def nearest(word: object, known: Iterable[str]) -> str:
    """A remedy for a word that is not known: the nearest that is, or all of them."""
    choices = list(known)
    by_folded = {choice.casefold(): choice for choice in choices}
    close = get_close_matches(str(word).casefold(), list(by_folded), n=1, cutoff=0.6)
    if close:
        return f"did you mean {by_folded[close[0]]}?"
    return f"known here: {', '.join(choices)}" if choices else ""


def listed(names: list[str]) -> str:
    """Names one after the other, the last after an *and*."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
