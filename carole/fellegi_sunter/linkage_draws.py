"""Draws of whole linkages from their posterior, for analyses that must not take links for the truth.

A Gibbs sampler draws the links given m and u, and m and u given the links (`ModelDraws`), in turn. Where no record may
have two links the links come from the Markov chain of `linkage_sampler`, under Sadinle's prior, exact in the number of
links. Where the records of one file may, or pairs stand alone, the share c of records that have a partner is drawn,
``c ~ Beta(n + 1, N - n + 1)``, and given c each record draws its partner by itself.

Two chains are run, one from no links and one from the most probable ones. What they say of the number of links and of
their summed weight is compared, and a draw is taken from each in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

import numpy as np
from numba import njit

from gemel.carole.fellegi_sunter.candidate_graph import by_node
from gemel.carole.fellegi_sunter.kinds.pair_kinds import Vectors
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior, group_means
from gemel.carole.fellegi_sunter.linkage_sampler import choices, sweep
from gemel.carole.fellegi_sunter.model import PatternCounts, corrected, within_levels
from gemel.carole.fellegi_sunter.model import level_counts as counted_levels
from gemel.carole.fellegi_sunter.model_warnings import (
    default_m,
    expected_levels,
    identified_bits,
    unidentified_fields,
    worth,
)
from gemel.carole.fellegi_sunter.prior import LinkProbabilities
from gemel.carole.fellegi_sunter.propagation import GREATEST_LOG_WEIGHT
from gemel.carole.fellegi_sunter.schemes import FittedScheme
from gemel.carole.fellegi_sunter.settings import Estimation, RuleFields
from gemel.common.arrays import F64, I32, I64, Flags, Ints
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.progress import StageProgress, silent
from gemel.risk.models.result import split_r_hat


def effective_draws(chains: F64) -> float:
    """Independent draws that would fix the mean as well, by Geyer's initial positive sequence.

    `chains` (float64, shape (n_chains, n_steps)). Returns float: at most ``n_chains * n_steps``, which it is for a
    figure that never changes.

    O(n_chains * n_steps * lags until the correlation is gone).

    References
    ----------
    .. [1] Geyer, Practical Markov chain Monte Carlo, Statistical Science 7, 1992. doi:10.1214/ss/1177011137
    """
    n_chains, n_steps = chains.shape
    deviation = chains - chains.mean(axis=1, keepdims=True)
    variance = float((deviation**2).mean())
    if variance == 0.0:
        return float(n_chains * n_steps)
    total = -1.0
    for lag in range(0, n_steps - 1, 2):
        pair = sum(
            float((deviation[:, : n_steps - k] * deviation[:, k:]).sum()) / (n_chains * n_steps * variance)
            for k in (lag, lag + 1)
        )
        if pair <= 0.0:
            break
        total += 2.0 * pair
    return float(n_chains * n_steps / max(total, 1.0))


BURN_IN = 200
"""Steps of each chain before the first that counts."""

STEPS = 500
"""Steps of each chain that count, enough to compare chains by; more where many draws are taken."""

MAX_WORK = 5e8
"""Steps times pairs above which no more steps are made than the draws need: a minute or so for each chain."""

MIN_APART = 10
"""Steps between two draws of a chain, at least."""

MAX_R_HAT = 1.1
"""Above it the chains have not converged."""

WeightDraw = Callable[[F64, np.random.Generator], F64]
"""Match weights of the patterns under parameters drawn given the links by pattern: `ModelDraws.weights`."""


@dataclass(frozen=True)
class DrawnLinks:
    """The links of drawn linkages.

    `draw` (int32, shape (n_drawn_links,)): number of the draw, from 0, ascending; `pair` (int64, shape
    (n_drawn_links,)): position of the linked pair; ascending within a draw.
    """

    draw: I32 = field(repr=False)
    pair: I64 = field(repr=False)

    def among(self, order: I64) -> Self:
        """The same after the pairs were put into another order: `order` names the former position of each."""
        return self.at(np.argsort(order)[self.pair])

    def at(self, pair: I64) -> Self:
        """The same with other positions of the drawn pairs, one for each of `pair`."""
        within = np.lexsort((pair, self.draw))
        return replace(self, pair=pair[within].astype(np.int64))


@dataclass(frozen=True)
class LinkageDraws(DrawnLinks):
    """Drawn linkages, and what the chains behind them say of each other.

    `r_hat`: split R-hat, the larger one of the number of links and of their total weight; `effective`: independent
    draws of the number of links that all steps are worth.
    """

    r_hat: float
    effective: float
    warnings: tuple[ResultWarning, ...] = ()


def draw_linkages(
    links: LinkPosterior,
    pattern: Ints,
    posterior: LinkProbabilities,
    weights: WeightDraw,
    n_patterns: int,
    n_draws: int,
    rng: np.random.Generator,
    extra: F64 | None = None,
    progress: StageProgress = silent,
) -> LinkageDraws:
    """Draw linkages from the posterior of links, m and u.

    `links`: the kept pairs and the assignment. Copies of a person count as one, and the first pair of theirs stands for
    all; `pattern` (int, shape (n_pairs,)); `posterior`: where a chain starts, and what its proposals are made of;
    `weights`: draws the patterns' weights given the links by pattern; `extra` (float64, shape (n_pairs,)): added to
    each pair's weight, in bits.

    O(n_pairs + n_patterns * n_fields) a step; `BURN_IN` and `STEPS` steps of each chain, or `MIN_APART` for each draw.
    """
    persons, representative, member = links.persons()
    believed = posterior.probability[representative]
    of_pair, pattern = pattern, pattern[representative]
    step = _competing(persons, posterior.log_prior_odds, believed) if links.is_bipartite else _partners(persons)
    of_chain = (n_draws + 1) // 2
    compared = int(min(STEPS, MAX_WORK / max(len(of_pair), 1)))
    apart = max(MIN_APART, -(-compared // of_chain))
    steps = apart * of_chain
    traces = np.empty((2, 2, steps))
    taken: list[I64] = []
    for chain in range(2):
        linked = np.flatnonzero(believed > 0.5) if chain else np.empty(0, dtype=np.int64)
        start = np.bincount(pattern, believed, minlength=n_patterns).astype(np.float64)
        for k in range(-BURN_IN, steps):
            by_pattern = start if k == -BURN_IN else np.bincount(pattern[linked], minlength=n_patterns).astype(float)
            weight = weights(by_pattern, rng)[of_pair]
            weight = group_means(weight if extra is None else weight + extra, member, len(representative))
            linked = step(linked, (weight - np.log2(links.recall)) * np.log(2.0), rng)
            if k >= 0:
                traces[:, chain, k] = len(linked), weight[linked].sum()
                if (k + 1) % apart == 0:
                    taken.append(representative[linked])
            if k % 20 == 0:
                progress((chain + (k + BURN_IN) / (BURN_IN + steps)) / 2)
    # From either chain in turn.
    order = [chain * of_chain + k for k in range(of_chain) for chain in range(2)][:n_draws]
    r_hat = max(split_r_hat(trace) for trace in traces)
    effective = effective_draws(traces[0])
    warnings = []
    if r_hat > MAX_R_HAT or effective < n_draws:
        warnings.append(result_warning("draws_not_converged", r_hat=r_hat, effective=effective, draws=n_draws))
    sizes = [len(taken[k]) for k in order]
    draw = np.repeat(np.arange(n_draws, dtype=np.int32), sizes)
    pair = np.concatenate([np.sort(taken[k]) for k in order]).astype(np.int64)
    return LinkageDraws(draw, pair, r_hat, effective, tuple(warnings))


Step = Callable[[I64, F64, np.random.Generator], I64]
"""Links after a step, from those before and the pairs' log likelihood ratios."""


