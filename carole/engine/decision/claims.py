"""What a run claims of its links, each figure with an interval of 95 %.

The model says how probable each link is, and what it says may be wrong in two ways. It knows one of them: what part of
each kind of pairs is one person is known with a doubt (`relations`), and is drawn from it here. The other it cannot
know: its law, its m and its beliefs are not those of these files. How far off the expected numbers of false links, of
missed matches and of matches that blocking lost are was set by populations drawn at random (`benchmarks worlds`, 35
small ones of seeds 2 to 55, where the intervals of precision, recall and matches held the truth in 31 of 33, 31 of 33
and 33 of 35); they are drawn as far off here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gemel.carole.engine.run.result import Linkage
from gemel.carole.evaluation.quality_estimate import CONFIDENCE, Claims, Interval
from gemel.carole.fellegi_sunter.kinds.pair_kinds import Densities, Vectors, posteriors
from gemel.common.arrays import F64

DRAWS = 400
"""Draws behind an interval: its ends are the tenth from either end."""


@dataclass(frozen=True)
class Off:
    """How far off an expected number is: natural logarithm of the factor, and what is added, as a share of the links.

    `bias`, `spread`: mean and standard deviation of the logarithm; `floor`: median of the added share; `floor_spread`:
    standard deviation of its logarithm.
    """

    bias: float
    spread: float
    floor: float
    floor_spread: float

    def drawn(self, expected: F64, links: float, rng: np.random.Generator) -> F64:
        """Numbers that may be true, of expected ones."""
        n = len(expected)
        factor = np.exp(self.bias + self.spread * rng.standard_normal(n))
        added = links * self.floor * np.exp(self.floor_spread * rng.standard_normal(n))
        return np.asarray(rng.poisson(np.minimum(expected * factor + added, 1e15)), dtype=np.float64)


FALSE = Off(0.0, 1.0, 0.002, 1.0)
"""Of false links."""
MISSED = Off(0.0, 1.0, 0.004, 1.3)
"""Of matches among the compared pairs that are not linked."""
LOST = Off(0.3, 1.0, 0.001, 1.5)
"""Of matches that no blocking rule found."""


def drawn_errors(linkage: Linkage, rng: np.random.Generator, n: int = DRAWS) -> tuple[F64, F64]:
    """Expected false links and missed matches under drawn parts of each kind: shape (n,) each."""
    pairs, joint = linkage.pairs, linkage.scheme.joint
    chance = np.clip(pairs.link_probability, 1e-12, 1 - 1e-12)
    linked = np.zeros(len(chance), dtype=np.bool_)
    linked[linkage.links] = True
    below = linkage.matches_below_floor
    if joint is None or not joint.relations.doubt.any():
        return np.full(n, float((1 - chance[linked]).sum())), np.full(n, float(chance[~linked].sum()) + below)
    gamma = linkage.scheme.scheme.vectors(linkage.patterns.gamma, linkage.scheme.n_levels)
    each = posteriors(joint.kinds, Densities(Vectors(np.ascontiguousarray(gamma)), joint.law, joint.agreement))
    # Pairs of one pattern, one decision and nearly one probability count together.
    log_odds = np.log(chance) - np.log1p(-chance)
    bins = np.clip(np.rint(log_odds * 4.0) + 128, 0, 255).astype(np.int64)
    cell = (pairs.pattern.astype(np.int64) * 256 + bins) * 2 + linked
    distinct, number = np.unique(cell, return_counts=True)
    of_link, pattern, centre = distinct % 2 == 1, distinct // 512, (distinct // 2 % 256 - 128) / 4.0
    used, pattern = np.unique(pattern, return_inverse=True)
    each = each[:, used]

    def own_odds(part: F64) -> F64:
        one, two = part @ each, (1.0 - part) @ each
        return np.asarray(np.log(np.maximum(one, 1e-300)) - np.log(np.maximum(two, 1e-300)))

    before = own_odds(joint.relations.one_person)
    false, missed = np.empty(n), np.empty(n)
    for k, part in enumerate(rng.choice(joint.relations.drawn, n)):
        odds = centre + (own_odds(part) - before)[pattern]
        probability = 1.0 / (1.0 + np.exp(-np.clip(odds, -60, 60)))
        false[k] = (number * (1.0 - probability))[of_link].sum()
        missed[k] = (number * probability)[~of_link].sum() + below
    return false, missed


def claims(linkage: Linkage, seed: int) -> Claims | None:
    """The claims of a run; None where there are more links than people can explain.

    O(draws * patterns of the kept pairs * kinds).
    """
    if len(linkage.links) > linkage.plausible_links:
        return None
    rng = np.random.default_rng([seed, 95])
    n_links, chance = len(linkage.links), linkage.pairs.link_probability
    false, missed = drawn_errors(linkage, rng)
    false = np.minimum(FALSE.drawn(false, n_links, rng), n_links)
    missed = MISSED.drawn(missed, n_links, rng)
    true = n_links - false
    compared = true + missed
    kept = linkage.blocking.recall
    lost = np.zeros(len(true))
    if linkage.candidates_per_rule:
        share = 1.0 if kept is None else kept
        lost = LOST.drawn(compared * (1.0 / max(share, 0.05) - 1.0), float(np.median(compared)), rng)
    every = compared + lost
    expected_true = float(chance[linkage.links].sum())
    expected = float(chance.sum()) + linkage.matches_below_floor
    share = 1.0 if kept is None else kept
    with np.errstate(invalid="ignore", divide="ignore"):
        return Claims(
            _range(expected_true / n_links, true / n_links) if n_links else None,
            _range(expected_true / expected * share, np.where(every > 0, true / every, 1.0)) if expected > 0 else None,
            _range(expected, compared),
            _range(expected / share, every),
            _range(share, np.where(every > 0, compared / every, 1.0)) if linkage.candidates_per_rule else None,
        )


def _range(value: float, drawn: F64) -> Interval:
    """The interval holds the model's own figure: where next to nothing is doubtful, what is added lies beside it."""
    tail = (1 - CONFIDENCE) / 2
    lower, upper = np.quantile(drawn, (tail, 1 - tail))
    return Interval(float(value), min(float(lower), float(value)), max(float(upper), float(value)))
