"""Before the pairs: checks of the inputs, and how each field will be compared within the available memory."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from gemel.carole.comparison.crosswise import CrosswiseComparison
from gemel.carole.comparison.levels import FieldComparison
from gemel.carole.engine.run.plan import FieldPlan, LinkagePlan
from gemel.carole.engine.run.resources import MemoryBudget
from gemel.common.arrays import F64, I8, I32
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.progress import StageProgress
from gemel.common.signatures.layout import SetLayout
from gemel.common.signatures.signature_sets import MISSING, SignatureSet

CELLS_PER_PAIR = 4
"""A field's level table is made when it has at most this many cells per pair to be compared."""

EXACT_CELLS = 1 << 28
"""Up to this many pairs of distinct values a field's distribution over all pairs is exact: half a second of work."""

SAMPLE_PAIRS = 1 << 24
"""Random pairs drawn for it above that: a level as rare as one in a million is then seen 17 times."""

TABLES_SHARE = 0.5
"""Share of the remaining memory that a level table may take, applied again after each."""


def check_fields(side: str, n_rows: int, layout: SetLayout, plan: LinkagePlan) -> None:
    """Raise `GemelError` unless a side's sets, of that layout and so many rows together, hold what the plan needs."""
    if n_rows == 0:
        raise GemelError(
            ErrorCode.EMPTY_SOURCE, "a file without records cannot be linked", where=side,
            got="0 rows", remedy="contribute a file with records",
        )  # fmt: skip
    there = {field.name: field for field in layout.fields}
    for field in (*plan.fields, *(() if plan.check_field is None else (plan.check_field,))):
        got = there.get(field.name)
        expected = "signatures" if field.comparator == "jaccard" else "values"
        if got is not None and got.content not in (expected, "fixed"):
            raise mismatch(f"{expected} expected", f"{side}, field {field.name}", got.content)
        if got is None or got.bits != field.bits:
            bits = "none" if got is None else f"{got.bits} bits"
            raise mismatch(f"signatures of {field.bits} bits expected", f"{side}, field {field.name}", bits)
    for rule in plan.rules:
        if rule.formed is None and rule.name not in layout.blocks:
            raise mismatch("blocking keys expected", f"{side}, blocking rule {rule.name}", "none")


def mismatch(
    what: str, where: str, got: str, remedy: str = "contribute again under the specification of this run"
) -> GemelError:
    """The error for contributions that do not fit the plan, or each other."""
    return GemelError(ErrorCode.ENCODING_MISMATCH, what, where=where, got=got, remedy=remedy)


def comparison_of(a: SignatureSet, b: SignatureSet, field: FieldPlan, table: I8 | None = None) -> FieldComparison:
    sides = a.fields[field.name], b.fields[field.name]
    return FieldComparison(*sides, field.bounds, field.comparator, field.randomised_response, table)


def crosswise(a: SignatureSet, b: SignatureSet, plan: LinkagePlan) -> list[CrosswiseComparison]:
    made = []
    for first, second in plan.swaps:
        in_a, in_b = ((part.fields[first], part.fields[second]) for part in (a, b))
        if len({field.bits for field in (*in_a, *in_b)}) > 1:
            what = "fields that may be exchanged need signatures of equal length"
            raise mismatch(what, f"swaps, {first} and {second}", "several lengths", "give both the same number of bits")
        made.append(CrosswiseComparison(in_a, in_b, plan.field(first).randomised_response))
    return made


def level_tables(
    a: SignatureSet,
    b: SignatureSet,
    plan: LinkagePlan,
    n_pairs: int,
    budget: MemoryBudget,
    pool: Executor,
    progress: StageProgress,
) -> dict[str, I8]:
    """Level tables of the fields that are cheaper to look up than to compare, the smallest first.

    A table is made when it has fewer cells than `CELLS_PER_PAIR` times the pairs, and fits.
    """
    sizes = {field.name: a.fields[field.name].n_distinct * b.fields[field.name].n_distinct for field in plan.fields}
    tables: dict[str, I8] = {}
    for done, field in enumerate(sorted(plan.fields, key=lambda field: sizes[field.name])):
        copies = b.fields[field.name].signatures.nbytes * 2
        cells = sizes[field.name]
        if cells <= CELLS_PER_PAIR * n_pairs and budget.try_take(cells + copies, TABLES_SHARE):
            tables[field.name] = comparison_of(a, b, field).level_table(pool)
            budget.give_back(copies)
        progress((done + 1) / len(plan.fields))
    return tables


