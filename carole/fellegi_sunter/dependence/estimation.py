"""Estimation of the model with dependent fields and latent classes, by expectation and maximisation.

Expected matches by pattern, graphs, tables and classes from them, weights, expected matches. Where a record has one
match at most the expected matches are those that obey this (`link_posterior`): pair by pair "one household" describes a
group of pairs that agree on many fields as well as "one person" does. It starts from classes with independent fields,
whose match class is held by the belief (`starting_classes`), and not from the pairwise fit: where few records have a
match, that takes for its match class whatever makes fields agree together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gemel.carole.fellegi_sunter.dependence.diagnosis import (
    Evidence,
    JointModel,
    Misfit,
    OutsideBlocks,
    ignored_dependence,
    misfits,
)
from gemel.carole.fellegi_sunter.dependence.kin_classes import KinClasses, log_tables, updated
from gemel.carole.fellegi_sunter.dependence.starting_classes import (
    MAX_KIN,
    CountedPairs,
    StartingClasses,
    starting_classes,
)
from gemel.carole.fellegi_sunter.dependence.structure import (
    Distribution,
    EstimationMask,
    Structure,
    choose,
    estimated,
    independent,
)
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.model import (
    Model,
    PatternCounts,
    corrected,
    probability,
    shares,
    summed,
    within_levels,
)
from gemel.carole.fellegi_sunter.model import level_counts as counted_levels
from gemel.carole.fellegi_sunter.model_warnings import (
    FEW_MATCHES,
    FEWEST_MATCHES,
    default_m,
    expected_levels,
    identified_bits,
    second_warnings,
    unidentified_fields,
    worth,
)
from gemel.carole.fellegi_sunter.prior import LinkProbabilities
from gemel.carole.fellegi_sunter.recall import blocking_recall, key_agreement
from gemel.carole.fellegi_sunter.settings import Estimation, RuleFields
from gemel.common.arrays import F64, Ints
from gemel.common.documents.result_warning import result_warning
from gemel.common.progress import StageProgress, silent

# The maximisation: graphs, tables and classes from expected matches by pattern.
#
# Under an assignment there are pairs known to be no match whatever their levels: those one of whose records has its
# one link elsewhere (`strangers_by_links`). The distributions of non-matches are estimated from them. If they were
# estimated from all remaining pairs, missed matches would raise the probability that two different people share all
# but one field, and more would be missed in the next round.
#
# For the same reason the strangers' graph is chosen without pairs that could be matches by the starting classes: a
# dozen people who moved, taken for non-matches, would otherwise be a dependence of date of birth and telephone among
# strangers, and remain non-matches for ever. Pairs of two people who do look alike are described by the classes of
# kin.
#
# The distribution of strangers must be known over all pairs. Where pairs were blocked, the candidates are counted
# exactly and the others come from a random sample.


Kept = tuple[LinkPosterior, Ints]
"""The kept pairs, and the pattern of each."""

LARGEST_CLIQUE = {"none": 1, "pairwise": 2, "decomposable": 4, "auto": 4}
"""Maximum number of fields in a clique: two make a forest of pairs."""

MIN_GAIN_OF_STRANGERS = 10.0
"""Minimum log Bayes factor of an edge among strangers: there are many pairs and edges, and real ones have hundreds."""

LINKED = 0.9
"""Link probability above which a record counts as linked, and its other pairs as non-matches."""

FEWEST_LINKED = 0.2
"""Share of pairs with a linked record below which too few of them are known to be no match."""

MIN_RECALL = 0.5
"""Share of the matches that blocking is supposed to keep at least: the few that a poorer one finds tell nothing."""


class _Steps:
    """Expected matches by pattern from the patterns' weights, and everything else from these."""

    def __init__(
        self, model: Model, patterns: PatternCounts, dependence: str, settings: Estimation, rules: Sequence[RuleFields],
        level_counts: F64 | None, outside_blocks: OutsideBlocks | None, pairs: Kept | None, evidence: Evidence | None,
        p: float | None, p_prior: tuple[float, float],
    ) -> None:  # fmt: skip
        self.gamma = np.ascontiguousarray(patterns.gamma)
        self._model, self._settings, self._p, self._p_prior = model, settings, p, p_prior
        self._pairs, self._evidence = pairs, evidence
        self._largest_clique = LARGEST_CLIQUE[dependence]
        self._count = patterns.count.astype(np.float64)
        self._n_levels = [field.n_levels for field in model.fields]
        self._valid = within_levels(self._n_levels)
        self._patterns, self._rules = patterns, rules
        self._estimation_mask = EstimationMask(patterns.mask, rules) if rules else None
        width = model.m.shape[1]
        self._believed = default_m(model.fields, width)
        self._worth = np.where(unidentified_fields(rules, len(model.fields)), np.inf, worth(model.fields))
        self.level_counts = counted_levels(self.gamma, patterns.count, width) if level_counts is None else level_counts
        outside = outside_blocks or OutsideBlocks(self.gamma[:0], np.zeros(0), 1.0)
        self._outside, self._scale = outside.count, max(1.0, outside.scale)
        self._all_gamma = np.vstack([self.gamma, outside.gamma])
        self._n_pairs = float(model.n_a) * model.n_b
        self._u = shares(self.level_counts, self._valid, settings.prior)
        self._clearly_others = np.ones(len(self._all_gamma))

    def start(self, max_kin: int) -> StartingClasses:
        """Classes with independent fields; they decide which pairs are clearly no match."""
        gamma, fields, n_pairs = self.gamma, self._model.fields, self._n_pairs
        identified = identified_bits(self._patterns.mask, self._rules, len(fields))
        counted = CountedPairs(
            gamma, self._count, identified, self._valid, self._u, self._believed, self._worth,
            np.array([field.personal for field in fields]), n_pairs,
            self._settings.expected_matches,
        )  # fmt: skip
        pairs = self._pairs
        start = starting_classes(
            counted, max_kin, lambda chosen: 0.0 if pairs is None else pairs[0].exclusiveness(chosen[pairs[1]])
        )
        odds = start.weight * np.log(2.0) + np.log(start.matches) - np.log(max(n_pairs - start.matches, 1.0))
        self._clearly_others[: len(gamma)] = probability(-odds)
        return start

    def matches(
        self, weight: F64, p: float, recall: float, before: LinkProbabilities | None, progress: StageProgress
    ) -> tuple[F64, LinkProbabilities | None]:
        """Expected matches by pattern, and the link probabilities of the kept pairs, under weights in bits."""
        known = self._evidence
        if self._pairs is not None:
            links, pattern = replace(self._pairs[0], recall=recall), self._pairs[1]
            of_pairs = weight[pattern] if known is None else weight[pattern] + known.bits
            posterior = links.probabilities(of_pairs, progress, near=before is not None, cycles=False)
            matches = np.bincount(pattern, posterior.probability, minlength=len(weight))
            return matches.astype(np.float64), posterior
        log_odds = np.log(p) - np.log1p(-p)
        if known is None:
            return self._count * probability(weight * np.log(2.0) + log_odds), None
        g = probability((weight[known.pattern] + known.bits) * np.log(2.0) + log_odds)
        of_classes = g if known.count is None else g * known.count
        return np.bincount(known.pattern, of_classes, minlength=len(weight)).astype(np.float64), None

    def others(self, matches: F64, posterior: LinkProbabilities | None) -> F64:
        """Expected non-matches by pattern, of all pairs.

        Also where u is that of all pairs: in a single field matches are negligible among the others, but nearly all
        pairs that agree on several fields at once are matches, and would appear as a dependence of non-matches.
        """
        others = np.maximum(self._count - matches, 0.0)
        if self._pairs is not None and posterior is not None:
            known, share = strangers_by_links(self._pairs, posterior.probability, len(self._count))
            if share >= FEWEST_LINKED:
                among = np.bincount(self._pairs[1], minlength=len(self._count))
                others = np.minimum(known / share, among) + np.maximum(self._count - among, 0.0)
        return np.concatenate([others, self._outside])

    def strangers(
        self, classes: KinClasses, others: F64, strangers: Distribution | None = None
    ) -> tuple[KinClasses, F64]:
        """The classes of kin, and the expected strangers by pattern.

        Kin are looked for among the candidates only: elsewhere a town and its postcode would have a class, since a
        dependence of all strangers weighs more than all families.

        `strangers`: None: independent fields with the levels of all pairs, and the classes stay as they are.
        """
        if not len(classes):
            return classes, others
        inside = others[: len(self.gamma)]
        if strangers is None:
            log_strangers = summed(self.gamma, log_tables(self._u[None])[0])
            classes, share = updated(classes, self.gamma, inside, log_strangers, self._valid, steps=0)
        else:
            log_strangers = strangers.log_probability(self.gamma)
            left_out = self._n_pairs - self._patterns.n_pairs
            classes, share = updated(classes, self.gamma, inside, log_strangers, self._valid, left_out)
        return classes, np.concatenate([inside * share, others[len(self.gamma) :]])

    def graph_of_matches(self, matches: F64) -> Structure:
        return choose(self.gamma, matches, self._model.fields, self._largest_clique, self._estimation_mask)

    def graph_of_strangers(self, strangers: F64) -> Structure:
        """Which fields depend on each other among strangers."""
        return choose(
            self._all_gamma, strangers * self._clearly_others, self._model.fields, self._largest_clique,
            scale=self._scale, min_gain=MIN_GAIN_OF_STRANGERS,
        )  # fmt: skip

    def misfits(self, matches: F64, others: F64) -> tuple[Misfit, ...]:
        """Where independence fails; for non-matches only where pairs outside the blocks are known."""
        fields = self._model.fields
        within = misfits("matches", self.gamma, matches, fields, self._estimation_mask)
        if self._rules and not len(self._outside):
            return within
        return (*within, *misfits("others", self._all_gamma, others, fields, scale=self._scale))

    def estimate(
        self, matches: F64, strangers: F64, graphs: tuple[Structure, Structure], kin: KinClasses, recall: float
    ) -> tuple[JointModel, Model]:
        """Tables of matches and strangers, and the marginals of each field."""
        model, settings, valid = self._model, self._settings, self._valid
        counted = expected_levels(self._patterns, self._rules, matches, model.m.shape[1])
        p = self._p
        if p is None:
            believed, others = self._p_prior
            expected = max(float(matches.sum()), FEWEST_MATCHES) / recall + believed
            p = min(expected / (self._n_pairs + believed + others), 1 - 1e-9)
        known = np.isfinite(self._worth)[:, None]
        m = shares(counted + np.where(known, self._worth[:, None], 1.0) * self._believed, valid, 0.0)
        m = np.where(known, m, self._believed)
        u = self._u if settings.u == "all_pairs" else corrected(self.level_counts, m, p, valid, settings.prior)
        sampled = np.concatenate([np.zeros(len(self.gamma)), strangers[len(self.gamma) :]])
        joint = JointModel(
            estimated(graphs[0], self.gamma, matches, m, self._n_levels, FEW_MATCHES / 4, self._estimation_mask),
            estimated(graphs[1], self._all_gamma, strangers, u, self._n_levels, sampled=sampled, scale=self._scale),
            kin,
            p,
        )
        return joint, replace(model, m=m, u=u, p=p, matches_behind_m=counted.sum(axis=1))

    def recall(self, matches: F64, model: Model) -> float:
        """Share of the matches that blocking kept; 1 where it is not estimable."""
        agreement = key_agreement(model, self.level_counts.sum(axis=1) / self._n_pairs, believed=True)
        found = blocking_recall(self._patterns.mask, matches, self._rules, agreement).recall
        return 1.0 if found is None else max(found, MIN_RECALL)


