"""Agreement of random pairs of records, from rows whose values are there: whole files, or samples of their fields."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemel.carole.blocking import AscendingPairs
from gemel.carole.engine.pairs.check_agreement import strangers
from gemel.carole.engine.pairs.outside_blocks import Mark, RandomPairs, sample_outside_blocks
from gemel.carole.engine.pairs.preparation import all_pairs_levels, missing_shares, without_diagonal
from gemel.carole.engine.pairs.sample_groups import Samples, grouped_levels
from gemel.carole.engine.pairs.stream import PairStream
from gemel.carole.engine.pairs.vectors import ComparisonVectors
from gemel.carole.engine.run.plan_parts import FieldPlan
from gemel.carole.engine.run.run_context import RunContext
from gemel.carole.fellegi_sunter.dependence import OutsideBlocks
from gemel.common.progress import StageProgress


class SampledAgreement:
    """The `ChanceAgreement` of samples, or of whole files in their place.

    Parameters
    ----------
    samples : Samples
    context : RunContext
    tables : dict of str to ndarray of int8
        Level tables that are valid for the samples.
    mark : callable
        Writes the rules that pairs of the samples' rows satisfy, as far as known.
    """

    def __init__(self, samples: Samples, context: RunContext, tables: dict[str, NDArray[np.int8]], mark: Mark) -> None:
        self._samples, self._context, self._tables, self._mark = samples, context, tables, mark

    def levels(self, progress: StageProgress) -> NDArray[np.float64]:
        """Numbers of pairs by field and level over the whole product, or of its sample."""
        context, (a, b) = self._context, self._samples.rows
        plan, budget = context.plan, context.budget
        if self._samples.groups > 1:
            found = grouped_levels(self._samples.rows, self._samples.groups, plan)
            progress(1.0)
            return found
        largest = max(field.signatures.nbytes for field in b.fields.values())
        scratch = 2 * largest + context.threads * 2**24
        budget.take(scratch, "the levels over all pairs", "use fewer threads")
        levels = all_pairs_levels(a, b, plan, self._tables, context.pool, progress)
        budget.give_back(scratch)
        return without_diagonal(levels, a, plan) if self._samples.within else levels

    def outside_blocks(self) -> OutsideBlocks:
        """Comparison vectors of random pairs that blocking leaves out."""
        context = self._context
        return sample_outside_blocks(self._samples, self._mark, context.plan.seed, context.packing, self._stream)

    def missing(self) -> dict[str, tuple[float, float]]:
        """Per comparison the share of records of A and of B without a value."""
        return missing_shares(*self._samples.rows, self._context.plan)

    def strangers(self, field: FieldPlan) -> float:
        """The share of pairs of records with a field that agree in it."""
        return strangers(self._samples, field, self._context.pool, self._context.plan.seed)

    def _stream(self, pairs: RandomPairs) -> PairStream:
        context = self._context
        vectors = ComparisonVectors(*self._samples.rows, context.plan, context.packing, self._tables)
        source = AscendingPairs(pairs) if self._samples.within else pairs
        maximum = context.max_patterns(pairs.n_pairs)
        return PairStream(source, vectors, context.pool, context.threads, max_patterns=maximum, store=False)
