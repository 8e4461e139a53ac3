"""The model with dependent fields, and its estimation.

Two dependent fields are not independent evidence. A relative who shares name, address and telephone with a person looks
like that person, because under independence so many agreements by chance are next to impossible. Here a class has the
fields' joint distribution by a decomposable graph: P(vector | match) and P(vector | not) are products of tables over
small cliques.

Estimation iterates: expected matches by pattern, graphs and tables from them, weights, expected matches. Where a record
has one match at most the expected matches are those that obey this (`link_posterior`). This is necessary: pair by pair
"one household" describes a group of pairs that agree on many fields as well as "one person" does, and the counts do not
distinguish the two.

There is then also a class of pairs known to be no match whatever their levels: those one of whose records has its one
link elsewhere (`strangers`). The tables of non-matches are estimated from them. If they were estimated
from all remaining pairs, missed matches would raise the probability that two different people share all but one field,
and more would be missed in the next round.

The joint distribution of non-matches must be known over all pairs. Where pairs were blocked, the candidates are counted
exactly and the others come from a random sample (`OutsideBlocks`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tryst.carole.fellegi_sunter.dependence.diagnosis import Misfit, misfits
from tryst.carole.fellegi_sunter.dependence.distribution import Distribution, estimated
from tryst.carole.fellegi_sunter.dependence.structure import (
    LARGEST_CLIQUE,
    EstimationMask,
    Sampled,
    Structure,
    choose,
    independent,
)
from tryst.carole.fellegi_sunter.estimation_mask import default_m, unidentified_fields
from tryst.carole.fellegi_sunter.fixed_point import LinkProbabilities
from tryst.carole.fellegi_sunter.kernels import level_counts as counted_levels
from tryst.carole.fellegi_sunter.link_posterior import LinkPosterior
from tryst.carole.fellegi_sunter.model import Model, probability
from tryst.carole.fellegi_sunter.model_warnings import FEW_MATCHES
from tryst.carole.fellegi_sunter.patterns import PatternCounts
from tryst.carole.fellegi_sunter.refinement import FEWEST_LINKS, PSEUDO_MATCHES, expected_levels
from tryst.carole.fellegi_sunter.settings import Estimation, RuleFields
from tryst.carole.fellegi_sunter.u import corrected, shares, within_levels
from tryst.common.documents.result_warning import result_warning
from tryst.common.progress import StageProgress

Kept = tuple[LinkPosterior, NDArray[np.integer]]
"""The kept pairs, and the pattern of each."""

GROWTH = (1, 2, 4, 8, 16)
"""Maximum number of edges of the non-matches' graph, at first and when it is chosen again."""

ROUNDS_PER_STEP = 3
"""Rounds after which it is chosen again."""

MAX_ROUNDS = 60
"""Rounds before giving up, which is reported."""

MAX_CHOICES = 4
"""How often the graphs are chosen: the second choice has better classes than the first; later ones rarely differ."""

ROUNDS_PER_CHOICE = 8
"""Rounds after which the graphs are chosen again though the matches still move."""

SETTLED = 1e-2
"""Change of the expected number of matches, relative to its square root, at which it has converged."""


NEAR = 1e-4
"""Match probability above which a pair counts as close to a match, where it is not known from the kept pairs."""

LINKED = 0.9
"""Link probability above which a record counts as linked, and its other pairs as non-matches."""

FEWEST_LINKED = 0.2
"""Share of pairs with a linked record below which too few of them are known to be no match."""


@dataclass(frozen=True)
class OutsideBlocks:
    """Comparison vectors of pairs that blocking left out, from a random sample of them.

    Parameters
    ----------
    gamma : ndarray of int8, shape (n_patterns, n_fields)
    count : ndarray of float64, shape (n_patterns,)
        Pairs that they stand for.
    scale : float
        Pairs that a sampled one stands for.
    """

    gamma: NDArray[np.int8]
    count: NDArray[np.float64]
    scale: float


@dataclass(frozen=True)
class JointModel:
    """Distributions of comparison vectors with dependent fields.

    Parameters
    ----------
    matches, others : Distribution
        Of pairs of one person, and of two.
    p : float
        Share of matches among all pairs.
    rounds : int
    converged : bool
    misfits : tuple of Misfit
        Where independence fails, matches first.
    """

    matches: Distribution
    others: Distribution
    p: float
    rounds: int = 0
    converged: bool = False
    misfits: tuple[Misfit, ...] = ()

    def match_weights(self, gamma: NDArray[np.int8]) -> NDArray[np.float64]:
        """Match weights of comparison vectors, in bits: no longer a sum over fields."""
        ratio = self.matches.log_probability(gamma) - self.others.log_probability(gamma)
        return np.asarray(ratio / np.log(2.0))

    def match_probabilities(self, gamma: NDArray[np.int8]) -> NDArray[np.float64]:
        """Match probabilities of comparison vectors, each pair without its rivals."""
        return probability(self.match_weights(gamma) * np.log(2.0) + np.log(self.p) - np.log1p(-self.p))


