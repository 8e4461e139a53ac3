"""The text of a specification with something of everything, and what most tests do with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemel.common.errors import ErrorCode, GemelErrors
from gemel.common.specification import Specification, load_specification, specification_notes
from gemel.coordinator.draft.specification_text import dump_specification

EXAMPLE = Path(__file__).with_name("example.yaml").read_text(encoding="utf-8")


def notes_of(given: str | Specification) -> str:
    """The notes of a specification, one a line."""
    return "\n".join(specification_notes(load_specification(given) if isinstance(given, str) else given))


def refuse(text: str, match: str = "") -> list[str]:
    """The issues of a specification that is refused, in these words, one line each."""
    with pytest.raises(GemelErrors, match=match or None) as caught:
        load_specification(text, "linkage.yaml")
    assert caught.value.code is ErrorCode.SPECIFICATION
    assert str(caught.value).startswith("linkage.yaml: ")
    return [str(error) for error in caught.value.errors]


def refuse_at(text: str, where: str, what: str) -> list[str]:
    """As `refuse`, and an issue at this place has these words."""
    issues = refuse(text)
    assert any(f", {where}: " in issue and what in issue for issue in issues), issues
    return issues


def read_back(text: str) -> Specification:
    """A specification that, written out, is read as the same."""
    spec = load_specification(text)
    assert load_specification(dump_specification(spec)) == spec
    return spec
