"""One linkage run on this machine, in bounded memory.

The contributions come as a `LinkageInput`, whole files or block-keyed ones. Level tables of distinct values, levels
over all pairs, counts of comparison vectors, the model, a second pass that keeps the pairs above a floor, and the
decision (`conclusion`). Only counts and kept pairs are held in memory; the floor is known before the second pass, since
the model has scored every vector that occurs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tryst.carole.blocking import AscendingPairs, PairSource
from tryst.carole.engine.block_keyed_files import BlockKeyedFiles, check_pairs
from tryst.carole.engine.block_keyed_rows import BlockKeyedRows
from tryst.carole.engine.candidates import Candidates
from tryst.carole.engine.check_agreement import CheckAgreement, check_agreement
from tryst.carole.engine.decoy_pairs import WeightedPairs
from tryst.carole.engine.duplicates import equal_records
from tryst.carole.engine.estimated import fitted_scheme, scored_patterns
from tryst.carole.engine.latent import extended, values_of
from tryst.carole.engine.linkage_input import BothSets, LinkageInput
from tryst.carole.engine.memory import MemoryBudget
from tryst.carole.engine.outside_blocks import sample_outside_blocks, selected_outside
from tryst.carole.engine.packing import Packing
from tryst.carole.engine.plan import LinkagePlan
from tryst.carole.engine.preparation import (
    all_pairs_levels,
    input_bytes,
    level_tables,
    missing_shares,
    without_diagonal,
)
from tryst.carole.engine.refinement import worth_keeping
from tryst.carole.engine.resources import Resources
from tryst.carole.engine.result import Linkage
from tryst.carole.engine.run_warnings import run_warnings
from tryst.carole.engine.sample_groups import grouped_levels
from tryst.carole.engine.selection import choose_patterns
from tryst.carole.engine.stream import KeptPairs, PairStream, StreamedPairs
from tryst.carole.engine.unlinkable import fields_present
from tryst.carole.engine.value_frequencies import rarity
from tryst.carole.engine.vectors import ComparisonVectors
from tryst.carole.fellegi_sunter import FittedScheme, PatternCounts
from tryst.common.progress import Progress, StageProgress

PATTERNS_SHARE = 0.25
"""Share of the memory left that comparison vectors may take."""

PATTERN_BYTES = 200
"""Memory of a distinct comparison vector while counts are merged and the model is fitted, beside its levels."""

PATTERN_BYTES_PER_THREAD = 160
"""Memory of a distinct vector in one thread's hash table, while the table doubles."""

STORED_SHARE = 0.5
"""Share of the memory left that packed vectors may take between the passes."""

KEPT_BYTES = 180
"""Memory of a kept pair, its scores and its part in the one-to-one decision."""


def compare(
    a: BlockKeyedRows, b: BlockKeyedRows, plan: LinkagePlan, resources: Resources, progress: Progress
) -> tuple[Candidates, KeptPairs]:
    """Compare two contributions of block-keyed mode: the first half of a run, without a resolver.

    Parameters
    ----------
    a, b : BlockKeyedRows
    plan, resources, progress
        As for `link`; the plan's rules have keys.

    Returns
    -------
    Candidates
        For `conclude`, which must know which rows are one record.
    KeptPairs
        The candidate pairs, by rows of `a` and `b`.

    Raises
    ------
    TrystError
        As `link`; PARAMETER if a block has more pairs than its rule allows.
    """
    run = Run(BlockKeyedFiles(a, b), plan, resources, progress)
    with ThreadPoolExecutor(resources.threads, thread_name_prefix="linkage") as pool:
        found, kept, _ = run.compared(pool)
    return found, kept


