"""Results that explain a run's decision: the course of EM, thresholds, examples of comparisons, unlinkable records.

Parameters and counts. An example is a comparison vector, levels only, that several pairs have: it identifies no pair.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

import numpy as np

from gemel.carole.engine.decision.coded_links import stated_share
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.result import FEWEST, Linkage
from gemel.carole.fellegi_sunter.link_rule import assigned
from gemel.carole.fellegi_sunter.model import log2_ratios
from gemel.common.arrays import F64, Ints
from gemel.risk.models.graphs import members

THRESHOLDS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
STEPS = 60
"""Steps of EM that are reported, evenly spaced, first and last among them."""
MORE_EXAMPLES = 20
"""Of the commonest comparison vectors, half above and half below the decision."""


def history(linkage: Linkage) -> dict[str, Any]:
    """The course of EM, pair by pair: step, p, log likelihood, and each field's m at its top level."""
    path = linkage.model.history
    n = len(path.p)
    steps = np.unique(np.linspace(0, max(n - 1, 0), min(n, STEPS)).round().astype(np.int64))
    return {
        "step": steps.tolist(),
        "p": path.p[steps].tolist(),
        "log_likelihood": path.log_likelihood[steps].tolist(),
        "top_m": {
            field.name: path.m[steps, q, field.n_levels - 1].tolist() for q, field in enumerate(linkage.model.fields)
        },
    }


def shown_threshold(linkage: Linkage, plan: LinkagePlan) -> float:
    """The decision's threshold; where it follows from the pairs, it may be a pair's own, and is rounded down."""
    if plan.known_threshold is not None:
        return float(linkage.threshold)
    return max(0.01, math.floor(100 * float(linkage.threshold)) / 100)


def thresholds(linkage: Linkage, plan: LinkagePlan) -> list[dict[str, float]]:
    """At each of some thresholds the links there would be, and what the model expects of them; from kept pairs.

    Two rows differ by `FEWEST` links at least, or by none: else their difference would be the probabilities of few.
    """
    pairs, entities = linkage.pairs, linkage.entities
    a: Ints = pairs.row_a if entities is None else entities.a[pairs.row_a]
    b: Ints = pairs.row_b if entities is None else entities.b[pairs.row_b]
    matches = float(pairs.link_probability.sum()) + linkage.matches_below_floor
    rows = []
    decision = round(shown_threshold(linkage, plan), 6)
    for threshold in sorted({*THRESHOLDS, decision}):
        if not 0 < threshold < 1:
            continue
        links = assigned(a, b, pairs.link_probability, threshold, plan.assignment)
        if len(links) > linkage.plausible_links:
            continue  # more than people can explain: what the model expects of them means nothing
        right = float(pairs.link_probability[links].sum())
        rows.append(
            {
                "threshold": threshold,
                "links": len(links),
                "precision": stated_share(right / len(links)) if len(links) else 1.0,
                "recall": stated_share(min(1.0, right / matches)) if matches > 0 else 0.0,
            }
        )
    return _apart(rows, decision, len(linkage.links))


def _apart(rows: list[dict[str, float]], decision: float, n_links: int) -> list[dict[str, float]]:
    """Those rows that differ enough from each other and from the decision, whose number of links is stated anyway."""
    stated = [float(n_links)]
    kept = []
    for row in sorted(rows, key=lambda each: (each["threshold"] != decision, -each["links"])):
        gaps = [abs(row["links"] - links) for links in (*stated, 0.0)]
        if all(gap == 0 or gap >= FEWEST for gap in gaps):
            kept.append(row)
            stated.append(row["links"])
    return sorted(kept, key=lambda each: each["threshold"])


def unlinkable(linkage: Linkage, plan: LinkagePlan) -> dict[str, Any]:
    """Per file the records that cannot reach a threshold, at each of some thresholds and at the decision."""
    grid = sorted({*THRESHOLDS, round(shown_threshold(linkage, plan), 6)})
    return {
        side: {"at_decision": best.below(linkage.threshold), "below": [[t, best.below(t)] for t in grid]}
        for side, best in zip(("alice", "bob"), linkage.best_possible, strict=True)
    }


