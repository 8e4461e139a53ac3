"""Numbers, dates and lists as the present language writes them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime

from gemel.common.language.language import current, gettext, marked

_MONTHS = (
    marked("January"), marked("February"), marked("March"), marked("April"), marked("May"), marked("June"),
    marked("July"), marked("August"), marked("September"), marked("October"), marked("November"), marked("December"),
)  # fmt: skip

_NEAREST = 1e-10
"""Nearer to 0 or to 1 no share is written."""


def decimals(text: str) -> str:
    """A number that is written as in English, ``1,234.5``, with the present language's separators."""
    language = current()
    return text.translate({ord("."): language.decimal, ord(","): language.thousands})


def written(value: float, form: str = "g") -> str:
    """A number in one of the forms of `format`, such as ``.3g`` or ``,.0f``, with the present language's separators."""
    text = decimals(format(value, form))
    # In running text a sign of per cent stands apart in every language but English.
    return text if current().code == "en" else text.replace("%", "\u00a0%")


def share(value: float, minimum: int = 1) -> str:
    """Write a share in per cent, never rounding it to a 100 or a 0 that it is not: ``99.96 %``."""
    if not math.isfinite(value):
        return "–"
    if 0.0 < value < 1.0:
        value = min(max(value, _NEAREST), 1.0 - _NEAREST)
    digits = minimum
    while 0.0 < value < 1.0 and float(f"{value * 100.0:.{digits}f}") in (0.0, 100.0):
        digits += 1
    return decimals(f"{value * 100.0:.{digits}f}\u00a0%")


def day(at: datetime) -> str:
    """A day: ``27 November 2026``."""
    language = current()
    first = language.first if at.day == 1 else str(at.day)
    return language.date.format(day=first, month=gettext(_MONTHS[at.month - 1]), year=at.year)


def moment(at: datetime) -> str:
    """A day and a time: ``27 November 2026, 14:05``."""
    return f"{day(at)}, {at:%H:%M}"


def listed(names: Sequence[str]) -> str:
    """Names one after the other, the last after an "and"; empty if there are none."""
    if len(names) < 2:
        return "".join(names)
    return gettext("{names} and {last}").format(names=", ".join(names[:-1]), last=names[-1])


def clauses(texts: Iterable[str]) -> str:
    """Parts of a sentence one after the other."""
    return gettext("; ").join(texts)


def named(name: str, text: str) -> str:
    return gettext("{name}: {text}").format(name=name, text=text)
