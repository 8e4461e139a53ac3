"""What is reported of the extended latent step: its joint distribution, and what the values changed, in averages."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.latent.effect import effect_of_values
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.plan_parts import LatentPlan
from gemel.carole.engine.run.probability_classes import FEWEST
from gemel.carole.engine.run.result import Explained, LatentResult, Linkage, ScoredPairs
from gemel.carole.extended_latent import ExtendedFit, WeightedPairs
from gemel.carole.extended_latent.explanation import explain_pairs
from gemel.carole.extended_latent.refit import log_likelihood
from gemel.carole.fellegi_sunter import PatternCounts
from gemel.risk.models.joint_distribution import JointDistribution, JointVariable

MAX_EXPLAINED = 100
"""Maximum number of pairs of a group in its average."""


def joint_distribution(fit: ExtendedFit, latent: LatentPlan) -> JointDistribution | None:
    """The joint distribution in codes; keys that stand alone are independent of it and are left out."""
    if fit.joint is None:
        return None
    coded = {variable.name for variable in latent.variables}
    of = {variable.name: variable for variable in fit.values.variables}
    variables = tuple(
        JointVariable(str(name), of[str(name)].holder, levels, str(name) in coded)
        for name, levels in zip(fit.joint.names, fit.joint.levels, strict=True)
    )
    return JointDistribution(variables, fit.joint, fit.value_fit.records, fit.value_fit.precision)


def explained_groups(
    fit: ExtendedFit,
    patterns: PatternCounts,
    after: tuple[ScoredPairs, NDArray[np.int64]],
    before: tuple[ScoredPairs, NDArray[np.int64]],
) -> tuple[Explained, ...]:
    """Average contributions of agreement and values to the links, and the links that the values made or removed.

    Parameters
    ----------
    fit : ExtendedFit
    patterns : PatternCounts
    after, before : tuple of ScoredPairs and ndarray of int64
        The pairs and which of them are links, with the values and by agreement alone.
    """
    (new_pairs, new), (old_pairs, old) = after, before
    n_b = fit.values.n_b
    keys_new = new_pairs.row_a[new].astype(np.int64) * n_b + new_pairs.row_b[new]
    keys_old = old_pairs.row_a[old].astype(np.int64) * n_b + old_pairs.row_b[old]
    groups = [
        ("all links", new_pairs, new),
        ("links that agreement alone would not have made", new_pairs, new[~np.isin(keys_new, keys_old)]),
        ("links of agreement alone that the values undid", old_pairs, old[~np.isin(keys_old, keys_new)]),
    ]
    places = {field.name: q for q, field in enumerate(fit.scheme.model.fields)}
    found = []
    for what, pairs, chosen in groups:
        if len(chosen) < FEWEST:  # its averages identify no person
            continue
        shown = chosen[np.linspace(0, len(chosen) - 1, min(len(chosen), MAX_EXPLAINED)).astype(np.int64)]
        sums: dict[tuple[str, str], float] = {}
        for bars in explain_pairs(fit, pairs.row_a[shown], pairs.row_b[shown], patterns.gamma[pairs.pattern[shown]]):
            for part in bars:
                # Which keys agree differs from pair to pair; their average is one contribution.
                name = "agreed values" if part.kind == "rarity" else part.name
                sums[part.kind, name] = sums.get((part.kind, name), 0.0) + part.bits
        order = {"prior": 0, "agreement": 1, "rarity": 2, "association": 3}
        parts = sorted(
            ((kind, name, bits / len(shown)) for (kind, name), bits in sums.items()),
            key=lambda part: (order[part[0]], places.get(part[1], 0)),
        )
        found.append(Explained(what, len(chosen), tuple(parts)))
    return tuple(found)


def latent_result(
    fit: ExtendedFit,
    patterns: PatternCounts,
    pairs: ScoredPairs,
    links: NDArray[np.int64],
    before: Linkage,
    plan: LinkagePlan,
    unconstrained_matches: float,
    weighted: WeightedPairs,
    seed: int,
) -> LatentResult:
    """The step's results beside the scored pairs.

    Parameters
    ----------
    fit : ExtendedFit
    patterns : PatternCounts
    pairs : ScoredPairs
    links : ndarray of int64
        Which of the pairs are links.
    before : Linkage
        By agreement alone.
    plan : LinkagePlan
    unconstrained_matches : float
        Matches estimated with the values.
    weighted : WeightedPairs
        The pairs that the joint distribution was estimated from.
    seed : int
    """
    model = fit.scheme.model
    expected = before.pairs.link_probability
    bits = np.zeros(0) if pairs.value_bits is None else pairs.value_bits[links]
    return LatentResult(
        joint=joint_distribution(fit, plan.latent or LatentPlan()),
        alone=tuple(fit.values.variables[column].name for column in fit.values.alone_columns),
        dependences=fit.value_fit.dependences,
        records=fit.value_fit.records,
        unconstrained_matches=unconstrained_matches,
        held=None if fit.refitted is not None and plan.competing else float(model.p) * model.n_a * model.n_b,
        iterations=fit.em.iterations,
        converged=fit.em.converged and fit.value_fit.converged,
        links_before=len(before.links),
        precision_before=float(expected[before.links].mean()) if len(before.links) >= FEWEST else None,
        matches_before=float(expected.sum()) + before.matches_below_floor,
        bits=_spread(bits),
        explained=explained_groups(fit, patterns, (pairs, links), (before.pairs, before.links)),
        effect=effect_of_values(
            fit.values,
            fit.value_fit,
            weighted,
            (before.pairs, before.links),
            (pairs, links),
            fit.value_fit.precision or 0.0,
            seed,
        ),
        precision=fit.value_fit.precision,
        log_likelihood_gain=float(fit.em.log_likelihood[-1]) - log_likelihood(before.scheme, patterns),
    )


def _spread(bits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lowest, quartiles and highest of what values add to the links, to a tenth, without the few at either end."""
    inner = np.sort(bits)[FEWEST - 1 : len(bits) - FEWEST + 1]
    return np.round(np.quantile(inner, np.linspace(0, 1, 5)), 1) if len(inner) else np.zeros(5)
