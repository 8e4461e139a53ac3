"""A language that is no language: each message stands between marks, so that what is not translated shows.

`Marks` keeps what it was given; `unmarked` finds the words of a page that are outside of all marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from gettext import NullTranslations
from html import escape
from html.parser import HTMLParser

from gemel.common.language import Language

_VOID = {"meta", "br", "path", "circle", "img", "input", "link"}
_SPOKEN = {"aria-label", "title", "alt", "placeholder", "data-label", "data-announce"}
"""Attributes that are read by people."""


class Marks(NullTranslations):
    """Marks messages, and keeps them."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: set[str] = set()

    def gettext(self, message: str) -> str:
        self.messages.add(message)
        return f"«{message}»"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        self.messages.add(msgid1)
        return f"«{msgid1 if n == 1 else msgid2}»"


def marking(catalogue: Marks) -> Language:
    """The language with these marks."""
    return Language("qps", ",", "\u202f", catalogue=catalogue)


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.inside: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.texts += [value for name, value in attrs if name in _SPOKEN and value]
        if tag not in _VOID:
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        # Code and style are of no language, and what was typed in is of its writer's.
        if not {"style", "code", "pre", "textarea"} & set(self.inside):
            self.texts.append(data)


def without(page: str, texts: Iterable[str]) -> str:
    """A page without texts of others, which stand on it as they are."""
    for text in sorted(texts, key=len, reverse=True):
        page = page.replace(escape(text, quote=False).replace('"', "&#34;").replace("'", "&#39;"), "")
    return page


def unmarked(page: str, names: set[str]) -> set[str]:
    """The words of a page, two letters and more, that are in no message and are none of the names."""
    parser = _Texts()
    parser.feed(page)
    depth, outside = 0, []
    for text in parser.texts:
        for character in text:
            depth += (character == "«") - (character == "»")
            if depth <= 0 and character not in "«»":
                outside.append(character)
        outside.append("\n")
    assert depth == 0, "a message was cut"
    # A power of ten and a unit are written the same in all languages.
    figures = re.sub(r"[\d.,]+e-?\d+|\d+\s(?:min|[GM]iB|s)\b", "", "".join(outside))
    return set(re.findall(r"[^\W\d_][\w'-]+", figures)) - names
