"""Where the units of a run in mode block_keyed are worked on: threads of this process, or other machines.

The seam is the standard library's `Executor`. What it is given can be sent to another process: a function of a module,
and references that have no key. What comes back does not depend on where it was worked on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from gemel.carole.engine.run.contribution import SetReference
from gemel.carole.engine.run.memory import MemoryBudget

Value = TypeVar("Value")


class LostUnitError(Exception):
    """A unit was tried as often as is allowed, and not finished; the message says what became of it, for a person."""


class UnitPool(Protocol):
    """Where units are worked on.

    Attributes
    ----------
    executor
        Takes them. Besides what the function raises, a unit may end with `LostUnitError`.
    """

    @property
    def executor(self) -> Executor: ...

    def room_for(self, unit_bytes: int, budget: MemoryBudget) -> int:
        """How many units of so many bytes may be under way at a time, their memory reserved; MEMORY if not one may."""

    def shared(self, value: Value) -> Value:
        """What stands for an argument that many units have, so that it is sent once and not with each of them."""


UnitPools = Callable[[Sequence[SetReference]], AbstractContextManager[UnitPool]]
"""Opens a pool for a run that reads such sets; an error says which process of the pool could not read them."""


@dataclass(frozen=True)
class ThreadedUnits:
    """Units on threads of this process."""

    executor: Executor
    threads: int

    def room_for(self, unit_bytes: int, budget: MemoryBudget) -> int:
        """As many units as fit into half of the memory left, one for each thread at most; one in all of it."""
        for in_flight in range(self.threads, 1, -1):
            if budget.try_take(in_flight * unit_bytes, 0.5):
                return in_flight
        budget.take(unit_bytes, "the largest shard of both files", "block more finely, or use fewer bits")
        return 1

    def shared(self, value: Value) -> Value:
        """The value itself."""
        return value
