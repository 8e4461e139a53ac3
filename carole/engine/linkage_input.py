"""What a run needs of the two contributions, whichever mode they come in."""

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
"""Writes the rules that the first so many pairs of rows satisfy, as bits of a mask."""


class LinkageInput(Protocol):
    """Two contributions: whole files (`WholeFiles`, modes open and trusted) or block-keyed ones (`BlockKeyedFiles`).

    Attributes
    ----------
    rows
        What is compared.
    n_records
        Records of each file.
    samples
        Rows of which each field by itself is distributed as in the records of the files.
    distinct_records
        Rows of each file of which no two are the same record, as many as can be had.
    """

    @property
    def rows(self) -> BothSets: ...

    @property
    def n_records(self) -> tuple[int, int]: ...

    @property
    def samples(self) -> BothSets: ...

    @property
    def distinct_records(self) -> BothSets: ...

    def check(self, plan: LinkagePlan) -> None:
        """Raise `TrystError` unless the contributions hold what the plan needs, and the mode can do it."""

    def source(self, plan: LinkagePlan, budget: MemoryBudget, progress: StageProgress) -> Source:
        """The pairs to compare; MEMORY where their index does not fit."""

    def sample_tables(self, tables: dict[str, NDArray[np.int8]]) -> dict[str, NDArray[np.int8]]:
        """Those of the rows' level tables that hold for the samples too."""

    def sample_mark(self, pairs: BlockedPairs) -> Mark:
        """What marks pairs of the samples by the blocking rules that they satisfy, as far as that is known."""

    def warnings(self) -> Iterator[ResultWarning]:
        """What a reader of the results must know of the contributions beside what holds in every mode."""
