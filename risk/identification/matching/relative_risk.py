"""What each variable and each category adds to the risk, from models fitted once (T11 chapter 8).

The relative risk of a variable is the file's risk with it over the risk without it, both from the same models: the
variable is summed out of them. A category is judged by suppression (the records that have it are left out) and by
merging it with its neighbours, or where levels have no order with each other category in turn.

Pr(CM | UM), the thesis's file measure, is a mean over what stays unique: leaving out a variable can leave the few
records of highest risk and *raise* it. The expected number of correct matches never rises when a file is coarsened, so
it is given beside.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gemel.risk.identification.matching.bayesian_matching import BayesianMatching, ModelMeasures, measures_of
from gemel.risk.identification.matching.category_merging import merges, ordered_variables
from gemel.risk.identification.matching.recoding import Recoding, recoded


@dataclass(frozen=True)
class Change:
    """A file measure before and after a change to the file.

    Parameters
    ----------
    relative_risk
        Pr(CM | UM) before over after: how many times greater the risk is with what the change would take away.
        Infinite where nothing unique is left.
    avoided
        Share of the expected correct matches (tau2) that the change takes away.
    after
        All measures after it.
    """

    relative_risk: float
    avoided: float
    after: ModelMeasures


@dataclass(frozen=True)
class VariableRisk:
    """The risk that one variable adds."""

    name: str
    without: Change


@dataclass(frozen=True)
class CategoryRisk:
    """The risk that one category adds."""

    name: str
    category: str
    records: int
    suppressed: Change | None
    merged_relative_risk: float | None
    merged_avoided: float | None


def change(before: ModelMeasures, after: ModelMeasures) -> Change:
    """Relative risk, and the share of the expected correct matches avoided."""
    was, has = before.cm_given_um, after.cm_given_um
    had = before.expected_matches
    relative = was / has if has else math.inf if was else 1.0
    return Change(relative, 1.0 - after.expected_matches / had if had else 0.0, after)


def variable_risks(matching: BayesianMatching) -> list[VariableRisk]:
    """The relative risk of every key variable, greatest effect on the expected correct matches first."""
    file = matching.file
    none = Recoding.none(file)
    before = matching.measures
    found = [
        VariableRisk(name, change(before, recoded(matching, none.without(q)).measures))
        for q, name in enumerate(file.names)
    ]
    return sorted(found, key=lambda v: -v.without.avoided)


def category_risks(
    matching: BayesianMatching, ordered: Sequence[bool] | None = None, variables: Sequence[int] | None = None
) -> list[CategoryRisk]:
    """The relative risk of every category, greatest effect of suppression first."""
    file = matching.file
    ordered = ordered_variables(file.labels) if ordered is None else ordered
    before = matching.measures
    now = recoded(matching, Recoding.none(file))
    by_category: dict[tuple[int, int], list[Change]] = defaultdict(list)
    for merge in merges(matching, now, ordered, variables):
        effect = change(before, merge.measures)
        by_category[merge.variable, merge.first].append(effect)
        by_category[merge.variable, merge.second].append(effect)
    own = file.counts == 1
    found = []
    for q in range(file.n_keys) if variables is None else variables:
        for k, label in enumerate(file.labels[q]):
            has = file.cells[:, q] == k
            suppressed = None
            if (has & own).any():
                # Only sample uniques are left out; what the others give for the rest does not change.
                kept = ~(has & own)
                parts = (matching.correct_match, matching.population_unique, matching.outside)
                after = (
                    measures_of(file.counts[kept], *(x[kept] for x in parts))
                    if kept.any()
                    else ModelMeasures(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
                )
                suppressed = change(before, after)
            effects = by_category.get((q, k), [])
            found.append(
                CategoryRisk(
                    file.names[q],
                    label,
                    int(file.counts[has].sum()),
                    suppressed,
                    float(np.mean([e.relative_risk for e in effects])) if effects else None,
                    float(np.mean([e.avoided for e in effects])) if effects else None,
                )
            )
    return sorted(found, key=lambda c: -(c.suppressed.avoided if c.suppressed else 0.0))
