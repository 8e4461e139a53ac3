"""The tables of docs/glossary.md: words that are not used, the words that are, and the exceptions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "glossary.md"

_ROW = re.compile(r"^\| ([a-z_, ]+) \| ([^|]+) \|([^|]*)\|$", re.MULTILINE)
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


@dataclass(frozen=True)
class Table:
    """One table of the page."""

    refused: dict[str, str]
    """Word to its replacement."""
    excepted: frozenset[str]
    """What stands as code in the last column."""


@cache
def table(heading: str) -> Table:
    """The table under a heading of the page."""
    _, found, section = PAGE.read_text(encoding="utf-8").partition(f"\n### {heading}\n")
    assert found, f"{PAGE.name} has no heading {heading!r}"
    rows = [row for row in _ROW.findall(section.partition("\n#")[0]) if row[0] != "not"]
    return Table(
        {word.strip(): instead.strip() for words, instead, _ in rows for word in words.split(",")},
        frozenset(name for _, _, allowed in rows for name in re.findall(r"`([^`]+)`", allowed)),
    )


def words(identifier: str) -> set[str]:
    """The words of an identifier: at underscores, and where capitals begin one."""
    return {word.lower() for part in identifier.split("_") for word in _WORD.findall(part)}
