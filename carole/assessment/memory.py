"""The memory of an assessment, computed before it is allocated.

Nearly all of it is arrays of a few numbers per record, pair and cell, whose sizes are known in advance; the constants
were measured (`tests/carole/assessment/test_memory.py` compares both). Only the search for minimal sample uniques may
find any number: it gets the remaining memory, and is limited to smaller sizes where that is not enough.
"""

from __future__ import annotations

import math

from gemel.carole.assessment.cell_risk import MODEL_CELLS
from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.options import SEARCHED
from gemel.carole.assessment.publication import BASE_CELLS
from gemel.carole.engine.run.resources import MemoryBudget, Resources
from gemel.common.specification.model.assessment import AssessmentSpec

ROW_BYTES, ROW_BYTES_PER_VARIABLE = 128, 16
"""Bytes of a record of either file."""

PAIR_BYTES, PAIR_BYTES_PER_VARIABLE = 512, 32
"""Bytes of a pair that may be a link."""

MODEL_CELL_BYTES, MODEL_CELL_BYTES_PER_KEY = 64, 40
"""Bytes of a cell of the table of all keys, as far as models have them."""

MERGE_BYTES = 160
"""Bytes of a combination and a merge of two categories, in the search for the smallest recoding."""

JOINT_BYTES, JOINT_BYTES_PER_VARIABLE, JOINT_BYTES_PER_CATEGORY = 512, 24, 72
"""Bytes of a link, where there is a joint model; the categories are those of all sensitive variables."""

TABLE_CELL_BYTES = 200
"""Bytes of a cell of the table from which the published tables are made."""


def needed(combined: Combined, policy: AssessmentSpec, *, modelled: bool = False) -> int:
    """Bytes that an assessment needs, without the search for minimal sample uniques.

    Parameters
    ----------
    combined
        The combined output.
    policy
        With the tables to be published.
    modelled
        Whether the run has a joint model.
    """
    variables = len(combined.variables)
    rows = len(combined.alice) + len(combined.bob)
    pairs = len(combined.pair_a)
    levels = {variable.name: len(variable.categories) + 1 for variable in combined.variables}
    of_keys = [levels[name] for name in combined.with_role("key")]
    keys = math.prod(of_keys)
    merges = min(keys, combined.n_records) * sum(n * (n - 1) // 2 for n in of_keys)
    searched = 0 if policy.limits.given.get("correct_matches") is None else min(merges, SEARCHED)
    published = {name for table in policy.tables for name in table.variables}
    cells = math.prod(levels[name] for name in published) if published else 0
    return (
        rows * (ROW_BYTES + ROW_BYTES_PER_VARIABLE * variables)
        + pairs * (PAIR_BYTES + PAIR_BYTES_PER_VARIABLE * variables)
        + min(keys, MODEL_CELLS) * (MODEL_CELL_BYTES + MODEL_CELL_BYTES_PER_KEY * len(of_keys))
        + searched * MERGE_BYTES
        + (needed_by_joint(combined) if modelled else 0)
        + min(cells, BASE_CELLS) * TABLE_CELL_BYTES
    )


def needed_by_joint(combined: Combined) -> int:
    """Bytes that the measures by the joint model need."""
    sensitive = combined.with_role("sensitive")
    categories = sum(len(variable.categories) for variable in combined.variables if variable.name in sensitive)
    each = JOINT_BYTES + JOINT_BYTES_PER_VARIABLE * len(combined.variables) + JOINT_BYTES_PER_CATEGORY * categories
    return combined.n_records * each


def left_for_uniques(
    combined: Combined, policy: AssessmentSpec, resources: Resources, *, modelled: bool = False
) -> Resources:
    """What an assessment may use, less the combined output and what it needs in any case."""
    budget = MemoryBudget(resources.memory_bytes)
    budget.take(
        combined.n_bytes + needed(combined, policy, modelled=modelled),
        "the assessment of the combined output",
        "carry fewer variables",
    )
    return Resources(budget.free, resources.threads)
