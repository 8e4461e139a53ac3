"""The fitted model in a run's document: m, u and weights by field, dependent fields, kin, errors and history."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.documents.insights import history
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.result import Linkage
from gemel.carole.fellegi_sunter.dependence import Distribution
from gemel.carole.fellegi_sunter.model import log2_ratios

_STEEPEST = 99.0
"""A larger weight, of a level that one side never has, is reported as this: JSON has no infinity."""


def model_section(linkage: Linkage, plan: LinkagePlan) -> dict[str, Any]:
    """What the document states of a linkage's model."""
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
                "m": floats(model.m[q, :n_levels]),
                "u": floats(model.u[q, :n_levels]),
                "weights": floats(weights[q, :n_levels]),
                "missing": {"alice": float(missing[0]), "bob": float(missing[1])},
                "untaken": _untaken(linkage, q, n_levels, len(field.bounds)),
            }
        )
        if errors is not None:
            fields[-1]["standard_errors"] = {
                "m": _known(errors.m[q, :n_levels]),
                "u": _known(errors.u[q, :n_levels]),
            }
        if not linkage.scheme.scheme.facts.calibrated:
            shaded = finite(linkage.scheme.weights[q, : len(field.bounds)])
            fields[-1]["shaded"] = {"bounds": list(field.bounds), "weights": floats(shaded)}
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
    """Which fields depend on each other in each class: in the model, and where independence fails."""
    joint = linkage.scheme.joint
    names = [field.name for field in linkage.model.fields]

    if joint is None:
        return {"kind": "none", "matches": [], "others": [], "kin": [], "evidence_of_kin": [], "misfits": []}

    def edges(distribution: Distribution) -> list[dict[str, Any]]:
        return [
            {"fields": [names[q] for q in edge.fields], "gain": float(edge.gain)}
            for edge in distribution.structure.edges
        ]

    return {
        "kind": joint.kind,
        "matches": edges(joint.matches),
        "others": edges(joint.strangers),
        "kin": [
            {
                "pairs": float(share * (1.0 - joint.p) * linkage.model.n_a * linkage.model.n_b),
                "agreement": {
                    field.name: float(levels[q, field.n_levels - 1]) for q, field in enumerate(linkage.model.fields)
                },
            }
            for levels, share in zip(joint.kin.levels, joint.kin.shares, strict=False)
        ],
        "evidence_of_kin": list(joint.evidence_of_kin),
        "misfits": [
            {
                "within": misfit.within,
                "fields": list(misfit.fields),
                "gain": misfit.gain,
                "observed": misfit.observed,
                "expected": misfit.expected,
                "words": misfit.words,
            }
            for misfit in linkage.scheme.misfits
        ],
    }


def finite(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights without infinity."""
    clipped: NDArray[np.float64] = np.clip(np.nan_to_num(weights), -_STEEPEST, _STEEPEST)
    return clipped


def _known(values: NDArray[np.float64]) -> list[float | None]:
    """Numbers, and None for those that are not known."""
    return [float(value) if np.isfinite(value) else None for value in values]


def floats(values: NDArray[np.float64]) -> list[float]:
    """Numbers of JSON."""
    return [float(value) for value in values]
