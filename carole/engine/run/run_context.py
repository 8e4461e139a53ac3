"""What every step of a comparison is given: the plan, the packing of its vectors, memory, threads, and where
its units are worked on."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

from gemel.carole.engine.run.memory import MemoryBudget
from gemel.carole.engine.run.packing import Packing
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.unit_pool import ThreadedUnits, UnitPool

PATTERNS_SHARE = 0.25
"""Share of the memory left that comparison vectors may take."""

PATTERN_BYTES = 200
"""Memory of a distinct comparison vector while counts are merged and the model is fitted, beside its levels."""

PATTERN_BYTES_PER_THREAD = 160
"""Memory of a distinct vector in one thread's hash table, while the table doubles."""


@dataclass(frozen=True)
class RunContext:
    """What a comparison is made by."""

    plan: LinkagePlan
    packing: Packing
    budget: MemoryBudget
    pool: Executor
    threads: int
    units: UnitPool

    @classmethod
    def of(
        cls, plan: LinkagePlan, budget: MemoryBudget, pool: Executor, threads: int, units: UnitPool | None = None
    ) -> RunContext:
        """The context of a plan's run."""
        return cls(plan, packing_of(plan), budget, pool, threads, units or ThreadedUnits(pool, threads))

    @property
    def bytes_per_pattern(self) -> int:
        """Memory of a distinct comparison vector."""
        return PATTERN_BYTES + 2 * len(self.plan.compared) + PATTERN_BYTES_PER_THREAD * self.threads

    def max_patterns(self, n_pairs: int) -> int:
        """Distinct vectors, with their masks, that memory allows."""
        # Their number is only known when they are counted; the memory set aside for them is reserved then.
        return max(1, min(n_pairs, int(PATTERNS_SHARE * self.budget.free) // self.bytes_per_pattern))


def packing_of(plan: LinkagePlan) -> Packing:
    """How the comparison vectors of a plan are packed."""
    return Packing([field.name for field in plan.compared], [len(field.bounds) for field in plan.compared])
