"""What would lower a file's risk: which keys and categories add most, and the least recoding that brings it down."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gemel.risk.arrays import finite
from gemel.risk.identification.matching.bayesian_matching import BayesianMatching, ModelMeasures, measures_of
from gemel.risk.identification.matching.recoding import Recoding, candidate_pairs, merges, ordered_variables, recoded
from gemel.risk.identification.matching.recoding_search import minimal_recoding

# The relative risk of a variable is the file's risk with it over the risk without it, both from the same models: the
# variable is summed out of them. A category is judged by suppression (the records that have it are left out) and by
# merging it with its neighbours, or where levels have no order with each other category in turn.
#
# Pr(CM | UM), the thesis's file measure, is a mean over what stays unique: leaving out a variable can leave the few
# records of highest risk and *raise* it. The expected number of correct matches never rises when a file is coarsened,
# so it is given beside.


@dataclass(frozen=True)
class Change:
    """A file measure before and after a change to the file.

    `relative_risk`: Pr(CM | UM) before over after: how many times greater the risk is with what the change would take
    away. Infinite where nothing unique is left. `avoided`: share of the expected correct matches (tau2) that the change
    takes away. `after`: all measures after it.
    """

    relative_risk: float
    avoided: float
    after: ModelMeasures


@dataclass(frozen=True)
class CategoryRisk:
    suppressed: Change | None = None
    merged_relative_risk: float | None = None
    merged_avoided: float | None = None


def change(before: ModelMeasures, after: ModelMeasures) -> Change:
    was, has = before.cm_given_um, after.cm_given_um
    had = before.expected_matches
    relative = was / has if has else math.inf if was else 1.0
    return Change(relative, 1.0 - after.expected_matches / had if had else 0.0, after)


def variable_risks(matching: BayesianMatching) -> dict[str, Change]:
    """What leaving out each key variable changes, greatest effect on the expected correct matches first."""
    none = Recoding.none(matching.file)
    without = {
        name: change(matching.measures, recoded(matching, none.without(q)).measures)
        for q, name in enumerate(matching.file.names)
    }
    return dict(sorted(without.items(), key=lambda pair: -pair[1].avoided))


def category_risks(matching: BayesianMatching) -> dict[tuple[str, str], CategoryRisk]:
    file = matching.file
    before = matching.measures
    merged: dict[tuple[int, int], list[Change]] = defaultdict(list)
    for merge in merges(matching, recoded(matching, Recoding.none(file)), ordered_variables(file.labels)):
        for group in (merge.first, merge.second):
            merged[merge.variable, group].append(change(before, merge.measures))
    found = {}
    for q, (name, labels) in enumerate(zip(file.names, file.labels, strict=True)):
        for k, label in enumerate(labels):
            # Only sample uniques are left out; what the others give for the rest does not change.
            left_out = (file.cells[:, q] == k) & (file.counts == 1)
            kept = (matching.correct_match, matching.population_unique, matching.outside)
            after = measures_of(file.counts[~left_out], *(x[~left_out] for x in kept))
            effects = merged[q, k]
            found[name, label] = CategoryRisk(
                change(before, after) if left_out.any() else None,
                float(np.mean([e.relative_risk for e in effects])) if effects else None,
                float(np.mean([e.avoided for e in effects])) if effects else None,
            )
    return found


_CATEGORIES = 15  # listed
_MERGED = 40  # levels without an order that are merged two by two
_EFFORT = 300_000  # combinations times merges to which a search is made unasked: some ten seconds


def reduce_risk(matching: BayesianMatching, found: dict[str, Any], selected: float | None = None) -> None:
    """Put into an assessment, as ``risk_reduction``, what each key and category adds, and a recoding."""
    file = matching.file
    if not matching.measures.uniques:
        return
    ordered = ordered_variables(file.labels)
    pairs = sum(len(candidate_pairs(file.levels, ordered, q)) for q in range(file.n_keys))
    short = len(file.cells) * pairs <= _EFFORT
    found["risk_reduction"] = {
        "by_variable": [
            {"variable": name, "avoided": without.avoided, "relative_risk": finite(without.relative_risk)}
            for name, without in variable_risks(matching).items()
        ],
        "by_category": _by_category(matching, category_risks(matching) if short else {}),
    }
    # Levels with an order are merged with their neighbours only, however many there are.
    wide = [n for n, k, order in zip(file.names, file.levels, ordered, strict=True) if k > _MERGED and not order]
    merging = not wide and (short or selected is not None)
    target = matching.measures.expected_matches / file.n_records / 2 if selected is None else selected
    recoding = minimal_recoding(matching, target, merging=merging)
    found["risk_reduction"]["recoding"] = {
        "words": recoding.recoding.described(file),
        "reached": recoding.reached,
        "exact": recoding.exact,
        "merging": merging,
        "too_wide": wide,
        "before": recoding.risk_before,
        "target": target,
        "after": recoding.risk,
        "bits_lost": sum(recoding.loss),
        "bits": sum(recoding.information),
    }


def _by_category(matching: BayesianMatching, risks: Mapping[tuple[str, str], CategoryRisk]) -> list[dict[str, Any]]:
    file = matching.file
    own = file.counts == 1
    total = float(matching.correct_match[own].sum())
    listed: list[tuple[float, dict[str, Any]]] = []
    for q, (name, labels) in enumerate(zip(file.names, file.labels, strict=True)):
        records = np.bincount(file.codes[:, q], minlength=len(labels))
        matches = np.bincount(file.cells[own, q], weights=matching.correct_match[own], minlength=len(labels))
        for label, n, m in zip(labels, records.tolist(), matches.tolist(), strict=True):
            risk = risks.get((name, label), CategoryRisk())
            entry = {
                "variable": name,
                "category": label,
                "records": n,
                "avoided": m / total,
                "relative_risk": finite(risk.suppressed.relative_risk if risk.suppressed else None),
                "merged_relative_risk": finite(risk.merged_relative_risk),
                "merged_avoided": risk.merged_avoided,
            }
            listed += [(m, entry)] if m > 0 else []
    return [entry for _, entry in sorted(listed, key=lambda pair: -pair[0])[:_CATEGORIES]]
