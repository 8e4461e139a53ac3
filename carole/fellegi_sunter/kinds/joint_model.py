"""The model: kinds of pairs, of each the part that is one person, and the law of strangers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field

import numpy as np

from gemel.carole.fellegi_sunter.kinds.diagnosis import Misfit
from gemel.carole.fellegi_sunter.kinds.law import Distribution
from gemel.carole.fellegi_sunter.kinds.pair_kinds import TINY, Densities, Kinds, Vectors, posteriors
from gemel.carole.fellegi_sunter.kinds.relations import Relations
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.model import probability_of
from gemel.carole.fellegi_sunter.model_warnings import FEWEST_MATCHES
from gemel.common.arrays import F64, I8, U64, Flags, Ints

CERTAIN_NUMBER = 100.0
"""How many times itself a number of matches is worth that the kinds of pairs say."""


@dataclass(frozen=True)
class OutsideBlocks:
    """Comparison vectors of pairs that blocking left out, from a random sample of them.

    `gamma` (int8, shape (n_patterns, n_fields)); `count` (float64, shape (n_patterns,)): pairs that they stand for.
    """

    gamma: I8
    count: F64
    scale: float


@dataclass(frozen=True)
class JointModel:
    """The distribution of comparison vectors, of one person and of two.

    `law`: of strangers; `agreement` (float64, shape (n_fields, n_levels)): levels of a field whose true value is
    shared; `p`: share of matches among all pairs, those that blocking left out with the others; `recall`: share of the
    matches that blocking kept; `misfits`: where independence fails.
    """

    law: Distribution
    agreement: F64
    kinds: Kinds
    relations: Relations
    p: float
    recall: float = 1.0
    rounds: int = 0
    converged: bool = False
    misfits: tuple[Misfit, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether fields are independent given match status."""
        return len(self.kinds) <= 2 and not self.law.structure.edges

    @property
    def kind(self) -> str:
        """What the law's graph is: none, pairwise (a forest) or decomposable."""
        largest = max(clique.bit_count() for clique in self.law.structure.graph.cliques)
        return ("none", "pairwise", "decomposable")[min(largest, 3) - 1]

    @property
    def no_match(self) -> float:
        """Probability that no pair is of one person."""
        return float(np.exp(-(self.relations.drawn @ self.kinds.pairs)).mean())

    def informed(self, links: LinkPosterior) -> LinkPosterior:
        """Links whose number and recall are those of the kinds.

        Pairs of one kind are one person together or not at all: a number of links that followed from their
        probabilities would raise these again.
        """
        if self.is_plain:
            return replace(links, recall=self.recall)
        expected = max(float(self.kinds.pairs @ self.relations.one_person) * self.recall, FEWEST_MATCHES)
        return replace(links, recall=self.recall, expected_matches=expected, worth=CERTAIN_NUMBER * max(expected, 1.0))

    def log_probabilities(self, gamma: I8) -> tuple[F64, F64]:
        """Log probabilities of comparison vectors among pairs of one person, and of two: shape (n_patterns,) each.

        O(n_patterns * n_kinds).
        """
        return self._log_probabilities(self.densities(Vectors(np.ascontiguousarray(gamma))))

    def densities(self, vectors: Vectors) -> Densities:
        return Densities(vectors, self.law, self.agreement)

    def _log_probabilities(self, densities: Densities) -> tuple[F64, F64]:
        of_one, of_two = (
            np.maximum(self.kinds.pairs * part, TINY)
            for part in (self.relations.one_person, 1.0 - self.relations.one_person)
        )
        one, two = (np.full(len(densities.vectors.gamma), -np.inf) for _ in range(2))
        for k, shared in enumerate(self.kinds.shared):
            log_density = densities.log_density(shared)
            np.logaddexp(one, log_density + np.log(of_one[k] / of_one.sum()), out=one)
            np.logaddexp(two, log_density + np.log(of_two[k] / of_two.sum()), out=two)
        return one, two

    def match_weights(self, gamma: I8) -> F64:
        """Match weights of comparison vectors, in bits: not a sum over fields unless the model is plain."""
        return self.weights_of(self.densities(Vectors(np.ascontiguousarray(gamma))))

    def weights_of(self, densities: Densities) -> F64:
        """The same of vectors whose densities under this model may be known."""
        one, two = self._log_probabilities(densities)
        return np.asarray((one - two) / np.log(2.0))

    def match_probabilities(self, gamma: I8) -> F64:
        """Match probabilities of comparison vectors, each pair without its rivals."""
        return probability_of(self.match_weights(gamma), self.p)

    def shared_levels(self, densities: Densities, identified: U64, matches: F64) -> F64:
        """Expected matches by field and level, of the kinds that share the field: shape (n_fields, n_levels).

        `densities`: of the patterns under this model; `identified` (uint64, shape (n_patterns,)): bit q is set where a
        pattern identifies m of field q; `matches` (float64, shape (n_patterns,)): expected matches.
        """
        of_one = Kinds(self.kinds.shared, np.maximum(self.kinds.pairs * self.relations.one_person, TINY))
        each = posteriors(of_one, densities) * matches
        gamma = densities.vectors.gamma
        levels = np.zeros_like(self.agreement)
        for q in range(gamma.shape[1]):
            sharing = [k for k, shared in enumerate(self.kinds.shared) if shared >> q & 1]
            rows = (gamma[:, q] >= 0) & ((identified >> np.uint64(q)) & np.uint64(1) == 1)
            weight = each[sharing].sum(axis=0)[rows]
            levels[q] = np.bincount(gamma[rows, q], weight, minlength=levels.shape[1])
        return levels

    def drawn(self, levels: F64, draw: Callable[[F64], F64], fixed: Flags, rng: np.random.Generator) -> JointModel:
        """The same with m of shared fields, and the parts that are one person, drawn from what is known of them.

        `levels`: Dirichlet parameters of m; `draw`: draws from these; `fixed` (bool, shape (n_fields,)): fields whose m
        stays.
        """
        part = rng.choice(self.relations.drawn)
        m = np.where(fixed[:, None], self.agreement, draw(levels))
        return replace(self, agreement=m, relations=replace(self.relations, one_person=part))


@dataclass(frozen=True)
class Evidence:
    """What else is known of pairs, for instance the Bayes factors of their values.

    `pattern` (int, shape (n,)): row of the `PatternCounts` of each pair, or class of pairs; `bits` (float64, shape
    (n,)): binary logarithm of its Bayes factor for a match; `count` (float64, shape (n,)): pairs of each class; None:
    one each.
    """

    pattern: Ints = dataclass_field(repr=False)
    bits: F64 = dataclass_field(repr=False)
    count: F64 | None = dataclass_field(default=None, repr=False)
