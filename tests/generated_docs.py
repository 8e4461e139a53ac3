"""What is generated of docs/: parts between two marks, drawings. ``python -m tests.generated_docs`` writes it again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

from gemel.carole.projects.project import State
from gemel.carole.projects.transitions import TRANSITIONS, Action, Actor
from gemel.common.parties import CUSTODIANS, Role
from gemel.party.comparison import TYPES
from tests.command_reference import commands_reference
from tests.document_reference import measures_table, reference, warnings_tables
from tests.drawn_docs import DRAWINGS
from tests.specification_reference import specification_reference

DOCS = Path(__file__).resolve().parent.parent / "docs"

_MEMBER = {
    Role.CUSTODIAN_A: "Alice",
    Role.CUSTODIAN_B: "Bob",
    Role.LINKER: "Carole",
    Role.COORDINATOR: "the coordinator",
    Role.STEWARD: "the steward",
    Role.ANALYST: "the analyst",
}


def calls_table() -> str:
    """Who types whose digits, as the page on the ceremony has it."""
    lines = ["| who | types what is read out by |", "|---|---|"]
    for role, typed in TYPES.items():
        read = [_MEMBER[other] for other in typed if other is not role]
        lines.append(f"| {_MEMBER[role]} | {', '.join(read)} |")
    return "\n".join(lines) + "\n"


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


STRETCHES: Mapping[tuple[str, str], Callable[[], str]] = {
    ("architecture.md", "state diagram"): lambda: f"```mermaid\n{state_diagram()}```\n",
    ("assessment.md", "measures"): measures_table,
    ("commands.md", "commands"): commands_reference,
    ("live-linkage.md", "calls"): calls_table,
    ("specification.md", "options"): specification_reference,
    ("documents.md", "documents"): reference,
    ("documents.md", "warnings"): warnings_tables,
}
"""By page and mark, what makes the text."""


def renewed(page: str, text: str) -> str:
    """A page's text with its generated parts made again; a mark that is absent or there twice is an error."""
    for (of, mark), make in STRETCHES.items():
        if of == page:
            begin, end = f"<!-- {mark}: begin -->\n", f"<!-- {mark}: end -->\n"
            before, rest = text.split(begin)
            _, after = rest.split(end)
            text = f"{before}{begin}{make()}{end}{after}"
    return text


if __name__ == "__main__":
    for name in {page for page, _ in STRETCHES}:
        path = DOCS / name
        path.write_text(renewed(name, path.read_text(encoding="utf-8")), encoding="utf-8")
    for name, draw in DRAWINGS.items():
        (DOCS / name).write_text(draw(), encoding="utf-8")
