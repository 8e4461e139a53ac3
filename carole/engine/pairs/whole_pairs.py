"""The pairs of a run of whole files, compared in two passes over rows that are in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gemel.carole.blocking import AllPairs, AscendingPairs
from gemel.carole.comparison.counting import Counts
from gemel.carole.engine.pairs.check_agreement import agreement
from gemel.carole.engine.pairs.duplicates import equal_records
from gemel.carole.engine.pairs.linkage_input import Blocked, BothSets
from gemel.carole.engine.pairs.preparation import input_bytes, level_tables
from gemel.carole.engine.pairs.sample_groups import Samples
from gemel.carole.engine.pairs.sampled_agreement import SampledAgreement
from gemel.carole.engine.pairs.sources import Source
from gemel.carole.engine.pairs.stream import KeptPairs, PairStream, StreamedPairs
from gemel.carole.engine.pairs.unlinkable import FieldsPresent, fields_present
from gemel.carole.engine.pairs.vectors import ComparisonVectors
from gemel.carole.engine.run.run_context import PATTERNS_SHARE, RunContext
from gemel.common.progress import StageProgress

STORED_SHARE = 0.5
"""Share of the memory left that packed vectors may take between the passes."""


class WholePairs:
    """The pairs of a source of two sets of rows."""

    def __init__(
        self,
        rows: BothSets,
        source: Source,
        records: Samples,
        context: RunContext,
        progress: StageProgress,
    ) -> None:
        self._rows, self._records, self._context = rows, records.rows, context
        self._source = source.pairs
        self.n_rows = rows[0].n_rows, rows[1].n_rows
        self.skews = source.skews
        plan, budget = context.plan, context.budget
        work = PairStream.workspace_bytes(context.threads)
        budget.take(work, "the threads' working space", "use fewer threads")
        n_pairs = source.pairs.n_pairs
        tables = level_tables(*rows, plan, n_pairs, budget, context.pool, progress)
        maximum = context.max_patterns(n_pairs)
        store = budget.try_take(PairStream.stored_bytes(n_pairs), STORED_SHARE * (1 - PATTERNS_SHARE))
        vectors = ComparisonVectors(*rows, plan, context.packing, tables)
        self.by_chance = SampledAgreement(records, context, tables, self._mark)
        pairs = AscendingPairs(source.pairs) if records.within else source.pairs
        self._stream = PairStream(pairs, vectors, context.pool, context.threads, max_patterns=maximum, store=store)

    @property
    def blocked(self) -> Blocked:
        """What is known of the blocks; there are none without rules."""
        assert not isinstance(self._source, AllPairs)  # noqa: S101
        return self._source

    def _mark(self, row_a: NDArray[np.int32], row_b: NDArray[np.int32], n: int, mask: NDArray[np.uint32]) -> None:
        """Write the rules that each of the first `n` pairs of rows satisfies."""
        assert not isinstance(self._source, AllPairs)  # noqa: S101
        self._source.mark(row_a, row_b, n, mask)

    def count(self, progress: StageProgress) -> Counts:
        """Count the comparison vectors: as `PairStream.count`."""
        return self._stream.count(progress)

    def keep(
        self, code: NDArray[np.int64], mask: NDArray[np.uint32], pattern: NDArray[np.int64], progress: StageProgress
    ) -> KeptPairs:
        """The pairs that have one of some vectors: as `PairStream.keep`."""
        plan = self._context.plan
        kept = self._stream.keep(code, mask, pattern, progress, last=plan.latent is None)
        if plan.check_field is None:
            return kept
        return replace(kept, agrees=agreement(*self._rows, plan.check_field, kept.row_a, kept.row_b))

    def again(self, code: NDArray[np.int64], mask: NDArray[np.uint32], n_pairs: int) -> StreamedPairs:
        """Further passes, for the extended latent step."""
        return StreamedPairs(self._stream, code, mask, n_pairs)

    def record_facts(self) -> tuple[tuple[FieldsPresent, FieldsPresent], tuple[int, int]]:
        """Of A and of B: which fields records lack, and how many records equal another."""
        a, b = self._records
        plan = self._context.plan
        return (fields_present(a, plan), fields_present(b, plan)), (equal_records(a, plan), equal_records(b, plan))


def take_input(context: RunContext, *sets: BothSets) -> None:
    """Reserve the memory of signature sets, which the caller holds."""
    total = input_bytes(*(part for both in sets for part in both))
    context.budget.take(total, "the signatures of both files", "link smaller files")
