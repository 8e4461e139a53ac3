"""Identifiers of the program use the words of docs/vocabulary.md: the page is the list, and this test reads it."""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
from collections.abc import Iterator

import pytest

from tests.architecture.vocabulary import REPOSITORY, table, words

ROOMS = ("alice", "bob", "common", "risk", "carole", "coordinator", "benchmarks", "deploy")


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
    listed = table("In identifiers")
    return [
        f"line {line}: {name}: not `{word}` but {listed.refused[word]}"
        for name, line in found
        if name not in listed.excepted
        for word in sorted(words(name) & listed.refused.keys())
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