def strangers_by_links(kept: Kept, link_probability: F64, n_patterns: int) -> tuple[F64, float]:
    """Pairs that are no match because a record of theirs is linked to another, whatever their levels.

    Which ones are known depends on the assignment (`LinkPosterior.excluded`).

    Returns `known` (float64, shape (n_patterns,)): such pairs by pattern.
    """
    links, pattern = kept
    known, share = links.excluded(link_probability >= LINKED)
    return np.bincount(pattern[known], minlength=n_patterns).astype(np.float64), share


MAX_ROUNDS = 60
"""Rounds before giving up, which is reported."""

MAX_UNSETTLED_ROUNDS = 3
"""Rounds where a giant group of competing records does not converge: each then takes seconds."""

MAX_CHOICES = 4
"""How often the graphs are chosen: the second choice has better classes than the first; later ones rarely differ."""

ROUNDS_PER_CHOICE = 8
"""Rounds after which the graphs are chosen again though the matches still move."""

SETTLED = 1e-2
"""Change of the expected number of matches, relative to its square root, at which it has converged."""


def fit_joint(
    model: Model,
    patterns: PatternCounts,
    dependence: str,
    settings: Estimation | None = None,
    rules: Sequence[RuleFields] = (),
    level_counts: F64 | None = None,
    outside_blocks: OutsideBlocks | None = None,
    pairs: Kept | None = None,
    max_kin: int = MAX_KIN,
    progress: StageProgress = silent,
    evidence: Evidence | None = None,
    p: float | None = None,
    p_prior: tuple[float, float] = (0.0, 0.0),
) -> tuple[Model, JointModel, LinkProbabilities | None]:
    """Estimate a model whose fields may depend on each other, in each class separately.

    `model`: with independent fields, fitted to the same counts; only its fields, files and likelihood are used;
    `dependence`: a name of `LARGEST_CLIQUE`. Which edges there are is chosen by evidence in each case;
    `outside_blocks`: needed where pairs were blocked, unless fields are independent; `pairs`: those kept, all whose
    match probability is not negligible; None: each pair separately; `max_kin`: maximum number of classes of kin, which
    is chosen by evidence; `progress`: called with the approximate fraction done. An exception from it ends the work;
    `evidence`: what else is known: of each of `pairs`, in their order, or where there are none of classes that hold all
    pairs; `p`: where it is held. Under an assignment it is only what the model states: link probabilities follow from
    the number of links; `p_prior`: matches and other pairs that are counted beside those of the files, where p is
    estimated.

    Returns m, u and p of the same classes, field by field, with the warnings of the last round (history and likelihood
    are those of `fit`); the model; and the link probabilities under it, in the order of `pairs`.

    O(n_patterns * n_fields * n_classes) a round, with a table per field, and one run of `LinkPosterior.probabilities`.

    References
    ----------
    .. [1] Dawid and Lauritzen, Annals of Statistics 21, 1993. doi:10.1214/aos/1176349260
    """
    settings = settings or Estimation()
    step = _Steps(
        model, patterns, dependence, settings, rules, level_counts, outside_blocks, pairs, evidence, p, p_prior
    )
    start = step.start(max_kin)
    n_pairs = float(model.n_a) * model.n_b
    first, recall = min(start.matches / n_pairs, 1 - 1e-9) if p is None else p, 1.0
    matches, posterior = step.matches(start.weight, first, recall, None, _part(progress, 0))
    others = step.others(matches, posterior)
    kin, strangers = step.strangers(start.kin, others)
    of_matches = step.graph_of_matches(matches) if start.mixed else independent(len(model.fields))
    graphs = of_matches, step.graph_of_strangers(strangers)
    choices, converged, rounds, since = 1, False, 0, 0
    while not converged and rounds < MAX_ROUNDS:
        if posterior is not None and not posterior.converged and rounds >= MAX_UNSETTLED_ROUNDS:
            break
        rounds, since = rounds + 1, since + 1
        joint, current = step.estimate(matches, strangers, graphs, kin, recall)
        recall = step.recall(matches, current)
        kin, strangers = step.strangers(kin, others, joint.strangers)
        joint = replace(joint, kin=kin)
        weight = joint.match_weights(step.gamma)
        expected, posterior = step.matches(weight, joint.p, recall, posterior, _part(progress, rounds))
        moved = abs(float(expected.sum()) - float(matches.sum()))
        converged = moved <= SETTLED * max(1.0, float(np.sqrt(matches.sum())))
        matches = expected
        others = step.others(matches, posterior)
        if choices <= MAX_CHOICES and (converged or since == ROUNDS_PER_CHOICE):
            chosen = step.graph_of_matches(matches), step.graph_of_strangers(strangers)
            converged = converged and all(new.graph == old.graph for new, old in zip(chosen, graphs, strict=True))
            graphs, choices, since = chosen, choices + 1, 0
    misfits = step.misfits(matches, others)
    joint = replace(
        joint, recall=recall, rounds=rounds, converged=converged, misfits=misfits, evidence_of_kin=start.evidence
    )
    warnings = second_warnings(current, step.level_counts, float(matches.sum()), settings, rules)
    if dependence == "none":
        warnings = (*warnings, *ignored_dependence(joint.misfits, len(joint.kin)))
    if not converged:
        warnings = (*warnings, result_warning("dependence_not_converged", rounds=rounds))
    return replace(current, warnings=warnings), joint, posterior


def _part(progress: StageProgress, done: int) -> StageProgress:
    """Progress within one of an unknown number of rounds: each takes a fifth of what is left."""
    before, after = 1 - 0.8**done, 1 - 0.8 ** (done + 1)
    return lambda fraction: progress(after if fraction == 1 else before + (after - before) * fraction)
