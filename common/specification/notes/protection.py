"""What may be coarsened before a release, and what that tells the linkage unit, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gemel.common.message_words import listed
from gemel.common.specification.model.protection import CoarseningStep, grouped
from gemel.common.specification.validation.specification import Specification


def protection_notes(spec: Specification) -> Iterator[str]:
    """Notes on `assessment.protect`."""
    protect = {} if spec.assessment is None else spec.assessment.protect
    if not protect:
        return
    changes = [f"{name} ({_steps(steps)})" for name, steps in protect.items()]
    yield (
        f"Where a limit is breached, Carole may release the result coarsened: {listed(changes)}. She takes the least"
        " change with which every limit holds, and nothing else; the audit log and the report name it. That a variable"
        " comes coarsened tells its recipients that the finer output was above a limit."
    )
    joined = [name for name, steps in protect.items() if grouped(steps)]
    if joined:
        yield (
            f"So that she can coarsen codes whose labels she does not have, the codes of {listed(joined)} are ordered"
            " by group: Carole sees which codes are in one group, and which group it is where no other has as many"
            " categories, divided in the same way."
        )


def _steps(steps: Sequence[CoarseningStep | str]) -> str:
    words = [
        f"{step.name}, {len(step.groups)} groups" if isinstance(step, CoarseningStep) else "dropped" for step in steps
    ]
    return "; then ".join(words)
