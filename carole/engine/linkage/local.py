"""One linkage run on this machine, in bounded memory.

The contributions come as a `LinkageInput`, whole files or block-keyed ones. Level tables of distinct values, levels
over all pairs, counts of comparison vectors, the model, a second pass that keeps the pairs above a floor, and the
decision (`conclusion`). Only counts and kept pairs are held in memory; the floor is known before the second pass, since
the model has scored every vector that occurs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import numpy as np

from gemel.carole.engine.decision.decoys import WeightedPairs
from gemel.carole.engine.decision.estimated import fitted_scheme, scored_patterns, worth_keeping
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.inputs.files import BlockKeyedFiles, WholeFiles, rarity, values_of
from gemel.carole.engine.latent.refit import NOTHING_KNOWN, KnownRecords
from gemel.carole.engine.latent.step import extended
from gemel.carole.engine.pairs.check_agreement import CheckAgreement, selected_outside
from gemel.carole.engine.pairs.linkage_input import LinkageInput, run_warnings
from gemel.carole.engine.pairs.preparation import BothSets
from gemel.carole.engine.pairs.selection import KEPT_PROBABILITY, KEPT_WITH_VALUES, choose_classes
from gemel.carole.engine.pairs.stream import KeptPairs, StreamedPairs
from gemel.carole.engine.pairs.whole_pairs import WholePairs
from gemel.carole.engine.run.contribution import Contribution
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.resources import (
    KEPT_BYTES,
    MemoryBudget,
    Resources,
    RunContext,
    ThreadedUnits,
    UnitPool,
    quiet,
)
from gemel.carole.engine.run.result import Linkage
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.carole.fellegi_sunter.schemes import FittedScheme
from gemel.common.arrays import I64
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.progress import Progress, StageProgress


def compare(
    a: Contribution, b: Contribution, plan: LinkagePlan, resources: Resources, progress: Progress
) -> tuple[Candidates, KeptPairs]:
    """Compare two contributions of block-keyed mode: the first half of a run, without a resolver.

    Returns what `conclude` takes, which must know which rows are one record, and the candidate pairs, by rows of `a`
    and `b`. Raises as `link`; PARAMETER if a block has more pairs than its rule allows.
    """
    run = Run(BlockKeyedFiles(a, b), plan, resources, progress)
    opened = nullcontext() if resources.units is None else resources.units((a.reference(0), b.reference(0)))
    with ThreadPoolExecutor(resources.threads, thread_name_prefix="linkage") as pool, opened as units:
        found, kept, _ = run.compared(pool, units)
    return found, kept


class Run:
    def __init__(self, files: LinkageInput, plan: LinkagePlan, resources: Resources, progress: Progress) -> None:
        files.check(plan)
        self._files, self._plan = files, plan
        self._threads = resources.threads
        self._progress = progress
        self._budget = MemoryBudget(resources.memory_bytes)
        self._seconds: dict[str, float] = {}
        self._passes: StreamedPairs | None = None

    def compared(self, pool: Executor, units: UnitPool | None = None) -> tuple[Candidates, KeptPairs, FittedScheme]:
        files, plan, budget = self._files, self._plan, self._budget
        n_a, n_b = files.n_records
        plan.check_expected_matches(n_a, n_b)
        context = RunContext(plan, budget, pool, self._threads, units or ThreadedUnits(pool, self._threads))
        _ = context.packing  # refused before any work
        with self._stage("tables") as progress:
            pairs = files.pairs(context, progress)
        with self._stage("levels") as progress:
            # Without blocking they follow from the vectors.
            levels = pairs.by_chance.levels(progress) if plan.rules else None
        with self._stage("count") as progress:
            code, mask, count = pairs.count(progress)
            check_pairs(int(count.sum()), n_a, n_b)
            budget.take(context.bytes_per_pattern * len(code), "the comparison vectors", "compare fewer fields")
            patterns = PatternCounts(context.packing.unpack(code), mask, count)
        with self._stage("model"):
            lacking, equal = pairs.record_facts()
            fitted = fitted_scheme(patterns, levels, n_a, n_b, plan, lacking)
            scored = worth_keeping(fitted, scored_patterns(fitted, patterns), plan, levels, lacking)
            with_values = plan.latent is not None and not isinstance(pairs, WholePairs)
            selection = choose_classes(
                scored.weight, scored.probability, count, plan.probable, budget.free // KEPT_BYTES, KEPT_BYTES,
                KEPT_WITH_VALUES if with_values else KEPT_PROBABILITY, n_a + n_b,
            )  # fmt: skip
            budget.take(KEPT_BYTES * selection.n_pairs, "the pairs above the floor", "raise links.threshold")
        with self._stage("keep") as progress:
            selected = selection.patterns
            kept = pairs.keep(code[selected], mask[selected], selected, progress)
            _require_all(kept, count, selected)
            if plan.latent is not None and isinstance(pairs, WholePairs):
                self._passes = pairs.again(code, mask, int(count.sum()))
            outside_blocks = pairs.by_chance.outside_blocks() if selected_outside(plan) else None
        missing = pairs.by_chance.missing()
        names = [field.name for field in plan.fields if field.value_frequencies]
        checked = None
        if plan.check_field is not None and kept.agrees is not None:
            checked = CheckAgreement(kept.agrees, pairs.by_chance.strangers(plan.check_field))
        candidates = Candidates(
            n_a=n_a,
            n_b=n_b,
            patterns=patterns,
            levels=levels,
            outside_blocks=outside_blocks,
            pattern=kept.pattern,
            selected=selected,
            lacking=lacking,
            equal=equal,
            missing=missing,
            warnings=(*run_warnings(plan, pairs, selection, missing, files.sides), *files.warnings()),
            seconds=self._seconds,
            peak_bytes=budget.peak,
            rarity=rarity(*self._rows, names, kept.row_a, kept.row_b) if names else None,
            checked=checked,
            within=files.within,
            threads=self._threads,
        )
        return candidates, kept, fitted

    def above(self, pool: Executor, files: LinkageInput, scheme: FittedScheme, floor: float) -> WeightedPairs:
        """The pairs of other files whose weight under a known model reaches a floor, in the memory that is left."""
        budget = MemoryBudget(self._budget.free)
        context = RunContext(self._plan, budget, pool, self._threads, ThreadedUnits(pool, self._threads))
        pairs = files.pairs(context, quiet)
        code, mask, count = pairs.count(quiet)
        weight = scheme.match_weights(context.packing.unpack(code))
        selected = np.flatnonzero(weight >= floor)
        budget.take(KEPT_BYTES * int(count[selected].sum()), "the pairs of decoys above the floor", "use fewer decoys")
        kept = pairs.keep(code[selected], mask[selected], selected, quiet)
        return kept.row_a, kept.row_b, weight[kept.pattern]

    def extended(self, linkage: Linkage, found: Candidates, known: KnownRecords = NOTHING_KNOWN) -> Linkage:
        """The extended latent step after Fellegi-Sunter's decision; the pool of `compared` must exist."""
        assert self._plan.latent is not None  # noqa: S101 - requested only then
        assert self._passes is not None  # noqa: S101
        with self._stage("latent") as progress:
            self._budget.take(known.n_bytes, "the records of known values", "name a file of fewer records")
            values, left_out = values_of(*self._rows, self._plan.latent)
            if values is not None:
                linkage = extended(values, self._passes, found, linkage, self._plan, self._budget, progress, known)
        return replace(
            linkage,
            warnings=(*linkage.warnings, *left_out),
            seconds={**linkage.seconds, "latent": self._seconds["latent"]},
            peak_bytes=self._budget.peak,
        )

    @property
    def _rows(self) -> BothSets:
        """The rows of whole files, for what no other contribution supports."""
        assert isinstance(self._files, WholeFiles)  # noqa: S101 - `check` has refused it
        return self._files.rows

    @contextmanager
    def _stage(self, name: str) -> Iterator[StageProgress]:
        started = time.perf_counter()
        self._progress(name, 0.0)
        yield lambda fraction: self._progress(name, fraction)
        self._progress(name, 1.0)
        self._seconds[name] = time.perf_counter() - started


def check_pairs(n_pairs: int, n_a: int, n_b: int) -> None:
    """Refuse more pairs than the files' records have, which only dummies and decoys can cause."""
    if n_pairs > n_a * n_b:
        what = f"with dummies and decoys in them the blocks have more pairs than the {n_a:,} by {n_b:,} records"
        remedy = "pad less, block more finely or drop decoys; a linkage of so few records can do without blocking"
        raise parameter("padding", what, f"{n_pairs:,} pairs", f"{remedy}, in mode open")


def _require_all(kept: KeptPairs, count: I64, selected: I64) -> None:
    """Refuse to go on if the second pass has not found the pairs that the first one counted."""
    found = np.bincount(kept.pattern, minlength=len(count))[selected]
    if not np.array_equal(found, count[selected]):
        what = f"{int(count[selected].sum()):,} pairs were counted that are to be kept"
        where, got = "the second pass over the pairs", f"{int(found.sum()):,} pairs"
        raise GemelError(ErrorCode.INTERNAL, what, where=where, got=got, remedy="start the run again, and report it")
