"""Which pairs of fields independence describes worst, within matches and within non-matches, in words.

Where the specification has fields independent although two of them are strongly dependent, a run warns of it. Only
agreement of two people counts for that: it makes non-matches look like matches, so that too many are claimed. Errors
that two fields share make matches look like non-matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from itertools import combinations
from typing import Literal

import numpy as np

from gemel.carole.fellegi_sunter.dependence.kin_classes import KinClasses
from gemel.carole.fellegi_sunter.dependence.structure import Distribution, EstimationMask, Tables
from gemel.carole.fellegi_sunter.model import probability_of
from gemel.carole.fellegi_sunter.settings import FieldLevels
from gemel.common.arrays import F64, I8, Ints
from gemel.common.documents.result_warning import ResultWarning, result_warning

Class = Literal["matches", "others"]

FEWEST_PAIRS = 10.0
"""Minimum number of pairs with both values for a diagnosis of two fields."""

MAX_MISFITS = 10
"""Maximum number of pairs of fields reported, the worst first."""

STRONG = 1.5
"""Factor of observed over expected agreement on both fields from which a dependence ignored is warned of: at it a model
of independent fields claims 4 to 8 % more matches than where nothing depends (docs/dependence.md)."""

CERTAIN = 10.0
"""Minimum log Bayes factor of a dependence that is warned of, that of an edge among strangers."""


@dataclass(frozen=True)
class Misfit:
    """Two fields that depend on each other in one class, measured against independence.

    `gain`: log Bayes factor of dependence over independence, on three levels; `observed`, `expected`: share of the
    pairs in which both fields are at the top level (others), or both below it (matches): in the class, and as expected
    under independence.
    """

    within: Class
    fields: tuple[str, str]
    gain: float
    observed: float
    expected: float

    @property
    def words(self) -> str:
        first, second = self.fields
        if self.within == "others":
            what = f"pairs of two people agree on both {first} and {second}"
        else:
            what = f"pairs of one person differ on both {first} and {second}"
        if self.expected <= 0:
            return f"{what} although independence allows none"
        ratio = self.observed / self.expected
        times = _times(ratio) if ratio >= 1 else f"{ratio:.2f} times"
        return f"{what} {times} as often as independence has it ({_per(self.observed)})"


def misfits(
    within: Class,
    gamma: I8,
    weight: F64,
    fields: Sequence[FieldLevels],
    estimation_mask: EstimationMask | None = None,
    scale: float = 1.0,
) -> tuple[Misfit, ...]:
    """Pairs of fields by how much independence fails to describe them, the worst first.

    `gamma` (int8, shape (n_patterns, n_fields)); `weight` (float64, shape (n_patterns,)): expected pairs of the class
    by pattern; `estimation_mask`: which patterns may identify which fields; None: each of all.

    O(n_patterns * n_fields**2).
    """
    n_levels = [field.n_levels for field in fields]
    tables = Tables(gamma, weight, n_levels, estimation_mask, scale)
    found = []
    for v, w in combinations(range(len(fields)), 2):
        table = tables.counted((v, w))
        total = float(table.sum())
        gain = tables.bayes_factor(0, v, w) if total >= FEWEST_PAIRS else 0.0
        if gain <= 0:
            continue
        share = table / total
        one, other = share.sum(axis=1), share.sum(axis=0)
        if within == "others":
            observed, expected = share[-1, -1], one[-1] * other[-1]
        else:
            observed, expected = share[:-1, :-1].sum(), one[:-1].sum() * other[:-1].sum()
        names = (fields[v].name, fields[w].name)
        found.append(Misfit(within, names, gain, float(observed), float(expected)))
    return tuple(sorted(found, key=lambda misfit: -misfit.gain))[:MAX_MISFITS]


def ignored_dependence(found: Sequence[Misfit], n_kin: int) -> tuple[ResultWarning, ...]:
    """Warning of the strongest dependence that a model of independent fields ignores, if it is a strong one."""
    strong = [
        misfit
        for misfit in found
        if misfit.within == "others" and misfit.gain >= CERTAIN and misfit.observed >= STRONG * misfit.expected > 0
    ]
    if not strong:
        return ()
    strongest = max(strong, key=lambda misfit: misfit.observed / misfit.expected)
    first, second = strongest.fields
    ratio = strongest.observed / strongest.expected
    others = len(strong) - 1
    more = f"; {others} other pair{'s' if others > 1 else ''} of fields too" if others else ""
    claimed = "the second counts as evidence of its own, and too many matches are claimed"
    effect = f"{'only a class of kin makes up for it' if n_kin else claimed}{more}"
    return (result_warning("dependence_ignored", first=first, second=second, times=_times(ratio), effect=effect),)


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:,.0f} times"


def _per(share: float) -> str:
    if share >= 0.001:
        return f"{share:.1%} of them"
    return f"one in {1 / share:,.0f}" if share > 0 else "never"


# The model with dependent fields and latent classes: what it is, and how it scores comparison vectors.
#
# Two dependent fields are not independent evidence. A relative who shares name, address and telephone with a person
# looks like that person, because under independence so many agreements by chance are next to impossible. Here
# non-matches are classes of kin with independent fields (`kin_classes`) and strangers, and strangers and matches each
# have the fields' joint distribution by a decomposable graph: products of tables over small cliques (`distribution`).


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
    """Distributions of comparison vectors, in each class.

    `matches`, `strangers`: of pairs of one person, and of two people who have nothing in common but by chance; `kin`:
    of two people who have something in common; `p`: share of matches among all pairs, those that blocking left out with
    the others; `recall`: share of the matches that blocking kept; 1 where it is not estimable; `misfits`: where
    independence fails, matches first; `evidence_of_kin`: log evidence with 0, 1, ... classes of kin, relative to none,
    at the start.
    """

    matches: Distribution
    strangers: Distribution
    kin: KinClasses
    p: float
    recall: float = 1.0
    rounds: int = 0
    converged: bool = False
    misfits: tuple[Misfit, ...] = ()
    evidence_of_kin: tuple[float, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether fields are independent given match status and there is one class of non-matches."""
        return not (len(self.kin) or self.matches.structure.edges or self.strangers.structure.edges)

    @property
    def kind(self) -> str:
        """What the graphs are: none, pairwise (forests) or decomposable."""
        graphs = self.matches.structure.graph, self.strangers.structure.graph
        largest = max(clique.bit_count() for graph in graphs for clique in graph.cliques)
        return ("none", "pairwise", "decomposable")[min(largest, 3) - 1]

    def log_probability_of_others(self, gamma: I8) -> F64:
        """Log probability of comparison vectors among non-matches, kin and strangers together."""
        return self.kin.log_probability(gamma, self.strangers.log_probability(gamma))

    def match_weights(self, gamma: I8) -> F64:
        """Match weights of comparison vectors, in bits: not a sum over fields unless the model is plain."""
        ratio = self.matches.log_probability(gamma) - self.log_probability_of_others(gamma)
        return np.asarray(ratio / np.log(2.0))

    def match_probabilities(self, gamma: I8) -> F64:
        """Match probabilities of comparison vectors, each pair without its rivals."""
        return probability_of(self.match_weights(gamma), self.p)


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
