"""The state diagram in the architecture page is the one drawn from the table of transitions."""

from __future__ import annotations

import re

from gemel.carole.projects.project import State
from tests.generated_docs import DOCS, state_diagram


def test_the_page_shows_the_table_of_transitions() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    assert f"```mermaid\n{state_diagram()}```\n" in page, "run `python -m tests.generated_docs`"


def test_every_state_is_entered() -> None:
    entered = set(re.findall(r"--> ([A-Z]+):", state_diagram()))
    assert entered == {state.name for state in State}
