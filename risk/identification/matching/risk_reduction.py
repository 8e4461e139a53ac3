"""What would lower a file's risk: which keys and categories add most, and the least recoding that brings it down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gemel.risk.identification.matching.bayesian_matching import BayesianMatching
from gemel.risk.identification.matching.category_merging import candidate_pairs, ordered_variables
from gemel.risk.identification.matching.recoding_search import minimal_recoding
from gemel.risk.identification.matching.relative_risk import category_risks, variable_risks

_CATEGORIES = 15  # listed
_MERGED = 40  # levels without an order that are merged two by two
_EFFORT = 300_000  # combinations times merges to which a search is made unasked: some ten seconds


def reduce_risk(matching: BayesianMatching, found: dict[str, Any], selected: float | None = None) -> None:
    """Put into an assessment, as ``reduce_risk``, what each key and category adds, and a recoding."""
    file = matching.file
    if not matching.measures.uniques:
        return
    found["risk_reduction"] = {
        "by_variable": [
            {"variable": v.name, "avoided": v.without.avoided, "relative_risk": _plain(v.without.relative_risk)}
            for v in variable_risks(matching)
        ],
        "by_category": _by_category(matching),
    }
    ordered = ordered_variables(file.labels)
    pairs = sum(len(candidate_pairs(file.levels, ordered, q)) for q in range(file.n_keys))
    short = len(file.cells) * pairs <= _EFFORT
    _add_relative_risks(matching, found["risk_reduction"]["by_category"], ordered if short else None)
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


def _by_category(matching: BayesianMatching) -> list[dict[str, Any]]:
    """The categories from whose sample uniques most expected correct matches come, by their share of them."""
    file = matching.file
    own = file.counts == 1
    total = float(matching.correct_match[own].sum())
    listed: list[tuple[float, dict[str, Any]]] = []
    for q, (name, labels) in enumerate(zip(file.names, file.labels, strict=True)):
        records = np.bincount(file.codes[:, q], minlength=len(labels))
        matches = np.bincount(file.cells[own, q], weights=matching.correct_match[own], minlength=len(labels))
        listed += [
            (float(m), {"variable": name, "category": label, "records": int(n), "avoided": float(m) / total})
            for label, n, m in zip(labels, records, matches, strict=True)
            if m > 0
        ]
    return [entry for _, entry in sorted(listed, key=lambda pair: -pair[0])[:_CATEGORIES]]


def _add_relative_risks(
    matching: BayesianMatching, listed: list[dict[str, Any]], ordered: Sequence[bool] | None
) -> None:
    """Relative risk of each category listed, by suppression and, with `ordered`, by merging it with others."""
    found = category_risks(matching, ordered) if ordered is not None else []
    risks = {(risk.name, risk.category): risk for risk in found}
    for entry in listed:
        risk = risks.get((entry["variable"], entry["category"]))
        by_suppression = risk.suppressed.relative_risk if risk and risk.suppressed else None
        by_merging = risk.merged_relative_risk if risk else None
        entry["relative_risk"] = None if by_suppression is None else _plain(by_suppression)
        entry["merged_relative_risk"] = None if by_merging is None else _plain(by_merging)
        entry["merged_avoided"] = risk.merged_avoided if risk else None


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
