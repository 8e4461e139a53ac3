"""The text of a specification with something of everything, and what most tests do with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemel.common.errors import GemelErrors
from gemel.common.specification import Specification, dump_specification, load_specification, specification_notes

EXAMPLE = Path(__file__).with_name("example.yaml").read_text(encoding="utf-8")


def notes_of(given: str | Specification) -> str:
    """The notes of a specification, one a line."""
    return "\n".join(specification_notes(load_specification(given) if isinstance(given, str) else given))


def refuse(text: str, match: str) -> None:
    """A specification that is refused, in these words."""
    with pytest.raises(GemelErrors, match=match):
        load_specification(text)


def read_back(text: str) -> Specification:
    """A specification that, written out, is read as the same."""
    spec = load_specification(text)
    assert load_specification(dump_specification(spec)) == spec
    return spec
