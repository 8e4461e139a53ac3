"""What the documents tell people to type: code blocks, and the ``tryst`` commands in them and in the text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from tests.deploy.sites import REPOSITORY

DOCUMENTS = (
    REPOSITORY / "README.md",
    REPOSITORY / "deploy/README.md",
    *(REPOSITORY / f"docs/{name}.md" for name in ("coordinator", "custodian", "linkage-unit", "certificates")),
)
"""Every document whose commands must exist."""

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def sections(path: Path) -> dict[str, str]:
    """Text by heading, without the headings."""
    parts = re.split(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def lines(text: str) -> Iterator[list[str]]:
    """Every command line of the code blocks in `text`, as words; continued lines are one."""
    for _, body in _BLOCK.findall(text):
        for line in body.replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield words


def tryst_commands(text: str) -> Iterator[list[str]]:
    """What follows ``tryst`` wherever it is called, in code blocks and in the text."""
    for words in lines(text):
        yield from _after_tryst(words)
    for code in _INLINE.findall(_BLOCK.sub("", text)):
        words = re.sub(r"\s+", " ", code).split(" ")
        # In running text a command is one that begins with it; `tryst` alone is its name.
        if words[0] == "tryst" and len(words) > 1:
            yield words[1:]


def _after_tryst(words: list[str]) -> Iterator[list[str]]:
    for at, word in enumerate(words):
        if Path(word).name == "tryst" and at + 1 < len(words):
            yield words[at + 1 :]
            return