def all_pairs_levels(
    a: SignatureSet, b: SignatureSet, plan: LinkagePlan, tables: dict[str, I8], pool: Executor, progress: StageProgress
) -> F64:
    """Numbers of pairs by field and level over the whole product of two files, or a random sample of it.

    Returns float64, shape (n_fields, most levels): rows of narrower fields end in zeros. Blocks are ignored: u must not
    treat the block as the match class.
    """
    counts = np.zeros((len(plan.compared), max(len(field.bounds) for field in plan.compared)))
    streams = np.random.default_rng(plan.seed).spawn(len(plan.compared))
    for q, (field, rng) in enumerate(zip(plan.fields, streams, strict=False)):
        compared = comparison_of(a, b, field, tables.get(field.name))
        counts[q, : len(field.bounds)] = compared.distribution(pool, rng, EXACT_CELLS, SAMPLE_PAIRS)
        progress((q + 1) / len(plan.compared))
    for q, comparison in zip(plan.swapped, crosswise(a, b, plan), strict=True):
        found = comparison.distribution(pool, streams[q], SAMPLE_PAIRS)
        counts[q, : len(found)] = found
        progress((q + 1) / len(plan.compared))
    for q, name in zip(plan.presence, plan.present, strict=True):
        both = np.prod([np.count_nonzero(part.fields[name].codes != MISSING) for part in (a, b)], dtype=np.float64)
        counts[q, :2] = float(a.n_rows) * b.n_rows - both, both
    return counts


def without_diagonal(counts: F64, part: SignatureSet, plan: LinkagePlan) -> F64:
    """Numbers of pairs by field and level of one file with itself, without the pairs of a record with itself.

    `counts` (float64, shape (n_fields, most levels)): from `all_pairs_levels` of the file and itself, or a random
    sample.
    """
    found = counts.copy()
    for q, field in enumerate(plan.fields):
        present = np.count_nonzero(part.fields[field.name].codes != MISSING)
        top = len(field.bounds) - 1
        # Of the present squared pairs of values so many are of a record with itself, and agree.
        found[q, top] = max(0.0, found[q, top] - found[q].sum() / max(1, present))
    return found


Rows = tuple[I32, I32]
"""Rows of pairs: of A's sample, and of B's."""


@dataclass(frozen=True, repr=False)
class Samples:
    """Rows in which each field separately is distributed as in the records of the files."""

    rows: BothSets
    n_records: tuple[int, int]
    groups: int = 1
    within: bool = False


def pairs_in_groups(n_a: int, n_b: int, groups: int) -> Rows:
    """All pairs of rows of two samples of so many rows that are in the same group."""
    size_a, size_b = n_a // groups, n_b // groups
    row_a = np.repeat(np.arange(n_a, dtype=np.int32), size_b)
    in_group = np.tile(np.arange(size_b, dtype=np.int32), n_a)
    return row_a, (row_a // size_a * size_b + in_group).astype(np.int32)


def field_levels(samples: BothSets, field: FieldPlan, rows: Rows) -> F64:
    """Numbers of pairs by level of one field; pairs where a value is missing are not counted."""
    level = comparison_of(*samples, field).levels(*rows)
    return np.bincount(level, minlength=len(field.bounds) + 1)[: len(field.bounds)].astype(np.float64)


def grouped_levels(samples: BothSets, groups: int, plan: LinkagePlan) -> F64:
    """Numbers of pairs by field and level, as `all_pairs_levels`, over the pairs of rows of the same group.

    As many comparisons of signatures for each field as there are pairs: 400,000 take some milliseconds.
    """
    rows = pairs_in_groups(samples[0].n_rows, samples[1].n_rows, groups)
    counts = np.zeros((len(plan.compared), max(len(field.bounds) for field in plan.compared)))
    for q, field in enumerate(plan.fields):
        counts[q, : len(field.bounds)] = field_levels(samples, field, rows)
    for q, comparison in zip(plan.swapped, crosswise(*samples, plan), strict=True):
        n_levels = len(plan.compared[q].bounds)
        level = np.zeros(len(rows[0]), dtype=np.int64)
        comparison.add(*rows, len(level), 1, ((0, 0), (0, 0)), level)
        counts[q, :n_levels] = np.bincount(level, minlength=n_levels + 1)[:n_levels]
    for q, name in zip(plan.presence, plan.present, strict=True):
        a, b = (part.fields[name].codes != MISSING for part in samples)
        both = np.count_nonzero(a[rows[0]] & b[rows[1]])
        counts[q, :2] = len(rows[0]) - both, both
    return counts


BothSets = tuple[SignatureSet, SignatureSet]
"""Alice's and Bob's."""
