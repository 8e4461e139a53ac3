"""What a run needs of the two contributions, in every mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from gemel.carole.arrays import F64, I64, U32
from gemel.carole.blocking.block_size_cap import Skew
from gemel.carole.blocking.candidates import Block
from gemel.carole.comparison.counting import Counts
from gemel.carole.engine.pairs.selection import FieldsPresent
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.run.plan import FieldPlan, LinkagePlan
from gemel.carole.engine.run.resources import RunContext
from gemel.carole.fellegi_sunter.dependence import OutsideBlocks
from gemel.common.documents.result_warning import ResultWarning
from gemel.common.progress import StageProgress


class Blocked(Protocol):
    """What is known of the blocks of all rules, by their sizes."""

    @property
    def pairs_per_rule(self) -> tuple[int, ...]:
        """Pairs that satisfy each rule; a pair may satisfy several."""

    @property
    def rows_without_key(self) -> tuple[int, int]:
        """Rows of A and of B that have no key under any rule."""

    def blocks_above(self, pairs: int) -> list[Block]:
        """Blocks of more than `pairs` pairs, the largest first."""


class ChanceAgreement(Protocol):
    """How random pairs of records agree, whichever blocks they are in."""

    def levels(self, progress: StageProgress) -> F64:
        """Numbers of pairs by comparison and level, shape (n_compared, maximum of levels), in any one unit."""

    def outside_blocks(self) -> OutsideBlocks:
        """Comparison vectors of pairs that blocking leaves out; MEMORY if they do not fit."""

    def missing(self) -> dict[str, tuple[float, float]]:
        """Per comparison the share of records of A and of B without a value."""

    def strangers(self, field: FieldPlan) -> float:
        """The share of pairs of records with the check field that agree in it; 0 if there is none."""


class ComparedPairs(Protocol):
    """The pairs of a run: counted in one pass, and kept in another (`WholePairs`, `ShardedPairs`, `SharedPairs`)."""

    n_rows: tuple[int, int]
    skews: tuple[Skew, ...]

    @property
    def by_chance(self) -> ChanceAgreement:
        """How random pairs of records agree."""

    @property
    def blocked(self) -> Blocked:
        """What is known of the blocks, where there are rules."""

    def count(self, progress: StageProgress) -> Counts:
        """Count the comparison vectors of all pairs; MEMORY if they do not fit."""

    def keep(self, code: I64, mask: U32, pattern: I64, progress: StageProgress) -> KeptPairs:
        """The pairs that have one of some vectors, with the number of each."""

    def record_facts(self) -> tuple[tuple[FieldsPresent, FieldsPresent], tuple[int, int]]:
        """Of A and of B: which fields records lack, and how many records equal another."""


class LinkageInput(Protocol):
    """Two contributions: whole files (`WholeFiles`, modes open and trusted), block-keyed ones (`BlockKeyedFiles`), or
    what was opened of shared ones (`SharedFiles`).
    """

    within: bool
    sides: tuple[str, ...]

    @property
    def n_records(self) -> tuple[int, int]: ...

    def check(self, plan: LinkagePlan) -> None:
        """Raise `GemelError` unless the contributions hold what the plan needs, and the mode supports it."""

    def pairs(self, context: RunContext, progress: StageProgress) -> ComparedPairs:
        """The pairs to compare; MEMORY where what they need does not fit."""

    def warnings(self) -> Iterator[ResultWarning]:
        """Warnings about the contributions beside those of every mode."""
