"""Levels of samples in groups: values of one group compare with those of the other file's group, and with no others."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np
from numpy.typing import NDArray

from gemel.carole.comparison import FieldComparison
from gemel.carole.engine.pairs.linkage_input import BothSets
from gemel.carole.engine.pairs.preparation import crosswise
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.plan_parts import FieldPlan
from gemel.common.signatures.signature_sets import MISSING

Rows = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Rows of pairs: of A's sample, and of B's."""


@dataclass(frozen=True)
class Samples:
    """Rows in which each field separately is distributed as in the records of the files."""

    rows: BothSets = dataclass_field(repr=False)
    n_records: tuple[int, int]
    groups: int = 1
    within: bool = False


def pairs_in_groups(samples: BothSets, groups: int) -> Rows:
    """All pairs of rows of two samples that are in the same group."""
    return pairs_of_groups(samples[0].n_rows, samples[1].n_rows, groups)


def pairs_of_groups(n_a: int, n_b: int, groups: int) -> Rows:
    """The same of `n_a` and `n_b` rows."""
    size_a, size_b = n_a // groups, n_b // groups
    row_a = np.repeat(np.arange(n_a, dtype=np.int32), size_b)
    in_group = np.tile(np.arange(size_b, dtype=np.int32), n_a)
    return row_a, (row_a // size_a * size_b + in_group).astype(np.int32)


def field_levels(samples: BothSets, field: FieldPlan, rows: Rows) -> NDArray[np.float64]:
    """Numbers of pairs by level of one field; pairs where a value is missing are not counted."""
    a, b = (part.fields[field.name] for part in samples)
    compared = FieldComparison(a, b, field.bounds, None, field.comparator, field.randomised_response)
    level = np.zeros(len(rows[0]), dtype=np.int64)
    compared.add(*rows, len(level), 1, level)
    return np.bincount(level, minlength=len(field.bounds) + 1)[: len(field.bounds)].astype(np.float64)


def grouped_levels(samples: BothSets, groups: int, plan: LinkagePlan) -> NDArray[np.float64]:
    """Numbers of pairs by field and level, as `all_pairs_levels`, over the pairs of rows of the same group.

    Notes
    -----
    As many comparisons of signatures for each field as there are pairs: 400,000 take some milliseconds.
    """
    rows = pairs_in_groups(samples, groups)
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
