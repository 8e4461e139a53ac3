"""What a run needs of the two contributions, in every mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tryst.carole.engine.memory import MemoryBudget
from tryst.carole.engine.plan import LinkagePlan
from tryst.carole.engine.sources import BlockedPairs, Source
from tryst.common.documents.result_warning import ResultWarning
from tryst.common.encoding.signature_sets import SignatureSet
from tryst.common.progress import StageProgress

BothSets = tuple[SignatureSet, SignatureSet]
"""Alice's and Bob's."""

Mark = Callable[[NDArray[np.int32], NDArray[np.int32], int, NDArray[np.uint32]], None]
"""Writes the rules that each of the first `n` pairs of rows satisfies, as bits of a mask."""


class LinkageInput(Protocol):
    """Two contributions: whole files (`WholeFiles`, modes open and trusted) or block-keyed ones (`BlockKeyedFiles`).

    Attributes
    ----------
    rows
        The rows to compare.
    n_records
        Records of each file.
    samples
        Rows in which each field separately is distributed as in the records of the files.
    sample_groups
        Groups of equal sizes that the rows of each of the samples are in; values of one group compare with those of the
        same group only. 1: all of them.
    distinct_records
        Rows of each file of which no two are the same record, as many as possible.
    within
        Whether both are one file, of which each pair of records is compared once, the earlier row first.
    sides
        What warnings call the files.
    """

    within: bool
    sides: tuple[str, ...]

    @property
    def rows(self) -> BothSets: ...

    @property
    def n_records(self) -> tuple[int, int]: ...

    @property
    def samples(self) -> BothSets: ...

    @property
    def sample_groups(self) -> int: ...

    @property
    def distinct_records(self) -> BothSets: ...

    def check(self, plan: LinkagePlan) -> None:
        """Raise `TrystError` unless the contributions hold what the plan needs, and the mode supports it."""

    def source(self, plan: LinkagePlan, budget: MemoryBudget, progress: StageProgress) -> Source:
        """The pairs to compare; MEMORY where their index does not fit."""

    def sample_tables(self, tables: dict[str, NDArray[np.int8]]) -> dict[str, NDArray[np.int8]]:
        """The rows' level tables that are valid for the samples too."""

    def sample_mark(self, pairs: BlockedPairs) -> Mark:
        """The function that marks pairs of the samples by the blocking rules that they satisfy, as far as known."""

    def warnings(self) -> Iterator[ResultWarning]:
        """Warnings about the contributions beside those of every mode."""
