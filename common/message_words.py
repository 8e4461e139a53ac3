"""Words that error messages are made of: a value cut to a readable length, the nearest known word, names in a row."""

from __future__ import annotations

from collections.abc import Iterable
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
