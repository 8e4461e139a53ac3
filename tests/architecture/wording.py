"""Where the words of docs/glossary.md are not used: ``python -m tests.architecture.wording``, advice of `make lint`.

A line each: file, line, the word that stands there and the one to use. Identifiers of the program, of the wire and of
modules are read by the table "In identifiers"; comments, docstrings, other texts of programs and tests, names of tests,
templates and pages by the table "In prose".
"""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.architecture.tree import PRODUCT
from tests.architecture.vocabulary import PAGE, REPOSITORY, table, words

ROOMS = (*(str(folder) for folder in PRODUCT.values() if folder.name != "protos"), "benchmarks", "research", "deploy")
"""Folders whose identifiers are read."""
FOLDERS = (*ROOMS, "docs", "protos", "tests")
"""Folders whose prose is read."""
TEXTS = {".css", ".html", ".j2", ".json", ".md", ".proto", ".service", ".sql", ".toml", ".yaml"}
EXAMPLES = {PAGE, REPOSITORY / "tests" / "architecture" / "test_wording.py"}
"""Files that hold the words on purpose."""

REFUSED = re.compile(rf"\b({'|'.join(table('In prose').refused)})\b", re.IGNORECASE)
_ALLOWED = "|".join(r"\s+".join(phrase.split()) for phrase in sorted(table("In prose").excepted))
QUOTED = re.compile(rf"(?<=[`'\"])\s*({_ALLOWED})\s*(?=[`'\"])", re.IGNORECASE)


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


def wrong_identifiers(found: Iterable[tuple[str, int]]) -> list[str]:
    """Identifiers that hold a refused word, with the word to use instead."""
    listed = table("In identifiers")
    return [
        f"line {line}: {name}: not `{word}` but {listed.refused[word]}"
        for name, line in found
        if name not in listed.excepted
        for word in sorted(words(name) & listed.refused.keys())
    ]


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


def wrong_prose(found: Iterable[tuple[str, int]]) -> list[str]:
    """Refused words with the line that each stands in, and the words to use instead."""
    instead = table("In prose").refused
    return sorted(
        f"line {number}: not `{word}` but {instead[word.lower()]}: {line.strip()}"
        for line, number in found
        for word in REFUSED.findall(QUOTED.sub("", line))
    )


def in_file(file: Path) -> list[str]:
    """What one file says otherwise than the page."""
    if file in EXAMPLES or file.is_symlink() or "_pb2" in file.name or file.suffix not in {*TEXTS, ".py"}:
        return []
    text, top = file.read_text(encoding="utf-8"), file.relative_to(REPOSITORY).parts[0]
    found = []
    if REFUSED.search(text):  # few files have one: only these are parsed
        found = wrong_prose(of_python(text) if file.suffix == ".py" else of_text(text))
    names: list[tuple[str, int]] = []
    if file.suffix == ".proto":
        code = ((line.partition("//")[0], number) for line, number in of_text(text))
        names = [(name, number) for line, number in code for name in re.findall(r"\w+", line)]
    elif file.suffix == ".py" and top in ROOMS:
        names = [(file.stem, 0), (file.parent.name, 0)]
        if wrong_identifiers((name, 0) for name in set(re.findall(r"[^\W\d]\w*", text))):
            names += identifiers(text)
    elif file.suffix == ".py" and top == "tests":
        refused = table("In prose").refused.keys()
        for name in re.findall(r"^\s*(?:def|class) (\w+)", text, re.MULTILINE):
            if words(name) & refused:
                found.append(f"{name}: a word of the table In prose")
    return found + wrong_identifiers(names)


def main() -> None:
    """Print the advice; never fail by it."""
    files = [file for folder in FOLDERS for file in (REPOSITORY / folder).rglob("*")]
    files += [*REPOSITORY.glob("*.md"), REPOSITORY / "pyproject.toml", *REPOSITORY.glob("gemel/*.py")]
    for file in sorted(files):
        for line in in_file(file):
            print(f"{file.relative_to(REPOSITORY)}: {line}")


if __name__ == "__main__":
    main()