def examples(linkage: Linkage, plan: LinkagePlan) -> list[dict[str, Any]]:
    """Comparison vectors that several pairs have, each with its sum of weights.

    First the strongest, those about the decision and the commonest below it, then the commonest of all. Where fields
    depend on each other, the sum includes their joint weight less the sum of their separate weights.
    """
    scored, scheme = linkage.patterns, linkage.scheme
    shown = np.flatnonzero(scored.count >= FEWEST)
    if not len(shown):
        return []
    prior = math.log2(linkage.model.p) - math.log2(1 - linkage.model.p)
    decision = math.log2(linkage.threshold / (1 - linkage.threshold)) if 0 < linkage.threshold < 1 else 0.0
    odds = scored.weight[shown] + prior - decision
    above, below = shown[odds >= 0], shown[odds < 0]
    chosen = []
    if len(above):
        by_weight = above[np.argsort(-scored.weight[above], kind="stable")]
        chosen += [("the strongest", by_weight[0]), ("the weakest above the decision", by_weight[-1])]
    if len(below):
        by_weight = below[np.argsort(-scored.weight[below], kind="stable")]
        commonest = by_weight[np.argmax(scored.count[by_weight])]
        chosen += [("the strongest below the decision", by_weight[0]), ("the commonest", commonest)]
    for part in (above, below):
        by_count = part[np.argsort(-scored.count[part], kind="stable")]
        chosen += [("one of the commonest", k) for k in by_count[: MORE_EXAMPLES // 2]]
    found: dict[int, dict[str, Any]] = {}
    for what, k in chosen:
        if int(k) in found:
            continue
        gamma = scored.gamma[k]
        parts = [float(scheme.weights[q, level]) if level >= 0 else 0.0 for q, level in enumerate(gamma)]
        reported = gamma
        if not scheme.scheme.facts.graded:
            reported = scheme.scheme.vectors(gamma[None], [len(field.bounds) for field in plan.compared])[0]
        found[int(k)] = {
            "what": what,
            "pairs": int(scored.count[k]),
            "gamma": reported.tolist(),
            "prior": prior,
            "weights": parts,
            "together": float(scored.weight[k]) - sum(parts),
            "probability": float(scored.probability[k]),
        }
    return list(found.values())


_STEEPEST = 99.0
"""A larger weight, of a level that one side never has, is reported as this: JSON has no infinity."""


def model_section(linkage: Linkage, plan: LinkagePlan) -> dict[str, Any]:
    model = linkage.model
    weights = finite(log2_ratios(model.m, model.u))
    errors = linkage.scheme.standard_errors
    fields = []
    for q, field in enumerate(plan.compared):
        n_levels = model.fields[q].n_levels
        # A binary scheme has the top level and the rest.
        bounds = field.bounds if n_levels == len(field.bounds) else field.bounds[-2:]
        missing = linkage.missing.get(field.name, (0.0, 0.0))
        fields.append(
            {
                "name": field.name,
                "bounds": list(bounds),
                "m": model.m[q, :n_levels].tolist(),
                "u": model.u[q, :n_levels].tolist(),
                "weights": weights[q, :n_levels].tolist(),
                "missing": {"alice": float(missing[0]), "bob": float(missing[1])},
                "untaken": _untaken(linkage, q, n_levels, len(field.bounds)),
            }
        )
        if errors is not None:
            fields[-1]["standard_errors"] = {"m": _known(errors.m[q, :n_levels]), "u": _known(errors.u[q, :n_levels])}
        if not linkage.scheme.scheme.facts.calibrated:
            shaded = finite(linkage.scheme.weights[q, : len(field.bounds)])
            fields[-1]["shaded"] = {"bounds": list(field.bounds), "weights": shaded.tolist()}
    return {
        "fields": fields,
        "p": float(model.p),
        "expected_matches": float(model.expected_matches),
        "standard_errors": None if errors is None else {"p": _known(np.array([errors.p]))[0], "of": errors.note},
        "scheme": plan.scheme,
        "u_method": plan.u,
        "value_frequencies": [field.name for field in plan.fields if field.value_frequencies],
        "dependence": _dependence(linkage, plan),
        "history": history(linkage),
        "iterations": int(model.iterations),
        "converged": bool(model.converged),
        "warnings": list(model.warnings),
    }


def _untaken(linkage: Linkage, q: int, n_levels: int, n_graded: int) -> list[int]:
    """Levels of a field that no compared pair took; a binary scheme has the top level of `n_graded` and the rest."""
    taken = np.unique(linkage.patterns.gamma[:, q])
    taken = taken[taken >= 0]
    if n_levels != n_graded:
        taken = np.unique(taken == n_graded - 1)
    return [level for level in range(n_levels) if level not in taken]


def _dependence(linkage: Linkage, plan: LinkagePlan) -> dict[str, Any]:
    """The kinds of pairs, which fields depend on each other among strangers, and where independence fails."""
    joint = linkage.scheme.joint
    names = [field.name for field in linkage.model.fields]
    if joint is None:
        return {"kind": "none", "edges": [], "kinds": [], "misfits": []}
    relations = joint.relations
    return {
        "kind": joint.kind,
        "edges": [
            {"fields": [names[q] for q in edge.fields], "gain": float(edge.gain)} for edge in joint.law.structure.edges
        ],
        "kinds": [
            {
                "shared": [names[q] for q in members(shared) if not linkage.model.fields[q].of],
                "pairs": float(joint.kinds.pairs[k]),
                "one_person": float(relations.one_person[k]),
                "doubt": float(relations.doubt[k]),
            }
            for k, shared in enumerate(joint.kinds.shared)
        ],
        "misfits": [plain(misfit) | {"words": misfit.words} for misfit in joint.misfits],
    }


def finite(weights: F64) -> F64:
    """Weights without infinity."""
    clipped: F64 = np.clip(np.nan_to_num(weights), -_STEEPEST, _STEEPEST)
    return clipped


def _known(values: F64) -> list[float | None]:
    """Numbers, and None for those that are not known."""
    return [float(value) if np.isfinite(value) else None for value in values]


def plain(result: Any) -> Any:
    """Dataclasses of numbers and words as JSON has them."""
    return json.loads(json.dumps(result, default=asdict))
