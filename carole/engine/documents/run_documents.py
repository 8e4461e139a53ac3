"""The result of a run as a document of counts and parameters: the model, the decision, the duration.

The structure is that of `gemel.common.documents`. It holds no record: numbers of pairs by
comparison vector, by match weight and by blocking rule, and parameters. A number of pairs by comparison vector or by
weight is of `FEWEST` pairs at least, and so are the sums that two numbers differ by: whoever knows m, u and p, as all
do who read it, would read from a single pair's number which fields its records share.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np

from gemel.carole.engine.decision.coded_links import stated_share
from gemel.carole.engine.documents.insights import (
    examples,
    model_section,
    plain,
    shown_threshold,
    thresholds,
    unlinkable,
)
from gemel.carole.engine.run.contribution import n_distinct
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.resources import Resources
from gemel.carole.engine.run.result import FEWEST, LatentResult, Linkage, match_probabilities
from gemel.carole.evaluation.quality_estimate import Claims, Interval
from gemel.carole.fellegi_sunter.entities import Entities
from gemel.carole.fellegi_sunter.model import Model
from gemel.common.arrays import F64, I8, I64, Ints
from gemel.common.documents.model_document import StatisticsDocument
from gemel.common.documents.result_warning import by_severity

HISTOGRAM_BINS = 60
MAX_PATTERNS = 500
"""Maximum number of comparison vectors reported, the most frequent ones first."""


def findings(
    linkage: Linkage, plan: LinkagePlan, resources: Resources, seconds: dict[str, float]
) -> StatisticsDocument:
    """The statistics; `seconds` are stages beside the engine's own, such as reading the uploads."""
    model = linkage.model
    own = [warning for warning in linkage.warnings if warning not in model.warnings]
    content = {
        "model": model_section(linkage, plan),
        "linkage": {**_counts(linkage, plan), "warnings": own},
        "timings": {
            "stages": [
                {"name": name, "seconds": round(value, 3)}
                for name, value in [*seconds.items(), *linkage.seconds.items()]
            ],
            "peak_memory_bytes": int(linkage.peak_bytes),
            "threads": resources.threads,
        },
        "warnings": by_severity([*model.warnings, *linkage.warnings]),
    }
    return StatisticsDocument.of(content, "statistics")


def _counts(linkage: Linkage, plan: LinkagePlan) -> dict[str, Any]:
    model, pairs, links = linkage.model, linkage.pairs, linkage.links
    linked_a, linked_b = pairs.row_a[links], pairs.row_b[links]
    if linkage.one_file is not None:
        linked_a = linked_b = np.concatenate([linked_a, linked_b])
    records_a, records_b = linkage.records
    counts: dict[str, Any] = {
        "pairs": int(model.n_a) * int(model.n_b),
        "candidates": int(linkage.n_candidates),
        "kept": int(pairs.weight.size),
        "links": int(links.size),
        "records": {"alice": records_a, "bob": records_b},
        "unlinked": {"alice": records_a - n_distinct(linked_a), "bob": records_b - n_distinct(linked_b)},
        "threshold": shown_threshold(linkage, plan),
        "assignment": plan.assignment,
        "false_link_rate": plan.false_link_rate,
        "duplicates": plain(dict(zip(("alice", "bob"), linkage.duplicates, strict=True))),
        "claims": _claims(linkage.claims, len(linkage.links)),
        "quality": plain(linkage.quality),
        "histogram": _histogram(pairs.weight, links),
        "thresholds": thresholds(linkage, plan),
        "unlinkable": unlinkable(linkage, plan),
        "examples": examples(linkage, plan),
        "blocking": None,
    }
    if linkage.latent is not None:
        counts["latent"] = _latent(linkage.latent)
    if linkage.entities is not None:
        counts["entities"] = _entities(linkage.entities)
    floor = float(match_probabilities(np.array([linkage.floor]), model.p)[0])
    if math.isfinite(floor):
        counts["floor"] = float(f"{floor:.1g}")  # of one comparison vector, to the last digit
    if plan.rules:
        counts["blocking"] = {
            "rules": [
                {
                    "name": rule.name,
                    "fields": list(rule.fields),
                    "candidates": int(linkage.candidates_per_rule.get(rule.name, 0)),
                }
                for rule in plan.rules
            ],
            "reduction": 1 - linkage.n_candidates / (int(model.n_a) * int(model.n_b)),
            "estimated_lost": None if linkage.blocking.lost is None else float(linkage.blocking.lost),
            "method": linkage.blocking.method,
            "assumptions": list(linkage.blocking.assumptions),
            "estimated_recall": None if linkage.blocking.recall is None else float(linkage.blocking.recall),
        }
    else:
        # Blocked pairs agree on their keys by construction, so the model does not predict how often.
        counts["patterns"] = _patterns(linkage, plan)
    return counts


def _entities(entities: Entities) -> dict[str, Any]:
    in_a, in_b = entities.sizes
    return {
        "number": entities.n,
        "linked": int(((in_a > 0) & (in_b > 0)).sum()),
        "several": {"alice": int((in_a > 1).sum()), "bob": int((in_b > 1).sum())},
        "largest": {"alice": int(in_a.max(initial=0)), "bob": int(in_b.max(initial=0))},
        "pairs": int(np.dot(in_a, in_b)),
    }


STATED_OF_LATENT = (
    "alone", "dependences", "records", "precision", "held", "unconstrained_matches", "log_likelihood_gain",
    "iterations", "converged", "effect", "explained",
)  # fmt: skip
"""What the document has of the step as it is."""


