"""The files of mode shared as input of a run: what was opened of their pairs, and nothing of a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from gemel.carole.blocking.block_size_cap import Skew
from gemel.carole.comparison.counting import Counts, PatternCounter, summed
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.linkage.local import Run
from gemel.carole.engine.pairs.linkage_input import LinkageInput, without_key_warnings
from gemel.carole.engine.pairs.selection import FieldsPresent
from gemel.carole.engine.pairs.stream import PART_PAIRS, KeptPairs, PairStream, table_of
from gemel.carole.engine.run.contribution import Packing
from gemel.carole.engine.run.plan import FieldPlan, LinkagePlan
from gemel.carole.engine.run.resources import BlocksBySize, Resources, RunContext
from gemel.carole.fellegi_sunter.kinds.joint_model import OutsideBlocks
from gemel.common.arrays import F64, I8, I64, U32
from gemel.common.documents.result_warning import ResultWarning
from gemel.common.errors import parameter
from gemel.common.progress import Progress, StageProgress
from gemel.common.signatures.party_sets import PartyContribution
from gemel.shared.run.job import Led
from gemel.shared.run.opened_levels import OpenedRun, packed_vectors

# Agreement of random pairs of records in mode shared: from the levels of the samples' pairs, opened without order.


class OpenedAgreement:
    """The `ChanceAgreement` of mode shared."""

    def __init__(self, opened: OpenedRun, n_records: tuple[int, int], plan: LinkagePlan, packing: Packing) -> None:
        self._opened, self._n_records, self._plan, self._packing = opened, n_records, plan, packing

    def levels(self, progress: StageProgress) -> F64:
        """Numbers of pairs by comparison and level: what `sample_groups.grouped_levels` counts of the same samples."""
        plan, random = self._plan, self._opened.random
        counts = np.zeros((len(plan.compared), max(len(field.bounds) for field in plan.compared)))
        for q, field in enumerate(plan.compared):
            if q in plan.presence:
                both = int(np.count_nonzero(random.present[:, plan.position[plan.present[q - plan.presence.start]]]))
                counts[q, :2] = len(random.level) - both, both
                continue
            level = random.exchange[:, q - plan.swapped.start] if q in plan.swapped else random.level[:, q]
            counts[q, : len(field.bounds)] = np.bincount(level[level >= 0], minlength=len(field.bounds))
        progress(1.0)
        return counts

    def outside_blocks(self) -> OutsideBlocks:
        """The vectors of the samples' pairs, in the place of all pairs that blocking leaves out.

        Mode block_keyed draws millions of pairs from these same ones. Each field of the samples is drawn by itself, so
        that fields are independent in them.
        """
        n_a, n_b = self._n_records
        code, count = np.unique(packed_vectors(self._opened.random, self._plan, self._packing), return_counts=True)
        scale = n_a * n_b / max(1, int(count.sum()))
        return OutsideBlocks(self._packing.unpack(code), count.astype(np.float64) * scale, scale)

    def missing(self) -> dict[str, tuple[float, float]]:
        """Per comparison the share of the samples' rows of A and of B without a value."""
        plan = self._plan

        def shares(*names: str) -> tuple[float, float]:
            places = [plan.position[name] for name in names]
            a, b = (float((~values[:, places]).any(axis=1).mean()) for values in self._opened.sample_values)
            return a, b

        found = {field.name: shares(field.name) for field in plan.fields}
        found |= {plan.compared[q].name: shares(*names) for names, q in zip(plan.swaps, plan.swapped, strict=True)}
        return found | {plan.compared[q].name: (0.0, 0.0) for q in plan.presence}

    def strangers(self, field: FieldPlan) -> float:
        """The share of the samples' pairs with the check field that agree in it."""
        checked = self._opened.random.checked
        assert checked is not None  # noqa: S101 - compared where the plan has a check field
        there = int(np.count_nonzero(checked >= 0))
        return float(np.count_nonzero(checked == 1)) / there if there else 0.0


OPENED_BYTES = 52
"""Memory of an opened pair: its vector, rules and place, and shares of its row numbers and of its agreement."""
Name = Callable[[I64], I8 | None]
"""Names pairs by their places, in ascending order, to the other parties; gives their agreement in the check field."""


@dataclass(frozen=True)
class FileSizes:
    """What Carole knows of a file: its records, rows of all rules, and rows of the rule with the largest number."""

    records: int
    rows: int
    largest_rule: int


