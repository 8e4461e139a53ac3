"""Parts of error messages: a value cut to a readable length, the nearest known word, names in a list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def shown(value: object, limit: int = 60) -> str:
    """A value of a document for a message, cut to a readable length."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}" if len(value) else "an empty list"
    text = repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def nearest(word: object, known: Iterable[str]) -> str:
    """A remedy for an unknown word: the nearest known one, or all of them."""
    choices = list(known)
    if (close := closest(word, choices)) is not None:
        return f"did you mean {close}?"
    return f"known here: {', '.join(choices)}" if choices else ""


def closest(word: object, known: Iterable[str]) -> str | None:
    """The known word so near to another that it was probably meant, ignoring capitals; None if there is none."""
    by_folded = {choice.casefold(): choice for choice in known}
    close = get_close_matches(str(word).casefold(), list(by_folded), n=1, cutoff=0.6)
    return by_folded[close[0]] if close else None


def listed(names: Sequence[str], conjunction: str = "and") -> str:
    """Names one after the other, the last after a conjunction; empty if there are none."""
    return f" {conjunction} ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