def _competing(links: LinkPosterior, log_prior_odds: float, believed: F64) -> Step:
    """A sweep of the Markov chain over one-to-one linkages."""
    rows, row = np.unique(links.row_a, return_inverse=True)
    columns, column = np.unique(links.row_b, return_inverse=True)
    first, order = by_node(row.astype(np.int32), len(rows))
    place = np.argsort(order)
    of_edge = column[order].astype(np.int64)
    # About the probability that the record has no link.
    free = 1.0 - np.bincount(column, believed, minlength=len(columns))
    pull = np.clip(free, 1e-9, 1.0)
    prior = links.bipartite_prior
    maximum = min(prior.maximum, len(rows), len(columns))
    numbers = np.arange(maximum + 1)
    log_prior = prior.log_density(numbers) - numbers * log_prior_odds

    def step(linked: I64, log_ratio: F64, rng: np.random.Generator) -> I64:
        log_weight = np.clip(log_ratio[order] + log_prior_odds, -GREATEST_LOG_WEIGHT, GREATEST_LOG_WEIGHT)
        chain = choices(first, of_edge, np.exp(log_weight), pull, log_prior)
        edge_of_row = np.full(len(rows), -1, dtype=np.int64)
        row_of_column = np.full(len(columns), -1, dtype=np.int64)
        edge_of_row[row[linked]] = place[linked]
        row_of_column[column[linked]] = row[linked]
        sweep(chain, edge_of_row, row_of_column, len(linked), rng)
        return order[edge_of_row[edge_of_row >= 0]].astype(np.int64)

    return step


