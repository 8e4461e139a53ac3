"""The words of notes, which are in ``notes.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path

WORDS: dict[str, str] = tomllib.loads(Path(__file__).with_name("notes.toml").read_text(encoding="utf-8"))


def note(name: str, **figures: object) -> str:
    """The note of a name, with the names and figures that stand in braces in its words."""
    return WORDS[name].format(**figures)
