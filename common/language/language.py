"""Languages with their catalogues, and which of them is spoken at present."""

from __future__ import annotations

import gettext as catalogues
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

from gemel.common.errors import parameter

LanguageCode = Literal["en", "de", "fr"]
"""A language that reports can have, by its code in HTML."""

LANGUAGES: tuple[LanguageCode, ...] = get_args(LanguageCode)


@dataclass(frozen=True)
class Language:
    """How a language writes."""

    code: str
    decimal: str = "."
    thousands: str = ","
    """What stands before decimals, and between groups of three digits."""
    date: str = "{day} {month} {year}"
    """A day with its ``{day}``, ``{month}`` (its name) and ``{year}``."""
    first: str = "1"
    """The first day of a month, where it is no number."""
    catalogue: catalogues.NullTranslations = field(default_factory=catalogues.NullTranslations)


_THIN = "\u202f"
_WRITING = {
    "en": Language("en"),
    "de": Language("de", ",", _THIN, "{day}. {month} {year}"),
    "fr": Language("fr", ",", _THIN, first="1er"),
}
_current: ContextVar[Language] = ContextVar("language", default=_WRITING["en"])


@cache
def _language(code: str) -> Language:
    if code not in _WRITING:
        what = "expected a language in which reports are written"
        raise parameter("language", what, repr(code)[:20], f"give one of {', '.join(LANGUAGES)}")
    return _WRITING[code] if code == "en" else _with_catalogue(code, f"{code}.mo")


def console_language(code: LanguageCode) -> Language:
    """The language of a console's pages where this one was chosen: English if the consoles have no catalogue of it."""
    name = f"console.{code}.mo"
    return _with_catalogue(code, name) if files(__package__).joinpath(name).is_file() else _WRITING["en"]


def _with_catalogue(code: str, name: str) -> Language:
    with files(__package__).joinpath(name).open("rb") as file:
        return replace(_WRITING[code], catalogue=catalogues.GNUTranslations(file))


@contextmanager
def in_language(language: LanguageCode | Language) -> Iterator[Language]:
    """Write in a language whatever is rendered inside of the block, by this thread or task. Raises PARAMETER if there
    is no such language."""
    chosen = language if isinstance(language, Language) else _language(language)
    before = _current.set(chosen)
    try:
        yield chosen
    finally:
        _current.reset(before)


def current() -> Language:
    return _current.get()


def gettext(message: str) -> str:
    """A message in the present language; in English where the catalogue does not have it."""
    return _current.get().catalogue.gettext(message) if message else ""


def ngettext(one: str, several: str, number: int) -> str:
    """The form of a message for a number of things."""
    return _current.get().catalogue.ngettext(one, several, number)


def marked(message: str) -> str:
    """The same message: it stands in a table, and is translated where it is shown."""
    return message
