"""The commands in the documents: code blocks, and the ``tryst`` commands in them and in the text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from tests.deploy.sites import REPOSITORY

GUIDES = tuple(
    REPOSITORY / f"docs/{name}.md"
    for name in ("cluster", "coordinator", "custodian", "linkage-unit", "certificates", "steward")
)
"""One for each role; they quote errors."""

DOCUMENTS = (
    *(REPOSITORY / name for name in ("README.md", "SECURITY.md", "deploy/README.md")),
    *GUIDES,
    *(REPOSITORY / f"docs/{name}.md" for name in ("architecture", "hardening", "threat-model", "variables")),
)
"""Every document whose commands must exist."""

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def sections(path: Path) -> dict[str, str]:
    """Text by heading, without the headings."""
    parts = re.split(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def blocks(text: str) -> list[str]:
    """The code blocks of `text`, as they are to be typed."""
    return [payload for _, payload in _BLOCK.findall(text)]


def lines(text: str) -> Iterator[list[str]]:
    """Every command line of the code blocks in `text`, as words; continued lines are one."""
    for _, payload in _BLOCK.findall(text):
        for line in payload.replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield words


def typed_commands(text: str) -> Iterator[list[str]]:
    """What follows ``tryst`` in the code blocks, whoever runs it: ``sudo``, a container, its full path."""
    for words in lines(text):
        for at, word in enumerate(words[:-1]):
            # To `helm` it is a folder.
            if Path(word).name == "tryst" and words[0] != "helm":
                yield words[at + 1 :]
                break


def named_commands(text: str) -> Iterator[list[str]]:
    """The commands that running text names, which may leave out what they need."""
    for code in _INLINE.findall(_BLOCK.sub("", text)):
        if code.split()[0] == "tryst" and len(code.split()) > 1:
            yield shlex.split(code)[1:]
