"""EM for m (and p, where it is free) with the Bayes factors of the values fixed.

As in Fellegi-Sunter's, pairs enter through counts only, here of patterns with each Bayes factor. u is fixed: it is the
distribution over all pairs, whatever their values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gemel.carole.extended_latent.classes import Classes
from gemel.carole.extended_latent.kernels import expectation
from gemel.carole.extended_latent.settings import ExtendedSettings
from gemel.carole.extended_latent.variables import wrong
from gemel.carole.fellegi_sunter.estimation_mask import expected_levels, unidentified_fields
from gemel.carole.fellegi_sunter.kernels import level_counts as counted_levels
from gemel.carole.fellegi_sunter.model import Model
from gemel.carole.fellegi_sunter.patterns import PatternCounts
from gemel.carole.fellegi_sunter.settings import RuleFields
from gemel.carole.fellegi_sunter.u import shares, within_levels


@dataclass(frozen=True)
class ExtendedEM:
    """The outcome of EM with fixed Bayes factors.

    Attributes
    ----------
    model
        With the new m (and p); all else unchanged.
    matches : ndarray of float64, shape (n_patterns,)
        Expected matches of each pattern.
    log_likelihood : ndarray of float64, shape (n_steps,)
        At each step, but for a constant.
    converged
        Whether m and p converged within the tolerance.
    iterations
        Steps made.
    unconstrained_matches
        Expected matches of the last step: where p is held, the value it would have moved to.
    """

    model: Model
    matches: NDArray[np.float64] = field(repr=False)
    log_likelihood: NDArray[np.float64] = field(repr=False)
    converged: bool
    iterations: int
    unconstrained_matches: float


def extended_em(
    model: Model,
    patterns: PatternCounts,
    classes: Classes,
    settings: ExtendedSettings,
    rules: Sequence[RuleFields] = (),
    weights: NDArray[np.float64] | None = None,
) -> ExtendedEM:
    """Estimate m with the Bayes factors of the values fixed.

    Parameters
    ----------
    model : Model
        Of Fellegi-Sunter; where EM starts.
    patterns : PatternCounts
        By the model's levels.
    classes : Classes
        The same pairs by pattern and Bayes factor.
    settings : ExtendedSettings
    rules : sequence of RuleFields
        m of a field is estimated from pairs of rules that do not involve it.
    weights : ndarray of float64, shape (n_patterns,), optional
        Match weights, in bits, that are not m over u (a dependence model, a weighted scheme): m is then fixed.

    Notes
    -----
    O(classes + patterns * fields) a step.
    """
    gamma = np.ascontiguousarray(patterns.gamma)
    n_pairs = float(model.n_a) * model.n_b
    width = model.m.shape[1]
    valid = within_levels([field.n_levels for field in model.fields])
    fixed = unidentified_fields(rules, len(model.fields))[:, None]
    u = _u(model, gamma, patterns.count, settings, valid)
    prior_m = _sized(settings.priors.m, valid, "m")
    maximum = min(1 / max(model.n_a, model.n_b) if settings.one_to_one else 1.0, 1 - 1e-9)
    m, p = model.m, min(model.p, maximum)
    matches = np.zeros(len(gamma))
    with np.errstate(divide="ignore"):
        log_u = np.hstack([np.log(u), np.zeros((len(u), 1))])
    fields = np.arange(len(model.fields))
    log_other = log_u[fields, gamma].sum(axis=1)
    trace: list[float] = []
    before = math.inf
    converged = False
    while not converged and len(trace) < settings.max_iterations:
        if weights is None:
            with np.errstate(divide="ignore", invalid="ignore"):
                log_m = np.hstack([np.log(m), np.zeros((len(m), 1))])
                ratio = log_m[fields, gamma].sum(axis=1) - log_other
        else:
            ratio = weights * math.log(2.0)
        log_odds = np.nan_to_num(ratio, nan=0.0) + math.log(p) - math.log1p(-p)
        likelihood = expectation(
            classes.pattern, classes.log_factor, classes.count, log_odds, log_other + math.log1p(-p), matches
        )
        trace.append(likelihood)
        unconstrained_matches = float(matches.sum())
        learnt = expected_levels(patterns, rules, matches, width) + prior_m
        new_m = m if weights is not None else np.where(fixed, m, shares(learnt, valid, settings.prior))
        new_p = p
        if settings.p == "free":
            given = settings.priors
            new_p = (max(unconstrained_matches, 1e-6) + given.matches) / (n_pairs + given.matches + given.non_matches)
            new_p = min(new_p, maximum)
        distance = max(float(np.abs(new_m - m).max()), abs(math.log(new_p / p)))
        rate = distance / before if 0 < before < math.inf else 1.0
        left = distance * rate / (1 - rate) if rate < 1 else math.inf
        converged = distance == 0 or max(distance, left) < settings.tolerance
        m, p, before = new_m, new_p, distance
    matches_behind_m = expected_levels(patterns, rules, matches, width).sum(axis=1)
    return ExtendedEM(
        model=Model(
            fields=model.fields,
            m=m,
            u=u,
            p=p,
            n_a=model.n_a,
            n_b=model.n_b,
            log_likelihood=trace[-1],
            converged=converged,
            iterations=len(trace),
            distance=distance,
            identified=model.identified,
            matches_behind_m=matches_behind_m,
            warnings=model.warnings,
            history=model.history,
        ),
        matches=matches,
        log_likelihood=np.array(trace),
        converged=converged,
        iterations=len(trace),
        unconstrained_matches=unconstrained_matches,
    )


def _u(
    model: Model,
    gamma: NDArray[np.int8],
    count: NDArray[np.int64],
    settings: ExtendedSettings,
    valid: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """u of the model, or with prior pairs added to those it was estimated from."""
    if settings.priors.u is None:
        return model.u
    pairs = counted_levels(gamma, count, valid.shape[1]).sum(axis=1, keepdims=True)
    return shares(pairs * model.u + _sized(settings.priors.u, valid, "u"), valid, 0.0)


def _sized(counts: NDArray[np.float64] | None, valid: NDArray[np.bool_], name: str) -> NDArray[np.float64]:
    if counts is None:
        return np.zeros(valid.shape)
    if counts.shape != valid.shape or (counts[~valid] > 0).any():
        raise wrong(
            "prior counts must have a row for each field and a column for each level of the widest",
            f"latent.priors.{name}",
            f"shape {counts.shape} for {valid.shape}",
        )
    return counts
