"""The state diagram in the architecture page is the one drawn from the table of transitions."""

from __future__ import annotations

import re
from pathlib import Path

from tryst.carole.projects.diagram import state_diagram
from tryst.carole.projects.state import State

PAGE = Path(__file__).resolve().parents[2] / "docs/architecture.md"
DIAGRAM = re.compile(r"<!-- state diagram: begin -->\n```mermaid\n(.*?)```\n<!-- state diagram: end -->", re.DOTALL)


def test_the_page_shows_the_table_of_transitions() -> None:
    [shown] = DIAGRAM.findall(PAGE.read_text(encoding="utf-8"))
    assert shown == state_diagram(), "put the output of `python -m tryst.carole.projects.diagram` between the markers"


def test_every_state_is_entered() -> None:
    entered = set(re.findall(r"--> ([A-Z]+):", state_diagram()))
    assert entered == {state.name for state in State}