class Run:
    """The state of one run."""

    def __init__(self, files: LinkageInput, plan: LinkagePlan, resources: Resources, progress: Progress) -> None:
        files.check(plan)
        self._files, self._plan = files, plan
        self._threads = resources.threads
        self._progress = progress
        self._budget = MemoryBudget(resources.memory_bytes)
        self._packing = Packing([field.name for field in plan.compared], [len(field.bounds) for field in plan.compared])
        self._seconds: dict[str, float] = {}
        self._passes: StreamedPairs | None = None

    def compared(self, pool: ThreadPoolExecutor) -> tuple[Candidates, KeptPairs, FittedScheme]:
        files, plan, budget = self._files, self._plan, self._budget
        n_a, n_b = files.n_records
        plan.check_expected_matches(n_a, n_b)
        budget.take(input_bytes(*files.rows, *files.samples), "the signatures of both files", "link smaller files")
        with self._stage("tables") as progress:
            found = files.source(plan, budget, lambda done: progress(0.5 * done))
            work = PairStream.workspace_bytes(self._threads)
            budget.take(work, "the threads' working space", "use fewer threads")
            tables = level_tables(
                *files.rows, plan, found.pairs.n_pairs, budget, pool, lambda done: progress(0.5 + 0.5 * done)
            )
        with self._stage("levels") as progress:
            levels = self._all_pairs_levels(tables, pool, progress)
        stream = self._stream(found.pairs, files.rows, tables, pool)
        with self._stage("count") as progress:
            code, mask, count = stream.count(progress)
            check_pairs(int(count.sum()), n_a, n_b)
            budget.take(self._bytes_per_pattern * len(code), "the comparison vectors", "compare fewer fields")
            patterns = PatternCounts(self._packing.unpack(code), mask, count)
        with self._stage("model"):
            fitted = fitted_scheme(patterns, levels, n_a, n_b, plan)
            scored = scored_patterns(fitted, patterns)
            maximum = budget.free // KEPT_BYTES
            selection = choose_patterns(
                worth_keeping(fitted, scored, plan, levels), plan.threshold, maximum, KEPT_BYTES
            )
            budget.take(KEPT_BYTES * selection.n_pairs, "the pairs above the floor", "raise links.threshold")
        with self._stage("keep") as progress:
            selected = selection.patterns
            kept = stream.keep(code[selected], mask[selected], selected, progress, last=plan.latent is None)
            if plan.latent is not None:
                self._passes = StreamedPairs(stream, code, mask, int(count.sum()))
            outside_blocks = None
            if selected_outside(found.pairs, plan):
                known = files.sample_tables(tables)
                outside_blocks = sample_outside_blocks(
                    files, found.pairs, plan.seed, self._packing,
                    lambda pairs: self._stream(pairs, files.samples, known, pool, twice=False),
                )  # fmt: skip
        missing = missing_shares(*files.samples, plan)
        records_a, records_b = files.distinct_records
        candidates = Candidates(
            n_a=n_a,
            n_b=n_b,
            patterns=patterns,
            levels=levels,
            outside_blocks=outside_blocks,
            pattern=kept.pattern,
            selected=selected,
            lacking=(fields_present(records_a, plan), fields_present(records_b, plan)),
            equal=(equal_records(records_a, plan), equal_records(records_b, plan)),
            missing=missing,
            warnings=(*run_warnings(*files.rows, plan, found, selection, missing, files.sides), *files.warnings()),
            seconds=self._seconds,
            peak_bytes=budget.peak,
            rarity=self._rarity(kept),
            checked=self._checked(kept, pool),
            within=files.within,
        )
        return candidates, kept, fitted

    def above(self, pool: ThreadPoolExecutor, files: LinkageInput, scheme: FittedScheme, floor: float) -> WeightedPairs:
        """The pairs of other files whose weight under a known model reaches a floor, in the memory that is left."""
        plan, budget = self._plan, MemoryBudget(self._budget.free)
        budget.take(input_bytes(*files.rows), "the signatures of decoys", "use fewer decoys")
        found = files.source(plan, budget, _quiet)
        budget.take(PairStream.workspace_bytes(self._threads), "the threads' working space", "use fewer threads")
        tables = level_tables(*files.rows, plan, found.pairs.n_pairs, budget, pool, _quiet)
        stream = self._stream(found.pairs, files.rows, tables, pool, budget=budget)
        code, mask, count = stream.count(_quiet)
        weight = scheme.match_weights(self._packing.unpack(code))
        selected = np.flatnonzero(weight >= floor)
        budget.take(KEPT_BYTES * int(count[selected].sum()), "the pairs of decoys above the floor", "use fewer decoys")
        kept = stream.keep(code[selected], mask[selected], selected, _quiet)
        return kept.row_a, kept.row_b, weight[kept.pattern]

    def extended(self, linkage: Linkage, found: Candidates) -> Linkage:
        """The extended latent step after Fellegi-Sunter's decision; the pool of `compared` must exist."""
        assert self._plan.latent is not None  # noqa: S101 - requested only then
        assert self._passes is not None  # noqa: S101
        with self._stage("latent") as progress:
            values, left_out = values_of(*self._files.rows, self._plan.latent)
            if values is not None:
                linkage = extended(values, self._passes, found, linkage, self._plan, self._budget, progress)
        return replace(
            linkage,
            warnings=(*linkage.warnings, *left_out),
            seconds={**linkage.seconds, "latent": self._seconds["latent"]},
            peak_bytes=self._budget.peak,
        )

    def _rarity(self, kept: KeptPairs) -> NDArray[np.float64] | None:
        """What rare values add to the weights of the kept pairs."""
        names = [field.name for field in self._plan.fields if field.value_frequencies]
        return rarity(*self._files.rows, names, kept.row_a, kept.row_b) if names else None

    def _checked(self, kept: KeptPairs, pool: ThreadPoolExecutor) -> CheckAgreement | None:
        """Agreement of the kept pairs in the check field."""
        if self._plan.check_field is None:
            return None
        return check_agreement(self._files, self._plan.check_field, kept, pool, self._plan.seed)

    def _all_pairs_levels(
        self, tables: dict[str, NDArray[np.int8]], pool: ThreadPoolExecutor, progress: StageProgress
    ) -> NDArray[np.float64] | None:
        """Levels over the whole product; without blocking they follow from the patterns."""
        if not self._plan.rules:
            progress(1.0)
            return None
        files = self._files
        a, b = files.samples
        if files.sample_groups > 1:
            found = grouped_levels(files.samples, files.sample_groups, self._plan)
            progress(1.0)
            return found
        largest = max(field.signatures.nbytes for field in b.fields.values())
        scratch = 2 * largest + self._threads * 2**24
        self._budget.take(scratch, "the levels over all pairs", "use fewer threads")
        levels = all_pairs_levels(a, b, self._plan, files.sample_tables(tables), pool, progress)
        self._budget.give_back(scratch)
        return without_diagonal(levels, a, self._plan) if files.within else levels

    @property
    def _bytes_per_pattern(self) -> int:
        return PATTERN_BYTES + 2 * len(self._plan.compared) + PATTERN_BYTES_PER_THREAD * self._threads

    def _stream(
        self,
        pairs: PairSource,
        rows: BothSets,
        tables: dict[str, NDArray[np.int8]],
        pool: ThreadPoolExecutor,
        *,
        twice: bool = True,
        budget: MemoryBudget | None = None,
    ) -> PairStream:
        budget = budget or self._budget
        # Their number is only known when they are counted; the memory set aside for them is reserved then.
        max_patterns = min(pairs.n_pairs, int(PATTERNS_SHARE * budget.free) // self._bytes_per_pattern)
        store = twice and budget.try_take(PairStream.stored_bytes(pairs.n_pairs), STORED_SHARE * (1 - PATTERNS_SHARE))
        vectors = ComparisonVectors(*rows, self._plan, self._packing, tables)
        source = AscendingPairs(pairs) if self._files.within else pairs
        return PairStream(source, vectors, pool, self._threads, max_patterns=max_patterns, store=store)

    @contextmanager
    def _stage(self, name: str) -> Iterator[StageProgress]:
        """Time a stage and report its progress."""
        started = time.perf_counter()
        self._progress(name, 0.0)
        yield lambda fraction: self._progress(name, fraction)
        self._progress(name, 1.0)
        self._seconds[name] = time.perf_counter() - started


def _quiet(fraction: float) -> None:
    """No progress."""
