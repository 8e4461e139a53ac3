"""Agreement in the check field: of the kept pairs, and of random pairs of records.

The check field is compared, equal or not, but is no part of the comparison vectors that the model is fitted to. In mode
block_keyed the agreement of the kept pairs goes to the resolver with their levels of the other fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from gemel.carole.blocking.candidates import AscendingPairs, Part, stretches
from gemel.carole.engine.pairs.preparation import (
    EXACT_CELLS,
    SAMPLE_PAIRS,
    Samples,
    all_pairs_levels,
    comparison_of,
    field_levels,
    grouped_levels,
    pairs_in_groups,
    without_diagonal,
)
from gemel.carole.engine.pairs.stream import ComparisonVectors, PairStream
from gemel.carole.engine.run.plan import FieldPlan, LinkagePlan
from gemel.carole.engine.run.resources import RunContext, quiet
from gemel.carole.fellegi_sunter.kinds.joint_model import OutsideBlocks
from gemel.carole.fellegi_sunter.schemes import scheme_named
from gemel.common.arrays import F64, I8, I32, I64, U32, Flags
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.progress import StageProgress
from gemel.common.signatures.signature_sets import MISSING, SignatureSet


@dataclass(frozen=True, repr=False)
class CheckAgreement:
    """Which pairs agree in the check field.

    `agrees`: int8, shape (n_kept,): 1 or 0 of each kept pair, -1 where a record lacks the field; `strangers`: share of
    all pairs of records with the field that agree; 0 if there is none.
    """

    agrees: I8
    strangers: float

    def rows(self, selected: Flags | I64) -> CheckAgreement:
        return replace(self, agrees=self.agrees[selected])


def agreement(a: SignatureSet, b: SignatureSet, field: FieldPlan, row_a: I32, row_b: I32) -> I8:
    """Which pairs of rows agree in the check field: int8, shape (n_pairs,), as `CheckAgreement.agrees`."""
    level, top = comparison_of(a, b, field).levels(row_a, row_b), len(field.bounds) - 1
    return np.where(level > top, -1, level == top).astype(np.int8)


# Comparison vectors of pairs that blocking leaves out, from a random sample: agreement of unrelated records.
#
# The candidates are counted exactly. The others are the bulk of all pairs, and a sample of a few million of them
# shows how their levels depend on each other.


Mark = Callable[[I32, I32, int, U32], None]
"""Writes the rules that each of the first `n` pairs of rows satisfies, as bits of a mask."""

SAMPLES = (1 << 23, 1 << 20, 1 << 17)
"""Pairs drawn from the whole product: the first number whose comparison vectors fit into memory."""


class RandomPairs:
    """Random pairs of the whole product, with the blocking rules they happen to satisfy as their mask."""

    def __init__(self, n_a: int, n_b: int, mark: Mark, n_pairs: int, seed: int, groups: int = 1) -> None:
        self._n_a, self._n_b, self._groups = n_a, n_b, groups
        self._mark = mark
        self._seed = seed
        self.n_pairs = n_pairs

    def parts(self, size: int) -> Iterator[Part]:
        return stretches(0, 0, self.n_pairs, size)

    def write(self, part: Part, row_a: I32, row_b: I32, mask: U32) -> int:
        n = part.stop - part.start
        rng = np.random.default_rng([self._seed, part.start])
        row_a[:n] = rng.integers(0, self._n_a, n, dtype=np.int32)
        size_a, size_b = self._n_a // self._groups, self._n_b // self._groups
        row_b[:n] = row_a[:n] // size_a * size_b + rng.integers(0, size_b, n, dtype=np.int32)
        self._mark(row_a, row_b, n, mask)
        return n


def selected_outside(plan: LinkagePlan) -> bool:
    """Whether pairs are left out, and the model needs the joint distribution of their levels."""
    return bool(plan.rules) and plan.dependence != "none" and scheme_named(plan.scheme).facts.calibrated


class SampledAgreement:
    """The `ChanceAgreement` of samples, or of whole files in their place."""

    def __init__(self, samples: Samples, context: RunContext, tables: dict[str, I8], mark: Mark) -> None:
        self._samples, self._context, self._tables, self._mark = samples, context, tables, mark

    def levels(self, progress: StageProgress) -> F64:
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
        """Comparison vectors of pairs that blocking leaves out, from a random sample of all pairs.

        In block-keyed samples each field is drawn separately: their pairs are non-matches with independent fields.
        """
        samples, context = self._samples, self._context
        n_a, n_b = samples.n_records
        rows_a, rows_b = (part.n_rows for part in samples.rows)
        vectors = ComparisonVectors(*samples.rows, context.plan, self._tables)
        for maximum in SAMPLES:
            drawn = RandomPairs(rows_a, rows_b, self._mark, min(maximum, n_a * n_b), context.plan.seed, samples.groups)
            source, fitting = AscendingPairs(drawn) if samples.within else drawn, context.max_patterns(drawn.n_pairs)
            stream = PairStream(source, vectors, context.pool, context.threads, max_patterns=fitting, store=False)
            try:
                code, mask, count = stream.count(quiet)
                break
            except GemelError as error:
                # Fewer pairs have fewer distinct vectors, which may fit into memory.
                if error.code is not ErrorCode.MEMORY or maximum == SAMPLES[-1]:
                    raise
        outside = mask == 0
        scale = n_a * n_b / int(count.sum())
        return OutsideBlocks(context.packing.unpack(code[outside]), count[outside] * scale, scale)

    def missing(self) -> dict[str, tuple[float, float]]:
        plan = self._context.plan

        def shares(*names: str) -> tuple[float, float]:
            missing = ([part.fields[name].codes == MISSING for name in names] for part in self._samples.rows)
            a, b = (float(np.logical_or.reduce(of_side).mean()) for of_side in missing)
            return a, b

        found = {field.name: shares(field.name) for field in plan.fields}
        found |= {plan.compared[q].name: shares(*names) for names, q in zip(plan.swaps, plan.swapped, strict=True)}
        return found | {plan.compared[q].name: (0.0, 0.0) for q in plan.presence}

    def strangers(self, field: FieldPlan) -> float:
        """The share of all pairs of records with a field, or of a sample of them, that agree in it."""
        rows, groups = self._samples.rows, self._samples.groups
        if groups > 1:
            levels = field_levels(rows, field, pairs_in_groups(rows[0].n_rows, rows[1].n_rows, groups))
        else:
            pool, rng = self._context.pool, np.random.default_rng(self._context.plan.seed)
            levels = comparison_of(*rows, field).distribution(pool, rng, EXACT_CELLS, SAMPLE_PAIRS)
        total = float(levels.sum())
        return float(levels[-1]) / total if total else 0.0
