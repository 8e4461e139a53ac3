"""What a run needs of the two contributions, in every mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tryst.carole.blocking.block_size_cap import Skew
from tryst.carole.blocking.candidates import Block
from tryst.carole.comparison.counting import Counts
from tryst.carole.engine.plan import LinkagePlan
from tryst.carole.engine.run_context import RunContext
from tryst.carole.engine.stream import KeptPairs
from tryst.carole.engine.unlinkable import FieldsPresent
from tryst.common.documents.result_warning import ResultWarning
from tryst.common.encoding.signature_sets import SignatureSet
from tryst.common.progress import StageProgress

BothSets = tuple[SignatureSet, SignatureSet]
"""Alice's and Bob's."""


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


class ComparedPairs(Protocol):
    """The pairs of a run: counted in one pass, and kept in another (`WholePairs`, `ShardedPairs`).

    Attributes
    ----------
    tables
        Level tables that are valid for the samples too.
    n_rows
        Rows of A and of B.
    skews
        How each rule's large blocks were treated.
    """

    tables: dict[str, NDArray[np.int8]]
    n_rows: tuple[int, int]
    skews: tuple[Skew, ...]

    @property
    def blocked(self) -> Blocked:
        """What is known of the blocks, where there are rules."""

    def mark(self, row_a: NDArray[np.int32], row_b: NDArray[np.int32], n: int, mask: NDArray[np.uint32]) -> None:
        """Write the rules that each of the first `n` pairs of the samples satisfies, as bits of a mask."""

    def count(self, progress: StageProgress) -> Counts:
        """Count the comparison vectors of all pairs; MEMORY if they do not fit."""

    def keep(
        self, code: NDArray[np.int64], mask: NDArray[np.uint32], pattern: NDArray[np.int64], progress: StageProgress
    ) -> KeptPairs:
        """The pairs that have one of some vectors, with the number of each."""

    def record_facts(self) -> tuple[tuple[FieldsPresent, FieldsPresent], tuple[int, int]]:
        """Of A and of B: which fields records lack, and how many records equal another."""


class LinkageInput(Protocol):
    """Two contributions: whole files (`WholeFiles`, modes open and trusted) or block-keyed ones (`BlockKeyedFiles`).

    Attributes
    ----------
    n_records
        Records of each file.
    samples
        Rows in which each field separately is distributed as in the records of the files.
    sample_groups
        Groups of equal sizes that the rows of each of the samples are in; values of one group compare with those of the
        same group only. 1: all of them.
    within
        Whether both are one file, of which each pair of records is compared once, the earlier row first.
    sides
        What warnings call the files.
    """

    within: bool
    sides: tuple[str, ...]

    @property
    def n_records(self) -> tuple[int, int]: ...

    @property
    def samples(self) -> BothSets: ...

    @property
    def sample_groups(self) -> int: ...

    def check(self, plan: LinkagePlan) -> None:
        """Raise `TrystError` unless the contributions hold what the plan needs, and the mode supports it."""

    def pairs(self, context: RunContext, progress: StageProgress) -> ComparedPairs:
        """The pairs to compare; MEMORY where what they need does not fit."""

    def warnings(self) -> Iterator[ResultWarning]:
        """Warnings about the contributions beside those of every mode."""
