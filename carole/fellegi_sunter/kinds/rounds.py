"""What one round of the estimation does: each of law, kinds, relations, links and m from the others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gemel.carole.fellegi_sunter.kinds.agreement import held
from gemel.carole.fellegi_sunter.kinds.changes import Changes, unfound
from gemel.carole.fellegi_sunter.kinds.diagnosis import Misfit, misfits
from gemel.carole.fellegi_sunter.kinds.joint_model import Evidence, JointModel, OutsideBlocks
from gemel.carole.fellegi_sunter.kinds.law import Distribution, EstimationMask, choose, estimated, independent
from gemel.carole.fellegi_sunter.kinds.pair_kinds import (
    STRANGERS,
    Counted,
    Densities,
    Kinds,
    Shareable,
    ShareFound,
    Vectors,
    fitted,
    posteriors,
    search,
)
from gemel.carole.fellegi_sunter.kinds.relations import Exclusion, Relations, relations
from gemel.carole.fellegi_sunter.kinds.relatives import Relatives
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.model import Model, PatternCounts, corrected, probability, shares, within_levels
from gemel.carole.fellegi_sunter.model import level_counts as counted_levels
from gemel.carole.fellegi_sunter.model_warnings import (
    FEWEST_MATCHES,
    default_m,
    identified_bits,
    unidentified_fields,
    worth,
)
from gemel.carole.fellegi_sunter.prior import LinkProbabilities
from gemel.carole.fellegi_sunter.settings import Estimation, RuleFields
from gemel.common.arrays import F64, Ints
from gemel.common.progress import StageProgress
from gemel.risk.models.graphs import mask_of, members

Kept = tuple[LinkPosterior, Ints]
"""The kept pairs, and the pattern of each."""

LARGEST_CLIQUE = {"none": 1, "pairwise": 2, "decomposable": 3, "auto": 3}
"""Maximum number of fields in a clique of the law: two make a forest of pairs."""

MIN_GAIN_OF_STRANGERS = 50.0
"""Minimum log Bayes factor of an edge among strangers: there are many pairs and edges, and real ones have hundreds."""

LIKELY = 0.5
"""Probability of a kind from which a pair counts as of it where pairs are seen to exclude each other."""

FINDABLE = 0.1
"""Share of a kind that blocking finds below which its number is what is believed of it, and not what was found."""

SHOWN, SHOWN_OF = 2.0, 0.25
"""Compared values of a field from which a kind shows whether its pairs share it; or their share of its pairs."""


@dataclass(frozen=True)
class State:
    """What one round knows: the model, and expected matches by pattern with the link probabilities behind them."""

    law: Distribution
    agreement: F64
    kinds: Kinds
    relations: Relations
    matches: F64
    posterior: LinkProbabilities | None = None


class Steps:
    """Each of law, kinds, relations, links and m from the others."""

    def __init__(
        self, model: Model, patterns: PatternCounts, dependence: str, settings: Estimation,
        rules: Sequence[RuleFields] = (), level_counts: F64 | None = None, outside_blocks: OutsideBlocks | None = None,
        pairs: Kept | None = None, evidence: Evidence | None = None, p: float | None = None,
        p_prior: tuple[float, float] = (0.0, 0.0), usable: Mapping[int, float] | None = None,
    ) -> None:  # fmt: skip
        self.gamma = np.ascontiguousarray(patterns.gamma)
        self.vectors = Vectors(self.gamma)
        self._densities: Densities | None = None
        self.plain = dependence == "none"
        once = "one_to_one" if settings.one_to_one else "none"
        self._most = _most_matches(once if pairs is None else pairs[0].assignment, model.n_a, model.n_b)
        self._model, self._settings, self._p, self._p_prior = model, settings, p, p_prior
        self._fields, self._pairs, self._evidence = model.fields, pairs, evidence
        self._largest_clique = LARGEST_CLIQUE[dependence]
        self._count = patterns.count.astype(np.float64)
        self._n_levels = [field.n_levels for field in model.fields]
        self._valid = within_levels(self._n_levels)
        self._rules, self._mask = rules, patterns.mask
        self._usable = usable or {(1 << len(rules)) - 1: 1.0}
        width = model.m.shape[1]
        self.believed = default_m(model.fields, width)
        self._unidentified = unidentified_fields(rules, len(model.fields))
        self._worth = worth(model.fields)
        self._identified = identified_bits(patterns.mask, rules, len(model.fields))
        self.level_counts = counted_levels(self.gamma, patterns.count, width) if level_counts is None else level_counts
        self._outside = outside_blocks or OutsideBlocks(self.gamma[:0], np.zeros(0), 1.0)
        self._all_gamma = np.vstack([self.gamma, self._outside.gamma])
        self.n_pairs = float(model.n_a) * model.n_b
        self._u = shares(self.level_counts, self._valid, settings.prior)
        self._groups = [
            mask_of(q for q, field in enumerate(model.fields) if field.describes == describes and not field.of)
            for describes in ("household", "family", "name", "birth")
        ]
        self._changes = Changes.of(model.fields)
        self._believed_of_relatives = Relatives.believed(model.fields, self._u)
        everything = Shareable(mask_of(range(len(model.fields))))
        self._shareable = everything if self.plain else Shareable.of(model.fields, self.believed, self._u)

    # Law.

    def independent_law(self, u: F64 | None = None) -> Distribution:
        """Strangers with independent fields, of the levels of all pairs or of others."""
        return self._law_of(np.zeros(len(self._all_gamma)), self._u if u is None else u, choosing=False)

    def law(self, state: State, before: Distribution, *, choosing: bool) -> Distribution:
        """The law of the pairs of two people whose values coincide by chance at most."""
        densities = self.densities(state.law, state.agreement)
        alike = state.relations.by_chance * (1.0 - state.relations.one_person)
        weight = self._count * (alike @ posteriors(state.kinds, densities))
        weight = np.concatenate([np.minimum(weight, np.maximum(self._count - state.matches, 0.0)), self._outside.count])
        law = self._law_of(weight, self._strangers_levels(state), choosing=choosing, before=before)
        return replace(law, relatives=self._relatives(state))

    def _relatives(self, state: State) -> Relatives:
        """What relatives' names are like, by the pairs of each kind."""
        if not self._believed_of_relatives.names:
            return self._believed_of_relatives
        levels = self._levels_of(state.kinds, state.law, state.agreement)
        by_chance = state.relations.by_chance.astype(np.bool_).tolist()
        return self._believed_of_relatives.learnt(zip(state.kinds.shared, levels, by_chance, strict=True), self._fields)

    def _law_of(self, weight: F64, u: F64, *, choosing: bool, before: Distribution | None = None) -> Distribution:
        structure = independent(len(self._fields)) if before is None else before.structure
        scale = max(1.0, self._outside.scale)
        if choosing and self._largest_clique > 1 and not (self._rules and not len(self._outside.count)):
            structure = choose(
                self._all_gamma, weight, self._fields, self._largest_clique, scale=scale,
                min_gain=MIN_GAIN_OF_STRANGERS,
            )  # fmt: skip
        sampled = np.concatenate([np.zeros(len(self.gamma)), weight[len(self.gamma) :]])
        law = estimated(structure, self._all_gamma, weight, u, self._n_levels, sampled=sampled, scale=scale)
        return law if self.plain else replace(law, relatives=self._believed_of_relatives)

    def _strangers_levels(self, state: State) -> F64:
        if self._settings.u == "all_pairs":
            return self._u
        m, p = self._marginals(state), self._share(state)
        return corrected(self.level_counts, m, p, self._valid, self._settings.prior)

    # Kinds.

    def densities(self, law: Distribution, agreement: F64) -> Densities:
        """Of all patterns; those last asked for are kept."""
        last = self._densities
        if last is None or last.law is not law or last.m is not agreement:
            self._densities = last = Densities(self.vectors, law, agreement)
        return last

    def counted(self, law: Distribution, agreement: F64) -> Counted:
        return Counted(self._count, self.densities(law, agreement), self._found(law, agreement))

    def _found(self, law: Distribution, agreement: F64) -> ShareFound:
        """The share of each kind that blocking finds, by the agreement of the rules' fields."""
        tops = [0 if field.exception else field.n_levels - 1 for field in self._fields]
        each = np.arange(len(tops))
        return ShareFound(self._rules, np.column_stack([self._u[each, tops], agreement[each, tops]]), self._usable)

    def kinds(self, law: Distribution, agreement: F64, start: Sequence[int] = ()) -> Kinds:
        counted, n_persons = self.counted(law, agreement), float(min(self._model.n_a, self._model.n_b))
        if self.plain:
            kinds = Kinds((STRANGERS, self._shareable.everything), np.array([self.n_pairs, n_persons / 2]))
            kinds = fitted(kinds, counted)[0]
            return replace(kinds, pairs=np.array([self.n_pairs, min(float(kinds.pairs[1]), self._most)]))
        return search(counted, self.n_pairs, n_persons, self._shareable, self._groups, start)

    # Relations.

    def relations(self, kinds: Kinds, law: Distribution, agreement: F64, exclusion: Exclusion) -> Relations:
        n = len(kinds)
        if self.plain:
            one = np.array([0.0, 1.0])
            by_chance, rates = np.array([1.0, 0.0]), self._changes.believed
            return Relations(one, np.zeros(2), by_chance, float(kinds.pairs[1]), one[None], rates)
        absent = self._unfound(kinds, law, agreement)
        levels = self._levels_of(kinds, law, agreement)
        compared = levels.sum(axis=2) * exclusion.people[:, None]
        enough = np.minimum(SHOWN, SHOWN_OF * compared.max(axis=1, keepdims=True))
        open_fields = [mask_of(np.flatnonzero(few).tolist()) for few in compared < enough]
        shown = [shared & ~hidden for shared, hidden in zip(kinds.shared, open_fields, strict=True)]
        log_top = self._log_top((*shown, *absent), law)
        log_alike = log_top[:n] + self._log_further(shown, levels)
        n_records = self._model.n_a, self._model.n_b
        # Of a kind that strangers' coincidences would hide, nothing follows from its not being found.
        seen = {each: found for (each, found), top in zip(absent.items(), log_top[n:], strict=True)
                if math.log(self.n_pairs) + top[0] < 0}  # fmt: skip
        full = self._shareable.everything
        return relations(
            kinds, self._fields, log_top[:n], n_records, exclusion, most=self._most,
            expected_matches=self._settings.expected_matches, open_fields=open_fields,
            log_alike=log_alike, absent=[(full & ~each, math.log(found)) for each, found in seen.items()],
        )  # fmt: skip

    def _levels_of(self, kinds: Kinds, law: Distribution, agreement: F64) -> F64:
        """Expected pairs of each kind by field and level: shape (n_kinds, n_fields, n_levels)."""
        of_kinds = posteriors(kinds, self.densities(law, agreement)) * self._count
        levels = np.zeros((len(kinds), *self._u.shape))
        for q in range(len(self._fields)):
            for level in range(self._n_levels[q]):
                levels[:, q, level] = of_kinds @ (self.gamma[:, q] == level)
        return levels

    def _unfound(self, kinds: Kinds, law: Distribution, agreement: F64) -> dict[int, float]:
        """Kinds that were not found and might have been, with the share of them that blocking finds."""
        full, found = self._shareable.everything, self._found(law, agreement)
        every = [full & ~missing for missing in unfound(self._changes, [full & ~shared for shared in kinds.shared])]
        return {
            shared: found(shared)
            for shared in every
            if self._shareable.closed(shared) == shared and found(shared) >= FINDABLE
        }

    def _log_top(self, shared: Sequence[int], law: Distribution) -> F64:
        """Log probability that strangers agree at the top in all fields of each kind; and in each of its fields."""
        tops = np.array([0 if field.exception else field.n_levels - 1 for field in self._fields], dtype=np.int8)
        gamma = np.full((len(shared), len(tops) + 1, len(tops)), -1, dtype=np.int8)
        for k, each in enumerate(shared):
            columns = [q for q in members(each) if not self._fields[q].of]
            gamma[k, 0, columns] = tops[columns]
            for q in columns:
                gamma[k, 1 + q, q] = tops[q]
        return law.log_probability(gamma.reshape(-1, len(tops))).reshape(len(shared), len(tops) + 1)

    def _log_further(self, shared: Sequence[int], levels: F64) -> F64:
        """How many more strangers are as much alike as half of each kind's pairs are: logarithms, as of `_log_top`.

        Pairs that share a field mostly agree at the top, but not where a file writes names otherwise, nor where
        strangers look alike for a reason that the law has not.
        """
        further = np.zeros((len(shared), len(self._fields) + 1))
        for k, each in enumerate(shared):
            for q in members(each):
                field, of_kind = self._fields[q], levels[k, q, : self._n_levels[q]].cumsum()
                if field.of or field.exception or of_kind[-1] < SHOWN:
                    continue
                strangers = np.maximum(self._u[q, : field.n_levels], 1.0 / self.n_pairs)
                usual = int(np.flatnonzero(of_kind >= 0.5 * of_kind[-1])[0])
                further[k, [0, 1 + q]] += math.log(float(strangers[usual:].sum() / strangers[-1]))
        return further

    def exclusion(self, state: State) -> Exclusion:
        """How many kept pairs of each kind share a record with another pair that shares as much."""
        kinds, n = state.kinds, len(state.kinds)
        pairs, excluded, at_random, people = np.zeros(n), np.zeros(n), np.zeros(n), np.ones(n)
        if self._pairs is not None and not self.plain:
            links, pattern = self._pairs
            each = posteriors(kinds, self.densities(state.law, state.agreement))
            likely = np.where(each.max(axis=0) >= LIKELY, each.argmax(axis=0), STRANGERS)[pattern]
            for k, shared in enumerate(kinds.shared[1:], 1):
                more = np.isin(likely, [t for t, other in enumerate(kinds.shared) if other & shared == shared])
                of_kind = likely == k
                meeting, at_random[k] = links.meeting(more)
                people[k] = links.people(of_kind) / of_kind.sum() if of_kind.any() else 1.0
                pairs[k], excluded[k] = of_kind.sum() * people[k], meeting[of_kind].sum() * people[k]
        return Exclusion(pairs, excluded, at_random, people).levelled(kinds, state.relations.one_person)

    # Links.

    def links(self, model: JointModel, before: LinkProbabilities | None, progress: StageProgress) -> tuple[
        F64, LinkProbabilities | None
    ]:  # fmt: skip
        """Expected matches by pattern, and the link probabilities of the kept pairs."""
        weight, known = model.weights_of(self.densities(model.law, model.agreement)), self._evidence
        if self._pairs is not None:
            links, pattern = model.informed(self._pairs[0]), self._pairs[1]
            of_pairs = weight[pattern] if known is None else weight[pattern] + known.bits
            posterior = links.probabilities(of_pairs, progress, near=before is not None, cycles=False)
            matches = np.bincount(pattern, posterior.probability, minlength=len(weight))
            return matches.astype(np.float64), posterior
        log_odds = np.log(model.p) - np.log1p(-model.p)
        if known is None:
            return self._count * probability(weight * np.log(2.0) + log_odds), None
        g = probability((weight[known.pattern] + known.bits) * np.log(2.0) + log_odds)
        of_classes = g if known.count is None else g * known.count
        return np.bincount(known.pattern, of_classes, minlength=len(weight)).astype(np.float64), None

    # m.

    def levels(self, state: State) -> F64:
        """Expected matches by field and level, of the kinds that share the field and the patterns that identify it."""
        densities = self.densities(state.law, state.agreement)
        return self.joint(state, 1.0, 0, converged=False).shared_levels(densities, self._identified, state.matches)

    def agreement(self, levels: F64) -> F64:
        """m of a shared field, with its belief."""
        m = shares(levels + self._worth[:, None] * self.believed, self._valid, 0.0)
        m = m if self.plain else held(m, self.believed, self._u, self._fields)
        return np.where(self._unidentified[:, None], self.believed, m)

    # What is reported.

    def _share(self, state: State) -> float:
        if self._p is not None:
            return self._p
        believed, others = self._p_prior
        of_one = float((state.kinds.pairs * state.relations.one_person).sum())
        if self._evidence is not None and state.matches.any():
            of_one = float(state.matches.sum()) / self.recall(state)
        expected = max(of_one, FEWEST_MATCHES) + believed
        return min(expected / (self.n_pairs + believed + others), 1 - 1e-9)

    def _marginals(self, state: State) -> F64:
        """m field by field, of matches that share it and of those that do not."""
        of_one = state.kinds.pairs * state.relations.one_person
        total = max(float(of_one.sum()), 1e-300)
        sharing = np.array(
            [sum(n for n, s in zip(of_one, state.kinds.shared, strict=True) if s >> q & 1) for q in range(len(self._u))]
        )
        sharing = (sharing / total)[:, None] if of_one.sum() > 0 else np.ones((len(self._u), 1))
        return np.asarray(sharing * state.agreement + (1 - sharing) * self._u)

    def recall(self, state: State) -> float:
        """Share of the matches that blocking kept, by the kinds that were found and by belief of those that cannot."""
        if not self._rules:
            return 1.0
        found = self._found(state.law, state.agreement)
        of_one = state.kinds.pairs * state.relations.one_person
        share = np.array([found(shared) for shared in state.kinds.shared])
        seen = float((of_one * share).sum())
        total = float(of_one[share >= FINDABLE].sum())
        if seen <= 0 or total <= 0:
            return 1.0
        full = self._shareable.everything
        unseen = [
            self._shareable.closed(full & ~one)
            for one in _unions(self._groups)
            if found(self._shareable.closed(full & ~one)) < FINDABLE
        ]
        lost = sum(
            math.exp(self._changes.log_changed(full & ~shared, state.relations.rates))
            for shared in set(unseen) - {STRANGERS}
        )
        return float(min(max(seen / (total / max(1.0 - lost, 0.5)), 0.05), 1.0))

    def joint(self, state: State, recall: float, rounds: int, *, converged: bool) -> JointModel:
        return JointModel(
            state.law, state.agreement, state.kinds, state.relations, self._share(state), recall, rounds, converged
        )

    def reported(self, state: State, *, converged: bool) -> Model:
        u = self._strangers_levels(state)
        behind = self.levels(state).sum(axis=1)
        m, p = self._marginals(state), self._share(state)
        return replace(self._model, m=m, u=u, p=p, matches_behind_m=behind, converged=converged)

    def misfits(self, state: State) -> tuple[Misfit, ...]:
        """Where independence fails; for non-matches only where pairs outside the blocks are known."""
        mask = EstimationMask(self._mask, self._rules) if self._rules else None
        within = misfits("matches", self.gamma, state.matches, self._fields, mask)
        if self._rules and not len(self._outside.count):
            return within
        others = np.concatenate([np.maximum(self._count - state.matches, 0.0), self._outside.count])
        scale = max(1.0, self._outside.scale)
        return (*within, *misfits("others", self._all_gamma, others, self._fields, scale=scale))


def _most_matches(assignment: str, n_a: int, n_b: int) -> float:
    """Matches that there can be."""
    bounds = {"many_to_one": n_a, "one_to_many": n_b, "none": n_a * n_b}
    return float(bounds.get(assignment, min(n_a, n_b)))


def _unions(groups: Sequence[int]) -> set[int]:
    found = {0}
    for group in groups:
        found |= {one | group for one in found}
    return found - {0}
