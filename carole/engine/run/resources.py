"""What a run may use of the machine."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

from gemel.carole.blocking.candidates import Block, largest_first
from gemel.carole.engine.run.contribution import Packing, SetReference
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.common.errors import ErrorCode, GemelError, parameter


def mebibytes(n_bytes: int) -> str:
    return f"{-(-n_bytes // 2**20):,} MiB"


KEPT_BYTES = 180
"""Memory of a kept pair, its scores and its part in the one-to-one decision."""


class MemoryBudget:
    """Memory granted and memory left."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.free = total
        self._min_free = total

    @property
    def peak(self) -> int:
        return self.total - self._min_free

    def take(self, n_bytes: int, purpose: str, remedy: str) -> None:
        """Reserve memory.

        Raises MEMORY if less is left, with the purpose, the missing amount and the remedy.
        """
        if n_bytes > self.free:
            left = f"{mebibytes(max(0, self.free))} are left of the {mebibytes(self.total)} this run may use"
            what = f"{purpose} needs {mebibytes(n_bytes)} of memory, but {left}"
            remedy = f"grant {mebibytes(self.total + n_bytes - self.free)} or more, or {remedy}"
            raise GemelError(ErrorCode.MEMORY, what, where="resources.memory_bytes", remedy=remedy)
        self._use(n_bytes)

    def try_take(self, n_bytes: int, share: float) -> bool:
        """Reserve memory if it is at most a share of what is left; return whether it was."""
        if n_bytes > share * self.free:
            return False
        self._use(n_bytes)
        return True

    def give_back(self, n_bytes: int) -> None:
        self.free += n_bytes

    def _use(self, n_bytes: int) -> None:
        self.free -= n_bytes
        self._min_free = min(self._min_free, self.free)


def quiet(fraction: float) -> None:
    """Progress that nobody follows."""


Task = TypeVar("Task")
Result = TypeVar("Result")


def in_order(
    pool: Executor, function: Callable[..., Result], tasks: Iterable[Task], in_flight: int, *shared: Any
) -> Iterator[Result]:
    """Yield the results of `function` for each task, in order; `shared` are further arguments, the same for all.

    The executor's own `map` would queue every task at once, and a large product has millions of parts. When a
    task fails, or the caller stops, tasks not yet started are cancelled and the others are waited for.
    """
    waiting: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            waiting.append(pool.submit(function, task, *shared))
            if len(waiting) >= in_flight:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
        for future in waiting:
            if not future.cancelled():
                future.exception()


# Where the units of a run in mode block_keyed are worked on: threads of this process, or other machines.
#
# The seam is the standard library's `Executor`. What it is given can be sent to another process: a function of a
# module, and references that have no key. What comes back does not depend on where it was worked on.


Value = TypeVar("Value")


class LostUnitError(Exception):
    """A unit was tried as often as is allowed, and not finished; the message says what became of it, for a person."""


class UnitPool(Protocol):
    """Where units are worked on.

    `executor`: takes them. Besides what the function raises, a unit may end with `LostUnitError`.
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
        return value


@dataclass(frozen=True)
class Resources:
    """What a run may use.

    `memory_bytes`: for the run's data, signatures included; the interpreter and its libraries need about 250 MB more;
    `units`: where a run in mode block_keyed works on its shards instead; None: on these threads.
    """

    memory_bytes: int
    threads: int
    units: UnitPools | None = None

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise parameter("resources.threads", "at least one thread", str(self.threads), "give 1 or more")


PATTERNS_SHARE = 0.25
"""Share of the memory left that comparison vectors may take."""

PATTERN_BYTES = 200
"""Memory of a distinct comparison vector while counts are merged and the model is fitted, beside its levels."""

PATTERN_BYTES_PER_THREAD = 160
"""Memory of a distinct vector in one thread's hash table, while the table doubles."""


@dataclass(frozen=True)
class RunContext:
    plan: LinkagePlan
    budget: MemoryBudget
    pool: Executor
    threads: int
    units: UnitPool

    @cached_property
    def packing(self) -> Packing:
        """Raises PARAMETER if a vector of the plan's levels does not fit."""
        return packing_of(self.plan)

    @property
    def bytes_per_pattern(self) -> int:
        return PATTERN_BYTES + 2 * len(self.plan.compared) + PATTERN_BYTES_PER_THREAD * self.threads

    def max_patterns(self, n_pairs: int) -> int:
        """Distinct vectors, with their masks, that memory allows."""
        # Their number is only known when they are counted; the memory set aside for them is reserved then.
        return max(1, min(n_pairs, int(PATTERNS_SHARE * self.budget.free) // self.bytes_per_pattern))


def packing_of(plan: LinkagePlan) -> Packing:
    return Packing([field.name for field in plan.compared], [len(field.bounds) for field in plan.compared])


@dataclass(frozen=True, repr=False)
class BlocksBySize:
    """The blocks of all rules, by their sizes."""

    pairs_per_rule: tuple[int, ...]
    large: tuple[Block, ...]
    rows_without_key: tuple[int, int] = (0, 0)

    def blocks_above(self, pairs: int) -> list[Block]:
        """Blocks of more than `pairs` pairs, `LARGE_BLOCK` at the least, the largest first."""
        return largest_first(block for block in self.large if block.pairs > pairs)
