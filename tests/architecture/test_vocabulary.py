"""Identifiers of the program use the words of docs/vocabulary.md: the page is the list, and this test reads it."""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
ROOMS = ("alice", "bob", "common", "risk", "carole", "coordinator", "benchmarks", "deploy")
PAGE = REPOSITORY / "docs" / "vocabulary.md"

_ROW = re.compile(r"^\| ([a-z_, ]+) \| ([^|]+) \|([^|]*)\|$", re.MULTILINE)
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


@cache
def refused() -> dict[str, str]:
    """Word to its replacement, as the page has them."""
    rows = [row for row in _ROW.findall(PAGE.read_text(encoding="utf-8")) if row[0] != "not"]
    return {word.strip(): instead.strip() for words, instead, _ in rows for word in words.split(",")}


@cache
def excepted() -> set[str]:
    """Identifiers that the page allows by name."""
    rows = [row for row in _ROW.findall(PAGE.read_text(encoding="utf-8")) if row[0] != "not"]
    return {name for _, _, allowed in rows for name in re.findall(r"`(\w+)`", allowed)}


def words(identifier: str) -> set[str]:
    """The words of an identifier: at underscores, and where capitals begin one."""
    return {word.lower() for part in identifier.split("_") for word in _WORD.findall(part)}


def identifiers(text: str) -> Iterator[tuple[str, int]]:
    """Every name in Python source and the line it stands in; names inside of f-strings too."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            yield token.string, token.start[0]
        elif token.type == tokenize.STRING and re.match(r"[rRbB]*[fF]", token.string):
            for node in ast.walk(ast.parse(token.string.strip(), mode="eval")):
                if isinstance(node, ast.Name):
                    yield node.id, token.start[0]
                elif isinstance(node, ast.Attribute):
                    yield node.attr, token.start[0]


def violations(found: Iterator[tuple[str, int]]) -> list[str]:
    """Identifiers that hold a refused word, with the word to use instead."""
    return [
        f"line {line}: {name}: not `{word}` but {refused()[word]}"
        for name, line in found
        if name not in excepted()
        for word in sorted(words(name) & refused().keys())
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_identifiers_use_the_vocabulary(room: str) -> None:
    files = sorted((REPOSITORY / room).rglob("*.py"))
    assert files
    wrong = {
        str(file.relative_to(REPOSITORY)): found
        for file in files
        if (found := violations(identifiers(file.read_text(encoding="utf-8"))))
    }
    assert not wrong, "\n".join(f"{file}: {line}" for file, lines in wrong.items() for line in lines)


def test_the_wire_uses_the_vocabulary() -> None:
    wrong = []
    for file in sorted((REPOSITORY / "protos").rglob("*.proto")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            code = line.partition("//")[0]
            wrong += [
                f"{file.name}: {each}" for each in violations((name, number) for name in re.findall(r"\w+", code))
            ]
    assert not wrong, "\n".join(wrong)


def test_module_names_use_the_vocabulary() -> None:
    names = [(file.stem, 0) for room in ROOMS for file in (REPOSITORY / room).rglob("*.py")]
    names += [(folder.name, 0) for room in ROOMS for folder in (REPOSITORY / room).rglob("*") if folder.is_dir()]
    assert not violations(iter(names))


def test_a_refused_word_is_found_wherever_it_stands() -> None:
    source = "def put_paper(x):\n    return f'{self.told[0]} {x}', PutPaperRequest, tolderance\n"
    assert [line.partition(": not")[0] for line in violations(identifiers(source))] == [
        "line 1: put_paper",
        "line 2: told",
        "line 2: PutPaperRequest",
    ]