def fit_joint(
    model: Model,
    patterns: PatternCounts,
    dependence: str,
    settings: Estimation | None = None,
    rules: Sequence[RuleFields] = (),
    level_counts: NDArray[np.float64] | None = None,
    outside_blocks: OutsideBlocks | None = None,
    pairs: Kept | None = None,
    first: LinkProbabilities | None = None,
    progress: StageProgress = lambda _: None,
) -> tuple[Model, JointModel, LinkProbabilities | None]:
    """Estimate a model whose fields may depend on each other, in each class separately.

    Parameters
    ----------
    model : Model
        With independent fields, fitted to the same counts.
    patterns : PatternCounts
    dependence : {"pairwise", "decomposable"}
    settings, rules, level_counts
        As given to `fit`.
    outside_blocks : OutsideBlocks, optional
        Needed where pairs were blocked.
    pairs : tuple of LinkPosterior and ndarray of int, optional
        The kept pairs and the pattern of each, as for `refined`; None: each pair separately.
    first : LinkProbabilities, optional
        Under `model`, where estimation starts; needed with `pairs`.
    progress : callable, optional
        As for `LinkPosterior.probabilities`.

    Returns
    -------
    Model
        m, u and p of the same classes, field by field.
    JointModel
    LinkProbabilities or None
        Under it, in the order of `pairs`.

    Notes
    -----
    O(n_patterns * n_fields) a round, with a table per field, and one run of `LinkPosterior.probabilities`.

    References
    ----------
    .. [1] Dawid and Lauritzen, Annals of Statistics 21, 1993. doi:10.1214/aos/1176349260
    """
    settings = settings or Estimation()
    if pairs is None:
        near = model.match_probabilities(np.ascontiguousarray(patterns.gamma)) >= NEAR
    else:
        near = np.bincount(pairs[1], minlength=patterns.n_patterns) > 0
    estimator = _Estimator(
        model, patterns, LARGEST_CLIQUE[dependence], settings, rules, level_counts, outside_blocks, near
    )
    gamma = estimator.gamma
    if pairs is not None and first is not None:
        matches = _by_pattern(pairs, first, len(gamma))
    else:
        matches = patterns.count * model.match_probabilities(gamma)
    posterior = first
    # The strongest dependence of non-matches first, then further ones: agreement of neighbours must not be taken for
    # matches while the rest is estimated, nor missed matches for similar non-matches. Matches come last: agreement
    # within a family must not be estimated as a dependence of matches.
    others = estimator.others(matches, pairs, posterior)
    none = independent(len(model.fields))
    graphs = none, estimator.graph_of_others(others, GROWTH[0])
    choices, converged, rounds, since = 1, False, 0, 0
    while not converged and rounds < MAX_ROUNDS:
        rounds, since = rounds + 1, since + 1
        joint, current = estimator.estimate(matches, others, graphs)
        weight = joint.match_weights(gamma)
        if pairs is not None:
            before = None if posterior is None else posterior.expected_links
            posterior = pairs[0].probabilities(weight[pairs[1]], progress, before, cycles=False)
            expected = _by_pattern(pairs, posterior, len(gamma))
        else:
            log_odds = weight * np.log(2.0) + np.log(joint.p) - np.log1p(-joint.p)
            expected = patterns.count * probability(log_odds)
        moved = abs(float(expected.sum()) - float(matches.sum()))
        converged = moved <= SETTLED * max(1.0, float(np.sqrt(matches.sum())))
        matches = expected
        others = estimator.others(matches, pairs, posterior)
        growing = choices < len(GROWTH)
        if choices < len(GROWTH) + MAX_CHOICES and (
            converged or since == (ROUNDS_PER_STEP if growing else ROUNDS_PER_CHOICE)
        ):
            chosen = (
                none if growing else estimator.graph_of_matches(matches),
                estimator.graph_of_others(others, GROWTH[choices] if growing else None),
            )
            choices, since = choices + 1, 0
            same = all(new.graph == old.graph for new, old in zip(chosen, graphs, strict=True))
            converged = converged and same and not growing
            if growing and len(chosen[1].edges) < GROWTH[choices - 1]:
                choices = len(GROWTH)
            graphs = chosen
    joint = replace(joint, rounds=rounds, converged=converged, misfits=estimator.misfits(matches, others))
    if not converged:
        warning = result_warning("dependence_not_converged", rounds=rounds)
        current = replace(current, warnings=(*current.warnings, warning))
    return current, joint, posterior


def _by_pattern(pairs: Kept, posterior: LinkProbabilities, n_patterns: int) -> NDArray[np.float64]:
    """Expected matches among the pairs of each pattern."""
    return np.bincount(pairs[1], posterior.probability, minlength=n_patterns).astype(np.float64)


