"""Prose uses the words of the trade: comments, docstrings, other texts of programs and tests, templates and pages.

The words that it does not use are those of docs/vocabulary.md, under "In prose".
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.vocabulary import PAGE, REPOSITORY, table, words

FOLDERS = ("alice", "benchmarks", "bob", "carole", "common", "coordinator", "deploy", "docs", "protos", "risk", "tests")
TEXTS = {".css", ".html", ".j2", ".md", ".proto", ".service", ".toml", ".yaml"}
EXAMPLES = {
    PAGE: "lists the words",
    REPOSITORY / "tests" / "architecture" / "test_vocabulary.py": "has an identifier of each kind",
}
"""Files that hold the words on purpose, and why."""

REFUSED = re.compile(rf"\b({'|'.join(table('In prose').refused)})\b", re.IGNORECASE)
_ALLOWED = "|".join(r"\s+".join(phrase.split()) for phrase in sorted(table("In prose").excepted))
QUOTED = re.compile(rf"(?<=[`'\"])\s*({_ALLOWED})\s*(?=[`'\"])", re.IGNORECASE)


def of_python(text: str) -> Iterator[tuple[str, int]]:
    """Comments and strings of Python source, docstrings among them, each line with its number."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string, token.start[0]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            # The quotation marks are no part of a string's value, and allow what they enclose.
            for below, line in enumerate(f'"{node.value}"'.splitlines()):
                yield line, min(node.lineno + below, node.end_lineno or node.lineno)


def of_text(text: str) -> Iterator[tuple[str, int]]:
    """The lines of any other text."""
    return ((line, number) for number, line in enumerate(text.splitlines(), 1))


def violations(found: Iterator[tuple[str, int]]) -> list[str]:
    """Refused words with the line that each stands in, and the words to use instead."""
    instead = table("In prose").refused
    return sorted(
        f"line {number}: not `{word}` but {instead[word.lower()]}: {line.strip()}"
        for line, number in found
        for word in REFUSED.findall(QUOTED.sub("", line))
    )


def in_file(file: Path) -> list[str]:
    text = file.read_text(encoding="utf-8")
    return violations(of_python(text) if file.suffix == ".py" else of_text(text))


def readable(file: Path) -> bool:
    if file in EXAMPLES or file.is_symlink() or "_pb2" in file.name:
        return False
    return file.suffix in TEXTS or file.suffix == ".py"


@pytest.mark.parametrize("folder", FOLDERS)
def test_prose_uses_the_vocabulary(folder: str) -> None:
    wrong = [
        f"{file.relative_to(REPOSITORY)}: {line}"
        for file in sorted((REPOSITORY / folder).rglob("*"))
        if readable(file)
        for line in in_file(file)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_top_uses_the_vocabulary() -> None:
    files = [*REPOSITORY.glob("*.md"), REPOSITORY / "pyproject.toml", *REPOSITORY.glob("gemel/*.py")]
    wrong = [f"{file.name}: {line}" for file in sorted(files) for line in in_file(file)]
    assert not wrong, "\n".join(wrong)


def test_names_of_tests_use_the_vocabulary() -> None:
    refused = table("In prose").refused.keys()
    wrong = [
        f"{file.relative_to(REPOSITORY)}: {node.name}"
        for file in sorted((REPOSITORY / "tests").rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and words(node.name) & refused
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("word", sorted(table("In prose").refused))
def test_a_refused_word_is_found_wherever_it_stands(word: str) -> None:
    source = (
        f'"""A docstring.\n\n{word.title()} below it.\n"""\n'
        f"{word} = un{word}  # a comment, {word}\n"
        f"print(f'{{{word}}} in the text: \\n{word}', '{word}ing')\n"
    )
    assert [line.partition(" but")[0] for line in violations(of_python(source))] == [
        f"line {number}: not `{found}`" for number, found in ((3, word.title()), (5, word), (6, word))
    ]
    assert len(violations(of_text(f"# A page\n\nIt is {word}, {word} twice."))) == 2


@pytest.mark.parametrize("phrase", sorted(table("In prose").excepted))
def test_what_is_excepted_stands_in_quotes_or_as_code(phrase: str) -> None:
    assert not violations(of_text(f"`{phrase}` is as good as '{phrase}' and \"{phrase}\""))
    assert not violations(of_python(f"missing = ['{phrase}', 2]"))
