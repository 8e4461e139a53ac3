"""One linkage run on this machine, in bounded memory.

Level tables of distinct values, levels over all pairs, counts of comparison vectors, the model, a second pass
that keeps the pairs worth keeping, and the decision. Only counts and kept pairs are ever held; the floor above
which pairs are kept is known before the second pass, since the model has scored every vector that occurs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from carole.blocking import AllPairs, PairSource
from carole.comparison import FieldComparison
from carole.engine.cautions import run_cautions
from carole.engine.decision import decide
from carole.engine.duplicates import cautions as duplicate_cautions
from carole.engine.duplicates import duplicates
from carole.engine.memory import MemoryBudget
from carole.engine.offblock import SAMPLES, RandomPairs
from carole.engine.packing import Packing
from carole.engine.plan import LinkagePlan, Resources, RulePlan
from carole.engine.preparation import (
    all_pairs_levels,
    check,
    crosswise,
    input_bytes,
    level_tables,
    missing_shares,
)
from carole.engine.refinement import estimation, refine, worth_keeping
from carole.engine.result import Linkage, ScoredPatterns
from carole.engine.selection import choose_patterns
from carole.engine.sources import BlockedPairs, pair_source
from carole.engine.stream import PairStream
from carole.engine.unlinkable import best_possible
from carole.fellegi_sunter import (
    BlockingRecall,
    FittedScheme,
    Model,
    PatternCounts,
    RuleFields,
    blocking_recall,
    fit_scheme,
)
from carole.fellegi_sunter.cautions import FEW_MATCHES
from carole.fellegi_sunter.dependence import Beyond
from common.encoding.contribution import SignatureSet
from common.errors import ErrorCode, TrystError

Progress = Callable[[str, float], None]

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
        Of one rule, or of the whole files in open mode.
    plan : LinkagePlan
        What to compare, and how to decide.
    resources : Resources
        Memory and threads.
    progress : callable
        Told the stage ("tables", "levels", "count", "model", "keep", "decide") and the fraction of it done, on
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
        return run.result(pool)


class _Run:
    """The state of one run."""

    def __init__(
        self, a: SignatureSet, b: SignatureSet, plan: LinkagePlan, resources: Resources, progress: Progress
    ) -> None:
        check(a, b, plan)
        self._a, self._b, self._plan = a, b, plan
        self._threads = resources.threads
        self._progress = progress
        self._budget = MemoryBudget(resources.memory_bytes)
        self._packing = Packing([field.name for field in plan.compared], [len(field.bounds) for field in plan.compared])
        self._seconds: dict[str, float] = {}

    def result(self, pool: ThreadPoolExecutor) -> Linkage:
        budget, plan = self._budget, self._plan
        budget.take(input_bytes(self._a, self._b), "the signatures of both files", "link smaller files")
        with self._stage("tables") as progress:
            found = pair_source(self._a, self._b, plan, budget, lambda done: progress(0.5 * done))
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
            budget.take(self._bytes_per_pattern * len(code), "the comparison vectors", "compare fewer fields")
            patterns = PatternCounts(self._packing.unpack(code), mask, count)
        with self._stage("model"):
            fitted = self._fit(patterns, levels)
            scored = _scored(fitted, patterns)
            most = budget.free // KEPT_BYTES
            selection = choose_patterns(worth_keeping(fitted, scored, plan, levels), plan.threshold, most, KEPT_BYTES)
            budget.take(KEPT_BYTES * selection.n_pairs, "the pairs above the floor", "raise links.threshold")
        with self._stage("keep") as progress:
            wanted = selection.patterns
            kept = stream.keep(code[wanted], mask[wanted], wanted, progress)
        with self._stage("decide") as progress:
            beyond = self._beyond(source, tables, pool)
            fitted, posterior = refine(fitted, patterns, kept, plan, self._rule_fields(), levels, beyond, progress)
            scored = _scored(fitted, patterns)
            decision = decide(kept, scored, posterior, plan)
            twice = duplicates(self._a, self._b, decision.pairs, plan)
        model = fitted.model
        matches = scored.count * scored.probability
        missing = missing_shares(self._a, self._b, plan)
        blocking = self._blocking(mask, matches, model, missing)
        return Linkage(
            model=model,
            scheme=fitted,
            patterns=scored,
            pairs=decision.pairs,
            links=decision.links,
            threshold=decision.threshold,
            duplicates=twice,
            best_possible=(best_possible(self._a, plan, fitted), best_possible(self._b, plan, fitted)),
            floor=_floor(scored.weight, wanted),
            matches_below_floor=float(matches.sum() - matches[wanted].sum()),
            n_candidates=int(count.sum()),
            candidates_per_rule=self._per_rule(mask, count),
            blocking=blocking,
            missing=missing,
            warnings=(
                *run_cautions(self._a, self._b, plan, found, selection, blocking, missing),
                *fitted.cautions,
                *model.warnings,
                *(() if posterior is None else posterior.warnings),
                *duplicate_cautions(twice, plan),
            ),
            seconds=self._seconds,
            peak_bytes=budget.peak,
        )

    def _all_pairs_levels(
        self,
        tables: dict[str, NDArray[np.int8]],
        pool: ThreadPoolExecutor,
        progress: Callable[[float], None],
    ) -> NDArray[np.float64] | None:
        """Levels over the whole product, which the patterns give themselves when nothing is blocked."""
        if not self._plan.rules:
            progress(1.0)
            return None
        largest = max(field.signatures.nbytes for field in self._b.fields.values())
        scratch = 2 * largest + self._threads * 2**24
        self._budget.take(scratch, "the levels over all pairs", "use fewer threads")
        levels = all_pairs_levels(self._a, self._b, self._plan, tables, pool, progress)
        self._budget.give_back(scratch)
        return levels

    def _beyond(
        self, pairs: AllPairs | BlockedPairs, tables: dict[str, NDArray[np.int8]], pool: ThreadPoolExecutor
    ) -> Beyond | None:
        """Pairs that blocking leaves out, where the model must know what their fields do together."""
        plan = self._plan
        if (
            isinstance(pairs, AllPairs)
            or plan.dependence == "none"
            or plan.scheme in ("lr_weighted", "log_lr_weighted")
        ):
            return None
        n_pairs = self._a.n_rows * self._b.n_rows
        for most in SAMPLES:
            source = RandomPairs(self._a.n_rows, self._b.n_rows, pairs.mark, min(most, n_pairs), plan.seed)
            try:
                code, mask, count = self._stream(source, tables, pool, twice=False).count(lambda fraction: None)
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
    ) -> PairStream:
        budget, fields = self._budget, self._plan.fields
        # Their number is only known when they are counted; what is set aside for them is taken then.
        most_patterns = min(source.n_pairs, int(PATTERNS_SHARE * budget.free) // self._bytes_per_pattern)
        store = twice and budget.try_take(PairStream.stored_bytes(source.n_pairs), STORED_SHARE * (1 - PATTERNS_SHARE))
        comparisons = [
            FieldComparison(
                self._a.fields[field.name],
                self._b.fields[field.name],
                field.bounds,
                tables.get(field.name),
                field.comparator,
            )
            for field in fields
        ]
        positions = {field.name: q for q, field in enumerate(fields)}
        exchanges = [
            (comparison, (positions[first], positions[second]))
            for comparison, (first, second) in zip(
                crosswise(self._a, self._b, self._plan), self._plan.swaps, strict=True
            )
        ]
        return PairStream(
            source, comparisons, exchanges, self._packing, pool, self._threads, most_patterns=most_patterns, store=store
        )

    def _fit(self, patterns: PatternCounts, levels: NDArray[np.float64] | None) -> FittedScheme:
        plan = self._plan
        return fit_scheme(
            plan.scheme,
            patterns,
            [field.name for field in plan.compared],
            [field.bounds for field in plan.compared],
            self._a.n_rows,
            self._b.n_rows,
            estimation(plan),
            self._rule_fields(),
            levels,
            range(len(plan.fields), len(plan.compared)),
        )

    def _rule_fields(self) -> list[RuleFields]:
        """Rules by the positions of their fields; fields that are not compared have none to learn."""
        position = {field.name: q for q, field in enumerate(self._plan.fields)}
        return [
            RuleFields(rule.name, (*(position[n] for n in rule.fields if n in position), *self._exchanged(rule)))
            for rule in self._plan.rules
        ]

    def _exchanged(self, rule: RulePlan) -> Iterator[int]:
        """Positions of the crosswise comparisons that a rule's pairs say nothing of: rows agree on a field straight."""
        for q, swap in enumerate(self._plan.swaps, start=len(self._plan.fields)):
            if set(swap) & set(rule.fields):
                yield q

    def _blocking(
        self,
        mask: NDArray[np.uint32],
        matches: NDArray[np.float64],
        model: Model,
        missing: dict[str, tuple[float, float]],
    ) -> BlockingRecall:
        """What blocking lost, as far as it can be told."""
        rules = self._rule_fields()
        agreement = np.array(
            [
                (1 - missing[field.name][0]) * (1 - missing[field.name][1]) * model.m[q, field.n_levels - 1]
                for q, field in enumerate(model.fields)
            ]
        )
        # What is said of a field's levels holds where it was not exchanged.
        position = {field.name: q for q, field in enumerate(model.fields)}
        for q, swap in enumerate(self._plan.swaps, start=len(self._plan.fields)):
            agreement[[position[name] for name in swap]] *= model.m[q, 0]
        agreement[model.learnt_from < FEW_MATCHES] = np.nan
        return blocking_recall(mask, matches, rules, agreement)

    def _per_rule(self, mask: NDArray[np.uint32], count: NDArray[np.int64]) -> dict[str, int]:
        """Pairs that satisfy each rule, each pair once."""
        return {
            rule.name: int(count[(mask >> np.uint32(r)) & np.uint32(1) == 1].sum())
            for r, rule in enumerate(self._plan.rules)
        }

    @contextmanager
    def _stage(self, name: str) -> Iterator[Callable[[float], None]]:
        """Time a stage and tell its progress."""
        started = time.perf_counter()
        self._progress(name, 0.0)
        yield lambda fraction: self._progress(name, fraction)
        self._progress(name, 1.0)
        self._seconds[name] = time.perf_counter() - started


def _scored(fitted: FittedScheme, patterns: PatternCounts) -> ScoredPatterns:
    """All vectors with their scores."""
    gamma = patterns.gamma
    return ScoredPatterns(
        gamma, patterns.mask, patterns.count, fitted.match_weights(gamma), fitted.match_probabilities(gamma)
    )


def _floor(weight: NDArray[np.float64], kept: NDArray[np.int64]) -> float:
    """Weight from which up every pair was kept; the choice was made by the weights of an earlier fit."""
    left_out = np.ones(len(weight), dtype=np.bool_)
    left_out[kept] = False
    highest = weight[left_out].max(initial=-np.inf)
    return float(weight[weight > highest].min(initial=np.inf))