def _latent(found: LatentResult) -> dict[str, Any]:
    """What the extended latent step changed, and the shape of the joint distribution, without its probabilities."""
    return {
        "variables": [] if found.joint is None else list(found.joint.names),
        "parameters": 0 if found.joint is None else int(found.joint.model.parameters),
        **{name: plain(getattr(found, name)) for name in STATED_OF_LATENT},
        "before": {"links": found.links_before, "claims": _claims(found.claims_before, found.links_before)},
        "bits": found.bits.tolist(),
    }


def _claims(claimed: Claims | None, n_links: int) -> dict[str, Any] | None:
    """What is claimed of so many links.

    Of few links the figures themselves are left out, and the ends are rounded outwards to a tenth: an interval may end
    at the figure.
    """
    few = n_links < FEWEST

    def shown(name: str) -> dict[str, float | None] | None:
        found: Interval | None = getattr(claimed, name)
        if found is None:
            return None
        if name in ("compared", "matches", "people"):
            value, lower, upper = (float(round(figure)) for figure in (found.value, found.lower, found.upper))
        elif few:
            value, lower, upper = math.nan, math.floor(10 * found.lower) / 10, math.ceil(10 * found.upper) / 10
        else:
            value, lower, upper = (stated_share(figure) for figure in (found.value, found.lower, found.upper))
        return {"value": None if few else value, "lower": lower, "upper": upper}

    return None if claimed is None else {part.name: shown(part.name) for part in fields(claimed)}


def _histogram(weight: F64, links: I64) -> dict[str, Any]:
    if not weight.size:
        return {"edges": [0.0, 1.0], "counts": [0], "links": [0]}
    edges = np.histogram_bin_edges(weight, bins=HISTOGRAM_BINS)
    counts, linked = np.histogram(weight, edges)[0], np.histogram(weight[links], edges)[0]
    kept = _wide_enough(counts, linked)
    begins = kept[:-1]
    # The ends are the weights of single comparison vectors.
    shown = np.concatenate([[np.floor(edges[0])], edges[kept[1:-1]], [np.ceil(edges[-1])]])
    return {
        "edges": shown.tolist(),
        "counts": np.add.reduceat(counts, begins).tolist(),
        "links": np.add.reduceat(linked, begins).tolist(),
    }


def _wide_enough(counts: Ints, linked: Ints) -> I64:
    """Places of the edges that stay, first and last among them: bins of `FEWEST` pairs or none, and as many links.

    From the top down, so that the bin in which the decision falls takes the pairs below it that are few. A bin without
    links above one that has some would show pairs that rivals have kept from being links: it is joined too.
    """
    lowest = int(np.flatnonzero(linked).min(initial=len(counts)))
    places = [len(counts)]

    def enough(k: int) -> bool:
        pairs, links = int(counts[k : places[-1]].sum()), int(linked[k : places[-1]].sum())
        return links >= FEWEST if k >= lowest or links else pairs >= FEWEST or not pairs

    for k in range(len(counts) - 1, -1, -1):
        if enough(k):
            places.append(k)
    while places[-1] and not enough(0) and len(places) > 1:
        places.pop()
    return np.unique([0, *places])


def _patterns(linkage: Linkage, plan: LinkagePlan) -> list[dict[str, Any]]:
    """Observed pairs by comparison vector, and those that the model expects."""
    gamma, count = linkage.patterns.gamma, linkage.patterns.count
    if linkage.scheme.scheme.facts.binary:
        n_levels = [len(field.bounds) for field in plan.compared]
        gamma, member = np.unique(linkage.scheme.scheme.vectors(gamma, n_levels), axis=0, return_inverse=True)
        count = np.bincount(member.ravel(), weights=count, minlength=len(gamma)).astype(np.int64)
    expected = _expected_counts(linkage, gamma)
    # Where two fields were exchanged they are not missing at random: these vectors are no measure of fit.
    straight = (gamma[:, plan.swapped.start : plan.swapped.stop] <= 0).all(axis=1)
    straight &= count >= FEWEST
    frequent = np.argsort(np.where(straight, -count, 1), kind="stable")[: min(MAX_PATTERNS, int(straight.sum()))]
    return [{"gamma": gamma[i].tolist(), "observed": float(count[i]), "expected": float(expected[i])} for i in frequent]


def _expected_counts(linkage: Linkage, gamma: I8) -> F64:
    """Pairs that the model expects of each comparison vector, with values missing at random."""
    model: Model = linkage.model
    there = gamma >= 0
    pairs = np.full(len(gamma), float(model.n_a) * model.n_b)
    for q, field in enumerate(model.fields):
        missing_a, missing_b = linkage.missing.get(field.name, (0.0, 0.0))
        both = (1.0 - missing_a) * (1.0 - missing_b)
        pairs *= np.where(there[:, q], both, 1.0 - both)
    joint = linkage.scheme.joint
    if joint is not None:
        matches, others = (np.exp(each) for each in joint.log_probabilities(gamma))
    else:
        matches, others = np.ones(len(gamma)), np.ones(len(gamma))
        for q in range(gamma.shape[1]):
            level = np.maximum(gamma[:, q], 0)
            matches *= np.where(there[:, q], model.m[q, level], 1.0)
            others *= np.where(there[:, q], model.u[q, level], 1.0)
    counts: F64 = pairs * (model.p * matches + (1.0 - model.p) * others)
    return counts
