"""What the linkage unit may do to a variable instead of withholding a result: join categories into groups, or drop it.

    assessment:
      protect:
        age:
          - {name: bands, groups: {young: [0-17, 18-29], middle: [30-49], old: [50-69, 70+]}}
          - {name: halves, groups: {to_49: [0-17, 18-29, 30-49], above: [50-69, 70+]}}
          - drop

The steps of a variable are a ladder: each is coarser than the one before it. Nothing else may be changed, and nothing
that all parties have not approved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, Tag

from gemel.common.specification.model.section import BY_FORM, Name, Section, Word, folded_label
from gemel.common.specification.model.variables import MAX_CATEGORIES

MAX_STEPS = 8
DROP: Literal["drop"] = "drop"

Members = Annotated[tuple[Word, ...], Field(strict=False, max_length=MAX_CATEGORIES)]


class CoarseningStep(Section):
    """One coarsening of a variable: groups of its categories, each of which is released as one value."""

    name: Name
    """Its name in the report, the audit log and the result."""
    groups: dict[Word, Members] = Field(max_length=MAX_CATEGORIES)
    """By the name of each group its categories. Every category of the variable is in one group."""

    @property
    def group_of(self) -> dict[str, str]:
        return {folded_label(label): group for group, labels in self.groups.items() for label in labels}


Step = Annotated[Annotated[CoarseningStep, Tag("other")] | Annotated[Literal["drop"], Tag("text")], BY_FORM]
Steps = Annotated[tuple[Step, ...], Field(strict=False, min_length=1, max_length=MAX_STEPS)]
Protect = dict[Name, Steps]


def grouped(steps: Sequence[CoarseningStep | str]) -> tuple[CoarseningStep, ...]:
    return tuple(step for step in steps if isinstance(step, CoarseningStep))


def step_name(step: CoarseningStep | str) -> str:
    return step.name if isinstance(step, CoarseningStep) else DROP


def partitions(steps: Sequence[CoarseningStep | str], categories: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """By step that joins, the number of each category's group, in the specification's order of the groups."""
    found = []
    for step in grouped(steps):
        numbers = {group: number for number, group in enumerate(step.groups)}
        of: Mapping[str, str] = step.group_of
        found.append(tuple(numbers[of[folded_label(label)]] for label in categories))
    return tuple(found)
