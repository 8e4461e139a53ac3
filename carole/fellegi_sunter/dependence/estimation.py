"""Estimation of the model with dependent fields and latent classes, by expectation and maximisation.

Expected matches by pattern, graphs, tables and classes from them, weights, expected matches. Where a record has one
match at most the expected matches are those that obey this (`link_posterior`): pair by pair "one household" describes a
group of pairs that agree on many fields as well as "one person" does. It starts from classes with independent fields,
whose match class is held by the belief (`starting_classes`), and not from the pairwise fit: where few records have a
match, that takes for its match class whatever makes fields agree together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gemel.carole.fellegi_sunter.dependence.diagnosis import ignored_dependence
from gemel.carole.fellegi_sunter.dependence.evidence import Evidence
from gemel.carole.fellegi_sunter.dependence.joint import JointModel, OutsideBlocks
from gemel.carole.fellegi_sunter.dependence.maximisation import Kept, Maximisation
from gemel.carole.fellegi_sunter.dependence.starting_classes import MAX_KIN
from gemel.carole.fellegi_sunter.dependence.structure import independent
from gemel.carole.fellegi_sunter.fixed_point import LinkProbabilities
from gemel.carole.fellegi_sunter.model import Model, probability
from gemel.carole.fellegi_sunter.model_warnings import second_warnings
from gemel.carole.fellegi_sunter.patterns import PatternCounts
from gemel.carole.fellegi_sunter.settings import Estimation, RuleFields
from gemel.common.documents.result_warning import result_warning
from gemel.common.progress import StageProgress

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
    level_counts: NDArray[np.float64] | None = None,
    outside_blocks: OutsideBlocks | None = None,
    pairs: Kept | None = None,
    max_kin: int = MAX_KIN,
    progress: StageProgress = lambda _: None,
    evidence: Evidence | None = None,
    p: float | None = None,
    p_prior: tuple[float, float] = (0.0, 0.0),
) -> tuple[Model, JointModel, LinkProbabilities | None]:
    """Estimate a model whose fields may depend on each other, in each class separately.

    Parameters
    ----------
    model : Model
        With independent fields, fitted to the same counts; only its fields, files and likelihood are used.
    patterns : PatternCounts
    dependence : {"none", "pairwise", "decomposable", "auto"}
        Maximum size of cliques: 1, 2, 4, and 4 for auto. Which edges there are is chosen by evidence in each case.
    settings, rules, level_counts
        As given to `fit`.
    outside_blocks : OutsideBlocks, optional
        Needed where pairs were blocked, unless fields are independent.
    pairs : tuple of LinkPosterior and ndarray of int, optional
        The kept pairs, all whose match probability is not negligible, and the pattern of each; None: each pair
        separately.
    max_kin : int
        Maximum number of classes of kin; their number is chosen by evidence.
    progress : callable, optional
        Called with the approximate fraction done. An exception from it ends the work.
    evidence : Evidence, optional
        What else is known: of each of `pairs`, in their order, or where there are none of classes that hold all pairs.
    p : float, optional
        Where it is held. Under an assignment it is only what the model states: link probabilities follow from the
        number of links.
    p_prior : tuple of float
        Matches and other pairs that are counted beside those of the files, where p is estimated.

    Returns
    -------
    Model
        m, u and p of the same classes, field by field, with the warnings of the last round; history and likelihood are
        those of `fit`.
    JointModel
    LinkProbabilities or None
        Under it, in the order of `pairs`.

    Notes
    -----
    O(n_patterns * n_fields * n_classes) a round, with a table per field, and one run of `LinkPosterior.probabilities`.

    References
    ----------
    .. [1] Dawid and Lauritzen, Annals of Statistics 21, 1993. doi:10.1214/aos/1176349260
    """
    settings = settings or Estimation()
    step = Maximisation(model, patterns, dependence, settings, rules, level_counts, outside_blocks, p, p_prior)
    start = step.start(max_kin, pairs)
    n_pairs = float(model.n_a) * model.n_b
    first, recall = min(start.matches / n_pairs, 1 - 1e-9) if p is None else p, 1.0
    expectation = _Expectation(patterns, pairs, evidence)
    matches, posterior = expectation.of(start.weight, first, recall, None, _part(progress, 0))
    others = step.others(matches, pairs, posterior)
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
        expected, posterior = expectation.of(weight, joint.p, recall, posterior, _part(progress, rounds))
        moved = abs(float(expected.sum()) - float(matches.sum()))
        converged = moved <= SETTLED * max(1.0, float(np.sqrt(matches.sum())))
        matches = expected
        others = step.others(matches, pairs, posterior)
        if choices <= MAX_CHOICES and (converged or since == ROUNDS_PER_CHOICE):
            chosen = step.graph_of_matches(matches), step.graph_of_strangers(strangers)
            converged = converged and all(new.graph == old.graph for new, old in zip(chosen, graphs, strict=True))
            graphs, choices, since = chosen, choices + 1, 0
    joint = replace(
        joint,
        recall=recall,
        rounds=rounds,
        converged=converged,
        misfits=step.misfits(matches, others),
        evidence_of_kin=start.evidence,
    )
    warnings = second_warnings(current, step.level_counts, float(matches.sum()), settings, rules)
    if dependence == "none":
        warnings = (*warnings, *ignored_dependence(joint.misfits, len(joint.kin)))
    if not converged:
        warnings = (*warnings, result_warning("dependence_not_converged", rounds=rounds))
    return replace(current, warnings=warnings), joint, posterior


@dataclass(frozen=True)
class _Expectation:
    """Expected matches by pattern, and the link probabilities of the kept pairs."""

    patterns: PatternCounts
    pairs: Kept | None
    evidence: Evidence | None

    def of(
        self,
        weight: NDArray[np.float64],
        p: float,
        recall: float,
        before: LinkProbabilities | None,
        progress: StageProgress,
    ) -> tuple[NDArray[np.float64], LinkProbabilities | None]:
        """Under weights of the patterns, in bits."""
        found = self.evidence
        if self.pairs is not None:
            links, pattern = replace(self.pairs[0], recall=recall), self.pairs[1]
            of_pairs = weight[pattern] if found is None else weight[pattern] + found.bits
            posterior = links.probabilities(of_pairs, progress, near=before is not None, cycles=False)
            matches = np.bincount(pattern, posterior.probability, minlength=len(weight))
            return matches.astype(np.float64), posterior
        log_odds = np.log(p) - np.log1p(-p)
        if found is None:
            return self.patterns.count * probability(weight * np.log(2.0) + log_odds), None
        each = probability((weight[found.pattern] + found.bits) * np.log(2.0) + log_odds)
        of_classes = each if found.count is None else each * found.count
        return np.bincount(found.pattern, of_classes, minlength=len(weight)).astype(np.float64), None


def _part(progress: StageProgress, done: int) -> StageProgress:
    """Progress within one of an unknown number of rounds: each takes a fifth of what is left."""
    before, after = 1 - 0.8**done, 1 - 0.8 ** (done + 1)
    return lambda fraction: progress(after if fraction == 1 else before + (after - before) * fraction)
