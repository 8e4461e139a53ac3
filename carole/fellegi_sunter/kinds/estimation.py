"""Estimation of the model of kinds of pairs: law, kinds, relations, links and m in turn.

The kinds are found with m held, at its belief the first time: a kind of sons cannot become that of matches by what is
believed of a date of birth. What part of each is one person follows from belief and from which pairs meet that could
not both be matches (`relations`); link probabilities from that, under the assignment; m from the links, each field from
the kinds that share it only, and within what other fields show (`held`); and the law from the pairs that are none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gemel.carole.fellegi_sunter.kinds.diagnosis import ignored_dependence
from gemel.carole.fellegi_sunter.kinds.joint_model import Evidence, JointModel, OutsideBlocks
from gemel.carole.fellegi_sunter.kinds.pair_kinds import fitted
from gemel.carole.fellegi_sunter.kinds.relations import Exclusion
from gemel.carole.fellegi_sunter.kinds.rounds import Kept, State, Steps
from gemel.carole.fellegi_sunter.model import Model, PatternCounts
from gemel.carole.fellegi_sunter.model_warnings import FEWEST_MATCHES, second_warnings
from gemel.carole.fellegi_sunter.prior import LinkProbabilities
from gemel.carole.fellegi_sunter.settings import Estimation, RuleFields
from gemel.common.arrays import F64
from gemel.common.documents.result_warning import result_warning
from gemel.common.progress import StageProgress, silent

MAX_ROUNDS = 12
"""Rounds before giving up, which is reported."""

MAX_ROUNDS_OF_PLAIN = 60
"""The same without kinds: m is then all there is to learn, and starts at its belief."""

MAX_SEARCHES = 3
"""How often kinds and law are looked for: the second time strangers are known better; later ones rarely differ."""

SETTLED, FEW = 1e-2, 5.0
"""Change of the expected number of matches, relative to its square root, or to `FEW`, at which it has converged."""

POSSIBLE = 0.01
"""Least part of a kind that may be one person when pairs to keep are chosen."""


def first_joint(
    model: Model, patterns: PatternCounts, dependence: str, settings: Estimation, rules: Sequence[RuleFields] = (),
    level_counts: F64 | None = None, usable: Mapping[int, float] | None = None,
) -> JointModel:  # fmt: skip
    """The model before any link is known, in which any kind may be one person: pairs that may be linked are kept by it.

    `POSSIBLE` of each kind is one person at least, so that those that competitors decide about are among them.
    """
    step = Steps(model, patterns, dependence, settings, rules, level_counts, usable=usable)
    law = step.independent_law()
    kinds = step.kinds(law, step.believed)
    known = step.relations(kinds, law, step.believed, Exclusion.unknown(len(kinds)))
    least = POSSIBLE * (1.0 - known.by_chance)
    known = replace(known, one_person=np.maximum(known.one_person, least))
    state = State(law, step.believed, kinds, known, np.zeros(len(step.gamma)))
    return step.joint(state, 1.0, 0, converged=False)


def fit_joint(
    model: Model,
    patterns: PatternCounts,
    dependence: str,
    settings: Estimation | None = None,
    rules: Sequence[RuleFields] = (),
    level_counts: F64 | None = None,
    outside_blocks: OutsideBlocks | None = None,
    pairs: Kept | None = None,
    progress: StageProgress = silent,
    evidence: Evidence | None = None,
    p: float | None = None,
    p_prior: tuple[float, float] = (0.0, 0.0),
    usable: Mapping[int, float] | None = None,
) -> tuple[Model, JointModel, LinkProbabilities | None]:
    """Estimate the model of kinds of pairs.

    `model`: with independent fields, fitted to the same counts; only its fields, files and likelihood are used;
    `dependence`: a name of `LARGEST_CLIQUE`; "none": matches and strangers only, with independent fields;
    `outside_blocks`: needed where pairs were blocked, unless fields are independent; `pairs`: those kept, all whose
    match probability is not negligible; None: each pair separately; `progress`: called with the approximate fraction
    done. An exception from it ends the work; `evidence`: what else is known: of each of `pairs`, in their order, or
    where there are none of classes that hold all pairs; `p`: where it is held. Under an assignment it is only what the
    model states: link probabilities follow from the number of links; `p_prior`: matches and other pairs that are
    counted beside those of the files, where p is estimated; `usable`: by set of rules, as bits, the share of random
    pairs whose records have the fields of just these; None: all have those of all rules.

    Returns m, u and p, field by field, with the warnings of the last round (history and likelihood are those of `fit`);
    the model; and the link probabilities under it, in the order of `pairs`.

    O(n_patterns * n_fields * n_kinds) a round, and one run of `LinkPosterior.probabilities`.
    """
    settings = settings or Estimation()
    step = Steps(
        model, patterns, dependence, settings, rules, level_counts, outside_blocks, pairs, evidence, p, p_prior, usable
    )
    law = step.independent_law()
    agreement = model.m if step.plain and pairs is None else step.believed
    kinds = step.kinds(law, agreement)
    known = step.relations(kinds, law, agreement, Exclusion.unknown(len(kinds)))
    state = State(law, agreement, kinds, known, np.zeros(len(step.gamma)))
    searches, converged, rounds, before = MAX_SEARCHES if step.plain else 1, False, 0, -1.0
    most = MAX_ROUNDS_OF_PLAIN if step.plain else MAX_ROUNDS
    recall = step.recall(state)
    while not converged and rounds < most:
        rounds += 1
        joint = step.joint(state, recall, rounds, converged=False)
        matches, posterior = step.links(joint, state.posterior, _part(progress, rounds))
        state = replace(state, matches=matches, posterior=posterior)
        total = float(matches.sum())
        converged = abs(total - before) <= SETTLED * max(FEW, float(np.sqrt(total))) and searches == MAX_SEARCHES
        before = total
        if converged:
            break
        levels = step.levels(state)
        choosing = searches < MAX_SEARCHES
        law = step.law(state, state.law, choosing=choosing and not step.plain)
        agreement = step.agreement(levels)
        exclusion, seen = step.exclusion(state), state.kinds
        if choosing:
            kinds, searches = step.kinds(law, agreement, state.kinds.shared[2:] if rounds > 1 else ()), searches + 1
        else:
            kinds = fitted(state.kinds, step.counted(law, agreement), 60)[0]
        if step.plain:
            kinds = replace(kinds, pairs=np.array([step.n_pairs, max(total / recall, FEWEST_MATCHES)]))
        known = step.relations(kinds, law, agreement, exclusion.carried(seen, kinds))
        state = replace(state, law=law, agreement=agreement, kinds=kinds, relations=known)
        recall = step.recall(state)
    current = step.reported(state, converged=converged)
    if step.plain:
        state = replace(state, law=step.independent_law(current.u), agreement=current.m)
    joint = replace(step.joint(state, recall, rounds, converged=converged), misfits=step.misfits(state))
    # The plain fit is where this one began: only if there is no other does it matter whether it converged.
    ended = current if step.plain else replace(current, converged=True)
    warnings = second_warnings(ended, state.agreement, step.level_counts, float(state.matches.sum()), settings, rules)
    if dependence == "none":
        warnings = (*warnings, *ignored_dependence(joint.misfits))
    if not converged:
        warnings = (*warnings, result_warning("dependence_not_converged", rounds=rounds))
    return replace(current, warnings=warnings), joint, state.posterior


def _part(progress: StageProgress, done: int) -> StageProgress:
    """Progress within one of an unknown number of rounds: each takes a fifth of what is left."""
    before, after = 1 - 0.8**done, 1 - 0.8 ** (done + 1)
    return lambda fraction: progress(after if fraction == 1 else before + (after - before) * fraction)
