"""m, u and p estimated again from link probabilities that obey the assignment.

The pairwise model takes for its match class whatever makes fields agree together. Where few records have a match that
can be something else: in two files of 500 people, five of them in both, whose given names follow their gender, its
match class is "same gender, similar given name", and p goes to its bound. One-to-one excludes this: pairs of every
record with every other cannot be matches; nor can they where the records of one file have one match at most. Estimating
m, u and p from link probabilities under the assignment (`link_posterior`), and those from them, in turn, is the EM of
that model.

It starts from agreement on every field and not from the pairwise fit, and a prior worth `PSEUDO_MATCHES` matches holds
it there while there are few links to estimate from. F1 of the decision on parts of brl_sim's files (two errors a
record, 500 by 500, of which 5, 15, 50 and 300 in common): .15, .45, .71 and .985 by the pairwise estimates, .91, .91,
.93 and .992 by these, from either start. Where the fit is good (FEBRL4, all of brl_sim) nothing changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tryst.carole.fellegi_sunter.estimation_mask import default_m, identified_bits, unidentified_fields
from tryst.carole.fellegi_sunter.fixed_point import LinkProbabilities
from tryst.carole.fellegi_sunter.identifiability import why_not_identified
from tryst.carole.fellegi_sunter.kernels import level_counts as counted_levels
from tryst.carole.fellegi_sunter.link_posterior import LinkPosterior
from tryst.carole.fellegi_sunter.link_rule import Assignment
from tryst.carole.fellegi_sunter.model import Model
from tryst.carole.fellegi_sunter.model_warnings import warnings_of
from tryst.carole.fellegi_sunter.patterns import PatternCounts
from tryst.carole.fellegi_sunter.settings import Estimation, RuleFields
from tryst.carole.fellegi_sunter.u import corrected, shares, within_levels
from tryst.common.documents.result_warning import ResultWarning, result_warning
from tryst.common.progress import StageProgress

MAX_UNSETTLED_ROUNDS = 3
"""Rounds of estimation where a giant group of competing records does not converge."""

PSEUDO_MATCHES = 20.0
"""Matches that the prior of m is worth: with 5 the first case above ends at F1 .45; 10 to 40 are much the same."""

FEWEST_LINKS = 1e-6
"""Lower bound of p, as a number of links."""


def refined(
    model: Model,
    patterns: PatternCounts,
    links: LinkPosterior,
    pattern: NDArray[np.integer],
    settings: Estimation | None = None,
    rules: Sequence[RuleFields] = (),
    level_counts: NDArray[np.float64] | None = None,
    pseudo_matches: float = PSEUDO_MATCHES,
    max_rounds: int = 30,
    progress: StageProgress = lambda _: None,
) -> tuple[Model, LinkProbabilities]:
    """Estimate a model from the assignment's link probabilities, and those from it, until their sum converges.

    Parameters
    ----------
    model : Model
        Fitted to the same counts by `fit`.
    patterns : PatternCounts
    links : LinkPosterior
        Of the kept pairs: all whose match probability is not negligible.
    pattern : ndarray of int, shape (n_pairs,)
        Row of `patterns` that each pair is counted in.
    settings, rules, level_counts
        As given to `fit`.
    pseudo_matches : float
        Weight of the prior of m, whose mean is `default_m`.
    max_rounds : int
        Rounds of estimation; with 0 the model is unchanged. Where messages do not converge no more than
        `MAX_UNSETTLED_ROUNDS` are made: each then takes seconds.
    progress : callable
        Called with the approximate fraction done. An exception from it ends the work.

    Returns
    -------
    Model
        With m, u, p and warnings of the last round; history and likelihood are those of `fit`.
    LinkProbabilities
        Under that model.

    Notes
    -----
    A round costs one run of `LinkPosterior.probabilities` and a pass over the patterns; two or three are made where
    matches are clear.
    """
    settings = settings or Estimation()
    gamma = np.ascontiguousarray(patterns.gamma)
    if max_rounds == 0:
        return model, _posterior(model, gamma, links, pattern, progress)
    n_pairs = float(model.n_a) * model.n_b
    width = model.m.shape[1]
    valid = within_levels([field.n_levels for field in model.fields])
    fixed = unidentified_fields(rules, len(model.fields))
    everywhere = counted_levels(gamma, patterns.count, width) if level_counts is None else level_counts
    current = believed_model(model, patterns, settings, level_counts)
    believed = current.m
    posterior = _posterior(current, gamma, links, pattern, _part(progress, 0))
    learnt = np.zeros_like(model.m)
    converged = False
    for done in range(max_rounds):
        if done >= MAX_UNSETTLED_ROUNDS and not posterior.converged:
            break
        expected = np.bincount(pattern, posterior.probability, minlength=len(gamma)).astype(np.float64)
        learnt = expected_levels(patterns, rules, expected, width)
        p = min(max(posterior.expected_links, FEWEST_LINKS) / n_pairs, 1 - 1e-9)
        m = np.where(fixed[:, None], believed, shares(learnt + pseudo_matches * believed, valid, 0.0))
        u = current.u if settings.u == "all_pairs" else corrected(everywhere, m, p, valid, settings.prior)
        current = replace(current, m=m, u=u, p=p)
        before = posterior.expected_links
        posterior = _posterior(current, gamma, links, pattern, _part(progress, done + 1), before)
        converged = abs(posterior.expected_links - before) <= 3e-3 * max(1.0, math.sqrt(before))
        if converged:
            break
    warnings = warnings_of(
        fields=model.fields,
        m=current.m,
        u=current.u,
        level_counts=everywhere,
        matches_behind_m=learnt.sum(axis=1),
        unidentified_fields=fixed,
        reason=None if model.identified else why_not_identified(model.fields, everywhere, settings.u),
        unconstrained_matches=posterior.expected_links,
        maximum=math.inf,
        fewest=FEWEST_LINKS,
        iterations=None if model.converged else model.iterations,
        distance=model.distance,
    )
    current = replace(
        current,
        matches_behind_m=learnt.sum(axis=1),
        warnings=(*warnings, *_disagreement(model, links.assignment, posterior, converged)),
    )
    return current, posterior


def believed_model(
    model: Model,
    patterns: PatternCounts,
    settings: Estimation | None = None,
    level_counts: NDArray[np.float64] | None = None,
) -> Model:
    """The model that estimation under an assignment starts from: matches nearly always agree, others as all pairs do.

    A pair that may be a match under it must be among those kept, whatever its score in the pairwise fit.
    """
    settings = settings or Estimation()
    width = model.m.shape[1]
    valid = within_levels([field.n_levels for field in model.fields])
    everywhere = counted_levels(patterns.gamma, patterns.count, width) if level_counts is None else level_counts
    return replace(model, m=default_m(model.fields, width), u=shares(everywhere, valid, settings.prior))


def _disagreement(
    model: Model, assignment: Assignment, posterior: LinkProbabilities, converged: bool
) -> list[ResultWarning]:
    """Warnings about a pairwise fit that contradicts the assignment."""
    found = []
    pairwise, links = model.expected_matches, posterior.expected_links
    if pairwise > 1.25 * links + 5:
        warning = result_warning("matches_exceed_assignment", pairwise=pairwise, links=links, assignment=assignment)
        found.append(warning)
    if not converged:
        found.append(result_warning("assignment_not_converged", assignment=assignment))
    return found


def _posterior(
    model: Model,
    gamma: NDArray[np.int8],
    links: LinkPosterior,
    pattern: NDArray[np.integer],
    progress: StageProgress,
    near: float | None = None,
) -> LinkProbabilities:
    weight = model.match_weights(gamma)[pattern]
    return links.probabilities(weight, progress, near, cycles=False)


def _part(progress: StageProgress, done: int) -> StageProgress:
    """Progress within one of an unknown number of rounds: each takes a fifth of what is left."""
    before, after = 1 - 0.8**done, 1 - 0.8 ** (done + 1)
    return lambda fraction: progress(after if fraction == 1 else before + (after - before) * fraction)


def expected_levels(
    patterns: PatternCounts, rules: Sequence[RuleFields], links: NDArray[np.float64], n_levels: int
) -> NDArray[np.float64]:
    """Expected links by field and level, of the patterns that identify the field: shape (n_fields, n_levels)."""
    gamma = patterns.gamma
    identified = identified_bits(patterns.mask, rules, patterns.n_fields)
    learnt = np.zeros((gamma.shape[1], n_levels))
    for q in range(gamma.shape[1]):
        identifies = (gamma[:, q] >= 0) & ((identified >> np.uint64(q)) & np.uint64(1) == 1)
        learnt[q] = np.bincount(gamma[identifies, q], links[identifies], minlength=n_levels)
    return learnt
