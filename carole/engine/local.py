"""One linkage run on this machine, in bounded memory.

Level tables of distinct values, levels over all pairs, counts of comparison vectors, the model, a second pass
that keeps the pairs worth keeping, and the decision (`conclusion`). Only counts and kept pairs are ever held; the floor
above which pairs are kept is known before the second pass, since the model has scored every vector that occurs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tryst.carole.blocking import AllPairs, PairSource
from tryst.carole.comparison import FieldComparison
from tryst.carole.engine.block_keyed import SeparateRows, check_pairs, no_rules, rows_without_key, separate_source
from tryst.carole.engine.conclusion import Candidates, conclude, fitted_scheme, scored_patterns
from tryst.carole.engine.duplicates import equal_records
from tryst.carole.engine.latent import check_variables, extended, values_of
from tryst.carole.engine.memory import MemoryBudget
from tryst.carole.engine.outside_blocks import SAMPLES, RandomPairs
from tryst.carole.engine.packing import Packing
from tryst.carole.engine.plan import LinkagePlan, Resources
from tryst.carole.engine.preparation import (
    all_pairs_levels,
    check,
    crosswise,
    input_bytes,
    level_tables,
    missing_shares,
)
from tryst.carole.engine.refinement import worth_keeping
from tryst.carole.engine.result import Linkage
from tryst.carole.engine.run_warnings import run_cautions
from tryst.carole.engine.selection import Selection, choose_patterns
from tryst.carole.engine.sources import BlockedPairs, Source, pair_source, take_index
from tryst.carole.engine.stream import KeptPairs, PairStream, StreamedPairs
from tryst.carole.engine.unlinkable import fields_present
from tryst.carole.engine.value_frequencies import rarity
from tryst.carole.fellegi_sunter import FittedScheme, PatternCounts
from tryst.carole.fellegi_sunter.dependence import Beyond
from tryst.carole.fellegi_sunter.schemes import scheme_named
from tryst.common.encoding.signature_sets import SignatureSet
from tryst.common.errors import ErrorCode, TrystError
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


def link(a: SignatureSet, b: SignatureSet, plan: LinkagePlan, resources: Resources, progress: Progress) -> Linkage:
    """Link two signature sets.

    Parameters
    ----------
    a, b : SignatureSet
        Of the whole files.
    plan : LinkagePlan
        What to compare, and how to decide.
    resources : Resources
        Memory and threads.
    progress : callable
        Told the stage ("tables", "levels", "count", "model", "keep", "decide",
        and "latent" where there is such a step) and the fraction of it done, on
        the calling thread. What it raises ends the run.

    Returns
    -------
    Linkage
        The same for a given plan whatever the number of threads; memory only moves the floor of what is kept.

    Raises
    ------
    TrystError
        EMPTY_SOURCE, ENCODING_MISMATCH or PARAMETER if the inputs cannot be linked under the plan, NOT_IDENTIFIED
        if they cannot tell the model's parameters, MEMORY if the run would need more than it may use.

    Notes
    -----
    Time is that of comparing distinct values (or candidate pairs, where that is less) and of two passes over the
    pairs, at some 10 ns per pair and pass on a core; estimation depends on the distinct comparison vectors only.
    """
    run = _Run(a, b, plan, resources, progress)
    with ThreadPoolExecutor(resources.threads, thread_name_prefix="linkage") as pool:
        found, kept, fitted = run.compared(pool)
        linkage, _ = conclude(found, kept.row_a, kept.row_b, plan, progress, fitted)
        return linkage if plan.latent is None else run.extended(linkage, found)


def compare(
    a: SeparateRows, b: SeparateRows, plan: LinkagePlan, resources: Resources, progress: Progress
) -> tuple[Candidates, KeptPairs]:
    """Compare two contributions of block-keyed mode: the first half of a run, as far as it goes without a resolver.

    Parameters
    ----------
    a, b : SeparateRows
    plan, resources, progress
        As for `link`; the plan's rules have keys.

    Returns
    -------
    Candidates
        For `conclude`, who must know which rows are one record.
    KeptPairs
        The pairs in question, by rows of `a` and `b`.

    Raises
    ------
    TrystError
        As `link`; PARAMETER if a block has more pairs than its rule allows.
    """
    run = _Run(a.rows, b.rows, plan, resources, progress, (a, b))
    with ThreadPoolExecutor(resources.threads, thread_name_prefix="linkage") as pool:
        found, kept, _ = run.compared(pool)
    return found, kept


class _Run:
    """The state of one run."""

    def __init__(
        self,
        a: SignatureSet,
        b: SignatureSet,
        plan: LinkagePlan,
        resources: Resources,
        progress: Progress,
        separate: tuple[SeparateRows, SeparateRows] | None = None,
    ) -> None:
        check(a, b, plan)
        if plan.latent is not None:
            check_variables(a, b, plan.latent)
        if separate is not None and plan.latent is not None:
            raise TrystError(
                ErrorCode.PARAMETER,
                "values have no codes for the whole file where blocks have keys of their own",
                where="latent",
                remedy="drop it, or link in mode open",
            )
        if separate is not None and any(field.value_frequencies for field in plan.fields):
            raise TrystError(
                ErrorCode.PARAMETER,
                "values cannot be counted across a file whose blocks have keys of their own",
                where="fields.value_frequencies",
                remedy="drop it, or link in mode open",
            )
        self._a, self._b, self._plan = a, b, plan
        self._separate = separate
        self._n_a = a.n_rows if separate is None else separate[0].n_records
        self._n_b = b.n_rows if separate is None else separate[1].n_records
        self._threads = resources.threads
        self._progress = progress
        self._budget = MemoryBudget(resources.memory_bytes)
        self._packing = Packing([field.name for field in plan.compared], [len(field.bounds) for field in plan.compared])
        self._seconds: dict[str, float] = {}
        self._passes: StreamedPairs | None = None

    def compared(self, pool: ThreadPoolExecutor) -> tuple[Candidates, KeptPairs, FittedScheme]:
        budget, plan = self._budget, self._plan
        budget.take(input_bytes(self._a, self._b), "the signatures of both files", "link smaller files")
        with self._stage("tables") as progress:
            if self._separate is None:
                found = pair_source(self._a, self._b, plan, budget, lambda done: progress(0.5 * done))
            else:
                take_index(self._a, self._b, len(plan.rules), budget)
                found = separate_source(*self._separate, plan)
            source = found.pairs
            work = PairStream.workspace_bytes(self._threads)
            budget.take(work, "the threads' working space", "use fewer threads")
            tables = level_tables(
                self._a, self._b, plan, source.n_pairs, budget, pool, lambda done: progress(0.5 + 0.5 * done)
            )
        with self._stage("levels") as progress:
            levels = self._all_pairs_levels(tables, pool, progress)
        stream = self._stream(source, tables, pool)
        with self._stage("count") as progress:
            code, mask, count = stream.count(progress)
            check_pairs(int(count.sum()), self._n_a, self._n_b)
            budget.take(self._bytes_per_pattern * len(code), "the comparison vectors", "compare fewer fields")
            patterns = PatternCounts(self._packing.unpack(code), mask, count)
        with self._stage("model"):
            fitted = fitted_scheme(patterns, levels, self._n_a, self._n_b, plan)
            scored = scored_patterns(fitted, patterns)
            most = budget.free // KEPT_BYTES
            selection = choose_patterns(worth_keeping(fitted, scored, plan, levels), plan.threshold, most, KEPT_BYTES)
            budget.take(KEPT_BYTES * selection.n_pairs, "the pairs above the floor", "raise links.threshold")
        with self._stage("keep") as progress:
            wanted = selection.patterns
            kept = stream.keep(code[wanted], mask[wanted], wanted, progress, last=plan.latent is None)
            if plan.latent is not None:
                self._passes = StreamedPairs(stream, code, mask, int(count.sum()))
            beyond = self._beyond(source, tables, pool)
        a, b = self._records()
        missing = missing_shares(a, b, plan)
        candidates = Candidates(
            n_a=self._n_a,
            n_b=self._n_b,
            patterns=patterns,
            levels=levels,
            beyond=beyond,
            pattern=kept.pattern,
            wanted=wanted,
            lacking=(fields_present(self._largest(0), plan), fields_present(self._largest(1), plan)),
            equal=(equal_records(self._largest(0), plan), equal_records(self._largest(1), plan)),
            missing=missing,
            warnings=self._cautions(found, selection, missing),
            seconds=self._seconds,
            peak_bytes=budget.peak,
            rarity=self._rarity(kept),
        )
        return candidates, kept, fitted

    def extended(self, linkage: Linkage, found: Candidates) -> Linkage:
        """The extended latent step after Fellegi-Sunter's decision; the pool of `compared` must be there."""
        assert self._plan.latent is not None  # noqa: S101 - asked for only then
        assert self._passes is not None  # noqa: S101
        with self._stage("latent") as progress:
            values, left_out = values_of(self._a, self._b, self._plan.latent)
            if values is not None:
                linkage = extended(values, self._passes, found, linkage, self._plan, self._budget, progress)
        return replace(
            linkage,
            warnings=(*linkage.warnings, *left_out),
            seconds={**linkage.seconds, "latent": self._seconds["latent"]},
            peak_bytes=self._budget.peak,
        )

    def _rarity(self, kept: KeptPairs) -> NDArray[np.float64] | None:
        """What rare values add to the weights of the pairs kept."""
        names = [field.name for field in self._plan.fields if field.value_frequencies]
        return rarity(self._a, self._b, names, kept.row_a, kept.row_b) if names else None

    def _records(self) -> tuple[SignatureSet, SignatureSet]:
        """Rows of which each field by itself is that of the files' records."""
        if self._separate is None:
            return self._a, self._b
        return self._separate[0].sample, self._separate[1].sample

    def _largest(self, side: int) -> SignatureSet:
        """Rows of one file of which no two are the same record: all, or those of the rule that has most."""
        if self._separate is None:
            return (self._a, self._b)[side]
        return self._separate[side].most_rows()

    def _cautions(
        self, found: Source, selection: Selection, missing: dict[str, tuple[float, float]]
    ) -> tuple[str, ...]:
        general = run_cautions(self._a, self._b, self._plan, found, selection, missing)
        if self._separate is None:
            return tuple(general)
        return (*general, *rows_without_key(*self._separate))

    def _all_pairs_levels(
        self,
        tables: dict[str, NDArray[np.int8]],
        pool: ThreadPoolExecutor,
        progress: StageProgress,
    ) -> NDArray[np.float64] | None:
        """Levels over the whole product, which the patterns give themselves when nothing is blocked."""
        if not self._plan.rules:
            progress(1.0)
            return None
        a, b = self._records()
        largest = max(field.signatures.nbytes for field in b.fields.values())
        scratch = 2 * largest + self._threads * 2**24
        self._budget.take(scratch, "the levels over all pairs", "use fewer threads")
        known = tables if self._separate is None else {}
        levels = all_pairs_levels(a, b, self._plan, known, pool, progress)
        self._budget.give_back(scratch)
        return levels

    def _beyond(
        self, pairs: AllPairs | BlockedPairs, tables: dict[str, NDArray[np.int8]], pool: ThreadPoolExecutor
    ) -> Beyond | None:
        """Pairs that blocking leaves out, where the model must know what their fields do together.

        Of samples each field is drawn by itself: their pairs are as strangers are whose fields are independent.
        """
        plan = self._plan
        if isinstance(pairs, AllPairs) or plan.dependence == "none" or not scheme_named(plan.scheme).facts.calibrated:
            return None
        n_pairs = self._n_a * self._n_b
        a, b = self._records()
        mark = pairs.mark if self._separate is None else no_rules
        known = tables if self._separate is None else {}
        for most in SAMPLES:
            source = RandomPairs(a.n_rows, b.n_rows, mark, min(most, n_pairs), plan.seed)
            try:
                stream = self._stream(source, known, pool, twice=False, rows=(a, b))
                code, mask, count = stream.count(lambda fraction: None)
                break
            except TrystError as error:
                # Fewer pairs have fewer distinct vectors, of which memory holds so many.
                if error.code is not ErrorCode.MEMORY or most == SAMPLES[-1]:
                    raise
        outside = mask == 0
        sampled = count[outside]
        scale = n_pairs / source.n_pairs
        return Beyond(self._packing.unpack(code[outside]), sampled * scale, scale)

    @property
    def _bytes_per_pattern(self) -> int:
        return PATTERN_BYTES + 2 * len(self._plan.compared) + PATTERN_BYTES_PER_THREAD * self._threads

    def _stream(
        self,
        source: PairSource,
        tables: dict[str, NDArray[np.int8]],
        pool: ThreadPoolExecutor,
        *,
        twice: bool = True,
        rows: tuple[SignatureSet, SignatureSet] | None = None,
    ) -> PairStream:
        budget, fields = self._budget, self._plan.fields
        a, b = rows or (self._a, self._b)
        # Their number is only known when they are counted; what is set aside for them is taken then.
        most_patterns = min(source.n_pairs, int(PATTERNS_SHARE * budget.free) // self._bytes_per_pattern)
        store = twice and budget.try_take(PairStream.stored_bytes(source.n_pairs), STORED_SHARE * (1 - PATTERNS_SHARE))
        comparisons = [
            FieldComparison(
                a.fields[field.name],
                b.fields[field.name],
                field.bounds,
                tables.get(field.name),
                field.comparator,
                field.flip,
            )
            for field in fields
        ]
        positions = {field.name: q for q, field in enumerate(fields)}
        exchanges = [
            (comparison, (positions[first], positions[second]))
            for comparison, (first, second) in zip(crosswise(a, b, self._plan), self._plan.swaps, strict=True)
        ]
        presence = [(comparisons[positions[name]], positions[name]) for name in self._plan.present]
        return PairStream(
            source, comparisons, exchanges, presence, self._packing, pool, self._threads,
            most_patterns=most_patterns, store=store,
        )  # fmt: skip

    @contextmanager
    def _stage(self, name: str) -> Iterator[StageProgress]:
        """Time a stage and tell its progress."""
        started = time.perf_counter()
        self._progress(name, 0.0)
        yield lambda fraction: self._progress(name, fraction)
        self._progress(name, 1.0)
        self._seconds[name] = time.perf_counter() - started