class SharedFiles(LinkageInput):
    """The contributions of mode shared."""

    def __init__(self, sizes: tuple[FileSizes, FileSizes], blocks: BlocksBySize, opened: OpenedRun, name: Name) -> None:
        self.sizes, self.blocks, self.opened, self.name = sizes, blocks, opened, name
        self.n_records = sizes[0].records, sizes[1].records

    def check(self, plan: LinkagePlan) -> None:
        """Raise PARAMETER for a plan that needs values counted across a file, or has no rules."""
        if not plan.rules or any(field.value_frequencies for field in plan.fields):
            what = "mode shared compares inside blocks, and counts no values"
            remedy = "add a rule and remove value_frequencies, or link in mode open"
            got = "no blocking rule, or value_frequencies"
            raise parameter("blocking, fields.value_frequencies", what, got, remedy)

    def pairs(self, context: RunContext, progress: StageProgress) -> SharedPairs:
        context.budget.take(OPENED_BYTES * len(self.opened.pairs.code), "the opened pairs", "block more finely")
        progress(1.0)
        return SharedPairs(self, context)

    def warnings(self) -> Iterator[ResultWarning]:
        """Records that may have no row under any rule: it is not known which rules' rows are one record."""
        for side, part in zip(self.sides, self.sizes, strict=True):
            yield from without_key_warnings(side, part.records, part.largest_rule)


class SharedPairs:
    """The `ComparedPairs` of mode shared."""

    skews: tuple[Skew, ...] = ()

    def __init__(self, files: SharedFiles, context: RunContext) -> None:
        self._files, self._context = files, context
        self._pairs = files.opened.pairs
        a, b = files.sizes
        self.n_rows = a.rows, b.rows
        self.blocked = files.blocks
        self.by_chance = OpenedAgreement(files.opened, files.n_records, context.plan, context.packing)

    def count(self, progress: StageProgress) -> Counts:
        """Count the comparison vectors of all pairs that count; MEMORY for more distinct ones than memory allows."""
        n = len(self._pairs.code)
        maximum = self._context.max_patterns(n)
        table = PatternCounter(maximum)
        if not table.add(self._pairs.code, self._pairs.mask, np.ones(1, dtype=np.int64), n):
            raise PairStream.too_many_patterns(maximum)
        progress(1.0)
        return summed([table.items()])

    def keep(self, code: I64, mask: U32, pattern: I64, progress: StageProgress) -> KeptPairs:
        """The pairs that have one of some vectors, by their places: in `row_a` and in `row_b`. They are named."""
        selected, pairs = table_of(code, mask, pattern), self._pairs
        position, found = np.empty(PART_PAIRS, dtype=np.int32), np.empty(PART_PAIRS, dtype=np.int32)
        places, patterns = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int32)]
        for begin in range(0, len(pairs.code), PART_PAIRS):
            here = slice(begin, begin + PART_PAIRS)
            n = selected.find(pairs.code[here], pairs.mask[here], len(pairs.code[here]), position, found)
            places.append(pairs.place[begin + position[:n].astype(np.int64)])
            patterns.append(found[:n].copy())
            progress(0.5 * begin / len(pairs.code))
        place = np.concatenate(places)
        agrees = self._files.name(place)
        progress(1.0)
        return KeptPairs(place.astype(np.int32), place.astype(np.int32), np.concatenate(patterns), agrees)

    def record_facts(self) -> tuple[tuple[FieldsPresent, FieldsPresent], tuple[int, int]]:
        """Of A and of B: which fields records lack. That records equal another no party can see."""
        return self._files.opened.lacking, (0, 0)


def compare_opened(
    led: Led, plan: LinkagePlan, resources: Resources, progress: Progress
) -> tuple[Candidates, KeptPairs]:
    """Count what was opened, fit the model, and name the pairs above the floor to the other two parties.

    The pairs come by their places, ascending, in `row_a` and in `row_b`: of no pair the rows are known here, and
    `led.parts` has what names them to the custodians. Raises as `local.compare`, and as `Led.name`.
    """
    a, b = led.contributions
    files = SharedFiles((_sizes(a), _sizes(b)), led.blocks, led.opened, led.name)
    run = Run(files, plan, resources, progress)
    with ThreadPoolExecutor(resources.threads, thread_name_prefix="linkage") as pool:
        found, kept, _ = run.compared(pool)
    return replace(found, seconds={**led.seconds, **found.seconds}), kept


def _sizes(part: PartyContribution) -> FileSizes:
    return FileSizes(part.n_records, part.starts[-1], max(part.rows_per_rule.values()))
