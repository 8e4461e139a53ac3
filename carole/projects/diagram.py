"""The table of transitions as a state diagram in Mermaid's notation; ``python -m gemel.carole.projects.diagram``."""

from __future__ import annotations

import sys
from collections import defaultdict

from gemel.carole.projects.project import State
from gemel.carole.projects.transitions import TRANSITIONS, Action, Actor
from gemel.common.parties import CUSTODIANS


def state_diagram() -> str:
    """The life of a project: an arrow for each row that changes it, and in each state's box the other actions."""
    inside: dict[State, dict[str, None]] = defaultdict(dict)
    arrows: dict[tuple[State, State], dict[str, None]] = defaultdict(dict)
    for row in TRANSITIONS:
        label = f"{row.action} ({_actors(row.who)})"
        for state in sorted(row.states):
            if row.arrives is None or row.arrives is state:
                inside[state][label] = None
            else:
                when = f" when {row.when.text}" if row.when.text else ""
                arrows[state, row.arrives][label + when] = None
    lines = ["stateDiagram-v2", f"    [*] --> {State.DRAFT.name}: {Action.CREATE} (coordinator)"]
    for state in State:
        described = [state.name, *inside[state]]
        lines.append(f"    {state.name}: {'<br/>'.join(described)}")
    for (begin, end), labels in sorted(arrows.items()):
        lines.append(f"    {begin.name} --> {end.name}: {'<br/>'.join(labels)}")
    lines.append(f"    {State.ERASED.name} --> [*]")
    return "\n".join(lines) + "\n"


def _actors(who: frozenset[Actor]) -> str:
    named = {"custodian" if actor in CUSTODIANS else str(actor) for actor in who}
    return ", ".join(sorted(named))


if __name__ == "__main__":
    sys.stdout.write(state_diagram())
