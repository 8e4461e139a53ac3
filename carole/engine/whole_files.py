"""Contributions of whole files as input of a run: a row is a record, and every row of a file is present."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tryst.carole.engine.latent import check_variables
from tryst.carole.engine.linkage_input import BothSets, Mark
from tryst.carole.engine.memory import MemoryBudget
from tryst.carole.engine.plan import LinkagePlan
from tryst.carole.engine.preparation import check
from tryst.carole.engine.sources import BlockedPairs, Source, pair_source
from tryst.common.documents.result_warning import ResultWarning
from tryst.common.encoding.signature_sets import SignatureSet
from tryst.common.progress import StageProgress


class WholeFiles:
    """The `LinkageInput` of modes open and trusted.

    Parameters
    ----------
    a, b : SignatureSet
        Of the whole files.
    """

    within: bool = False
    sample_groups: int = 1
    sides: tuple[str, ...] = ("Alice", "Bob")

    def __init__(self, a: SignatureSet, b: SignatureSet) -> None:
        self.rows: BothSets = a, b
        self.n_records = a.n_rows, b.n_rows
        self.samples = self.distinct_records = self.rows

    def check(self, plan: LinkagePlan) -> None:
        """Raise `TrystError` unless both sets hold what the plan needs."""
        check(*self.rows, plan)
        if plan.latent is not None:
            check_variables(*self.rows, plan.latent)

    def source(self, plan: LinkagePlan, budget: MemoryBudget, progress: StageProgress) -> Source:
        """All pairs, or those of the rules."""
        return pair_source(*self.rows, plan, budget, progress)

    def sample_tables(self, tables: dict[str, NDArray[np.int8]]) -> dict[str, NDArray[np.int8]]:
        """All: the rows are the samples."""
        return tables

    def sample_mark(self, pairs: BlockedPairs) -> Mark:
        """The rules' own."""
        return pairs.mark

    def warnings(self) -> Iterator[ResultWarning]:
        """None."""
        yield from ()