class _Estimator:
    """The maximisation steps: graphs and tables from expected matches by pattern."""

    def __init__(
        self,
        model: Model,
        patterns: PatternCounts,
        largest_clique: int,
        settings: Estimation,
        rules: Sequence[RuleFields],
        level_counts: NDArray[np.float64] | None,
        outside_blocks: OutsideBlocks | None,
        near: NDArray[np.bool_],
    ) -> None:
        self.gamma = np.ascontiguousarray(patterns.gamma)
        self._model, self._settings, self._outside_blocks, self._near = model, settings, outside_blocks, near
        self._largest_clique = largest_clique
        self._count = patterns.count.astype(np.float64)
        self._n_levels = [field.n_levels for field in model.fields]
        self._width = model.m.shape[1]
        self._valid = within_levels(self._n_levels)
        self._estimation_mask = EstimationMask(patterns.mask, rules) if rules else None
        self._patterns, self._rules = patterns, rules
        self._fixed = unidentified_fields(rules, len(model.fields))
        self._believed = default_m(model.fields, self._width)
        self._everywhere = (
            counted_levels(self.gamma, patterns.count, self._width) if level_counts is None else level_counts
        )
        self._all_gamma = self.gamma if outside_blocks is None else np.vstack([self.gamma, outside_blocks.gamma])

    def graph_of_matches(self, matches: NDArray[np.float64]) -> Structure:
        """Which fields depend on each other among matches."""
        return choose(self.gamma, matches, self._model.fields, self._largest_clique, self._estimation_mask)

    def graph_of_others(self, others: NDArray[np.float64], max_edges: int | None) -> Structure:
        """Which fields depend on each other among non-matches."""
        return choose(
            self._all_gamma,
            others,
            self._model.fields,
            self._largest_clique,
            max_edges=max_edges,
            sampled=self._sampled(others),
        )

    def _sampled(self, others: NDArray[np.float64]) -> Sampled | None:
        if self._outside_blocks is None:
            return None
        nothing = np.zeros(len(self.gamma))
        drawn = np.concatenate([nothing, self._outside_blocks.count])
        near = np.where(
            np.concatenate([self._near, np.zeros(len(self._outside_blocks.count), dtype=np.bool_)]), others, 0.0
        )
        return Sampled(drawn, near, self._outside_blocks.scale)

    def misfits(self, matches: NDArray[np.float64], others: NDArray[np.float64]) -> tuple[Misfit, ...]:
        """Where independence fails."""
        fields = self._model.fields
        return (
            *misfits("matches", self.gamma, matches, fields, self._estimation_mask),
            *misfits("others", self._all_gamma, others, fields, sampled=self._sampled(others)),
        )

    def estimate(
        self, matches: NDArray[np.float64], others: NDArray[np.float64], graphs: tuple[Structure, Structure]
    ) -> tuple[JointModel, Model]:
        """Tables of both classes, and the marginals of each field."""
        model, settings = self._model, self._settings
        learnt = expected_levels(self._patterns, self._rules, matches, self._width)
        n_pairs = float(model.n_a) * model.n_b
        p = min(max(float(matches.sum()), FEWEST_LINKS) / n_pairs, 1 - 1e-9)
        m = shares(learnt + PSEUDO_MATCHES * self._believed, self._valid, 0.0)
        m = np.where(self._fixed[:, None], self._believed, m)
        if settings.u == "all_pairs":
            u = shares(self._everywhere, self._valid, settings.prior)
        else:
            u = corrected(self._everywhere, m, p, self._valid, settings.prior)
        scale = 1.0 if self._outside_blocks is None else max(1.0, self._outside_blocks.scale)
        joint = JointModel(
            estimated(graphs[0], self.gamma, matches, m, self._n_levels, FEW_MATCHES / 4, self._estimation_mask),
            estimated(graphs[1], self._all_gamma, others, u, self._n_levels, scale),
            p,
        )
        return joint, replace(model, m=m, u=u, p=p, matches_behind_m=learnt.sum(axis=1))

    def others(
        self, matches: NDArray[np.float64], pairs: Kept | None, posterior: LinkProbabilities | None
    ) -> NDArray[np.float64]:
        """Expected non-matches by pattern, of all pairs.

        Also where u is that of all pairs: in a single field matches are negligible among the others, but nearly all
        pairs that agree on several fields at once are matches, and would appear as a dependence of non-matches.
        """
        if pairs is None or posterior is None:
            others = np.maximum(self._count - matches, 0.0)
        else:
            known, share = strangers(pairs, posterior.probability, len(self._count))
            others = np.maximum(self._count - matches, 0.0)
            if share >= FEWEST_LINKED:
                others = np.where(self._near, np.minimum(known / share, self._count), self._count)
        return others if self._outside_blocks is None else np.concatenate([others, self._outside_blocks.count])


def strangers(pairs: Kept, probability: NDArray[np.float64], n_patterns: int) -> tuple[NDArray[np.float64], float]:
    """Pairs that are no match because a record of theirs is linked to another, whatever their levels.

    Which ones are known depends on the assignment (`LinkPosterior.excluded`).

    Returns
    -------
    known : ndarray of float64, shape (n_patterns,)
        Such pairs by pattern.
    share : float
        Their share of all non-matches.
    """
    links, pattern = pairs
    known, share = links.excluded(probability >= LINKED)
    return np.bincount(pattern[known], minlength=n_patterns).astype(np.float64), share
