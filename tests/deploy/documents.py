"""The commands in the documents: code blocks, and the ``gemel`` commands in them and in the text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from tests.deploy.sites import REPOSITORY

ERRORS = REPOSITORY / "docs/troubleshooting.md"
"""The page of errors by the text that is printed."""

DOCUMENTS = (
    *(REPOSITORY / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "deploy/README.md")),
    *(path for path in sorted((REPOSITORY / "docs").glob("*.md")) if path.name != "commands.md"),
    *sorted((REPOSITORY / "research").glob("*.md")),
)
"""Every document whose commands must exist; docs/commands.md is made from the commands."""

_BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"^ {4}(?=gemel )(.+)$", re.MULTILINE)
_TYPED = re.compile(r"^\$ (.+(?:\\\n.+)*)$", re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def sections(path: Path) -> dict[str, str]:
    """Text by heading, without the headings."""
    parts = re.split(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def blocks(text: str) -> list[str]:
    """The code blocks of `text`, as they are to be typed."""
    return [payload for _, payload in _BLOCK.findall(text)]


def lines(text: str) -> Iterator[list[str]]:
    """Every command line of `text`, as words; continued lines are one.

    In code blocks that are typed, after ``$`` where what is printed stands beside it, or indented.
    """
    for kind, payload in _BLOCK.findall(text):
        if kind == "sh" or (kind == "" and payload.startswith("gemel ")):
            yield from _words(payload)
        elif kind == "console":
            yield from _words("\n".join(_TYPED.findall(payload)))
    yield from _words("\n".join(_INDENTED.findall(_BLOCK.sub("", text))))


def _words(payload: str) -> Iterator[list[str]]:
    for line in payload.replace("\\\n", " ").splitlines():
        # What follows `>` is a file of the shell's.
        if words := shlex.split(line.partition(" > ")[0], comments=True):
            yield words


def typed_commands(text: str) -> Iterator[list[str]]:
    """What follows ``gemel`` in the code blocks, whoever runs it: ``sudo``, a container, its full path."""
    for words in lines(text):
        for at, word in enumerate(words[:-1]):
            # To `helm` it is a folder.
            if Path(word).name == "gemel" and words[0] != "helm":
                yield words[at + 1 :]
                break


def named_commands(text: str) -> Iterator[list[str]]:
    """The commands that running text names, which may leave out what they need."""
    for code in _INLINE.findall(_BLOCK.sub("", text)):
        # `gemel keys 1` and its like are labels of what is signed or derived.
        if code.split()[0] == "gemel" and len(code.split()) > 1 and not code.split()[-1].isdigit():
            yield shlex.split(code)[1:]