def _partners(links: LinkPosterior) -> Step:
    """Each record's partner by itself, given the share of records that have one."""
    record, _, n_records, n_partners = links.choices
    rows, row = np.unique(record, return_inverse=True)
    first, order = by_node(row.astype(np.int32), len(rows))

    def step(linked: I64, log_ratio: F64, rng: np.random.Generator) -> I64:
        n = len(linked)
        some, none = rng.standard_gamma(n + 1.0), rng.standard_gamma(n_records - n + 1.0)
        log_odds = np.log(some) - np.log(none) - np.log(n_partners)
        chosen = _choose_partners(first, log_ratio[order] + log_odds, rng.random(len(first) - 1))
        return order[chosen[chosen >= 0]].astype(np.int64)

    return step


@njit(nogil=True, cache=True)
def _choose_partners(first: I64, log_odds: F64, uniform: F64) -> I64:
    """The edge each record draws, or -1, with probability proportional to its odds beside 1 for none."""
    chosen = np.full(len(first) - 1, -1, dtype=np.int64)
    for i in range(len(first) - 1):
        highest = 0.0
        for e in range(first[i], first[i + 1]):
            highest = max(highest, log_odds[e])
        total = np.exp(-highest)
        for e in range(first[i], first[i + 1]):
            total += np.exp(log_odds[e] - highest)
        reached = np.exp(-highest)
        requested = uniform[i] * total
        for e in range(first[i], first[i + 1]):
            if requested < reached:
                break
            chosen[i] = e
            reached += np.exp(log_odds[e] - highest)
    return chosen


# m and u drawn from their posterior, given which pairs are links: the other half of the draws of a linkage.
#
# Given the links, the levels of a field among them are multinomial and its m has the Dirichlet posterior, under the
# prior that estimation has (`FieldLevels.m_prior`). With kinds of pairs so has m of a shared field, among the links of
# the kinds that share it, and the part of each kind that is one person is drawn from a beta distribution of its mean
# and its doubt. u is drawn likewise from the pairs that are no links, of which there are so many that it hardly varies;
# where it is that of all pairs, or there are kinds, it stays.


@dataclass(frozen=True)
class ModelDraws:
    """Draws the parameters of a fitted model.

    `bounds`: inclusive upper bounds of each field's levels.
    """

    fitted: FittedScheme
    bounds: Sequence[Sequence[float]]
    patterns: PatternCounts = field(repr=False)
    settings: Estimation
    rules: Sequence[RuleFields] = ()
    level_counts: F64 | None = field(default=None, repr=False)

    def weights(self, links: F64, rng: np.random.Generator) -> F64:
        """Match weights of the patterns, in bits, under parameters drawn given the links by pattern.

        O(n_patterns * n_fields).
        """
        fitted, model = self.fitted, self.fitted.model
        scheme, n_levels = fitted.scheme, [len(levels) for levels in self.bounds]
        patterns = scheme.patterns(self.patterns, n_levels)
        counts = scheme.level_counts(self.level_counts, n_levels)
        width = model.m.shape[1]
        valid = within_levels([each.n_levels for each in model.fields])
        believed = worth(model.fields)[:, None] * default_m(model.fields, width)
        fixed = unidentified_fields(self.rules, len(model.fields))
        if fitted.joint is not None and not fitted.joint.is_plain:
            identified = identified_bits(patterns.mask, self.rules, len(model.fields))
            levels = fitted.joint.shared_levels(fitted.joint.densities(Vectors(patterns.gamma)), identified, links)
            levels += believed
            joint = fitted.joint.drawn(levels, partial(dirichlet, valid=valid, rng=rng), fixed, rng)
            return replace(fitted, joint=joint).match_weights(self.patterns.gamma)
        learnt = expected_levels(patterns, self.rules, links, width)
        m = np.where(fixed[:, None], model.m, dirichlet(learnt + believed, valid, rng))
        u = model.u
        if self.settings.u != "all_pairs":
            everywhere = counted_levels(patterns.gamma, patterns.count, width) if counts is None else counts
            p = float(links.sum()) / (float(model.n_a) * model.n_b)
            mean = corrected(everywhere, m, p, valid, self.settings.prior)
            u = dirichlet(mean * everywhere.sum(axis=1, keepdims=True), valid, rng)
        return scheme.of(replace(model, m=m, u=u), self.bounds).match_weights(self.patterns.gamma)


def dirichlet(counts: F64, valid: Flags, rng: np.random.Generator) -> F64:
    """One draw per row from the Dirichlet distribution with these parameters, 0 where there is no level."""
    drawn = np.where(valid, rng.standard_gamma(np.maximum(np.where(valid, counts, 0.0), 1e-3)), 0.0)
    # Parameters far below 1 can come out as 0, which no later observation could mend.
    drawn = np.where(valid, np.maximum(drawn, 1e-100), 0.0)
    return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))
