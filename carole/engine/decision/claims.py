"""What a run claims of its links, each figure with an interval of 95 %, and a warning where that is little.

The model says how probable each link is, and what it says may be wrong in three ways. It knows two of them: what part
of each kind of pairs is one person, and how many strangers agree in everything (`relations`). Both are known with a
doubt, and are drawn from it here. The third it cannot know: its law, its m and its beliefs are not those of these
files. How far off the expected numbers of false links, of missed matches and of matches that blocking lost are was set
by populations drawn at random (`benchmarks worlds`, those of seeds 1 to 300 that have 25 million pairs at most); they
are drawn as far off here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from gemel.carole.engine.run.contribution import n_distinct
from gemel.carole.engine.run.result import FEWEST, Linkage
from gemel.carole.evaluation.quality_estimate import CONFIDENCE, Claims, Interval
from gemel.carole.fellegi_sunter.kinds.pair_kinds import Densities, Vectors, posteriors
from gemel.common.arrays import F64
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.risk.models.graphs import members

DRAWS = 400
"""Draws behind an interval: its ends are the tenth from either end."""


@dataclass(frozen=True)
class Off:
    """How far off an expected number is: natural logarithm of the factor, and what is added, as a share of the links.

    `median`, `below`, `above`: of the logarithm the median, and the standard deviations on either side of it; `floor`:
    median of the added share; `floor_spread`: standard deviation of its logarithm.
    """

    median: float
    below: float
    above: float
    floor: float
    floor_spread: float

    def mean(self, expected: F64, links: F64 | float, rng: np.random.Generator) -> F64:
        """What may be expected, if that was."""
        n = len(expected)
        deviation = rng.standard_normal(n)
        factor = np.exp(self.median + np.where(deviation < 0, self.below, self.above) * deviation)
        added = links * self.floor * np.exp(self.floor_spread * rng.standard_normal(n))
        return np.asarray(np.minimum(expected * factor + added, 1e15))

    def drawn(self, expected: F64, links: F64 | float, together: float, rng: np.random.Generator) -> F64:
        """Numbers that may be true, of expected ones, of which so many come `together`."""
        return _numbers(self.mean(expected, links, rng), together, rng)


def _numbers(mean: F64, together: float, rng: np.random.Generator) -> F64:
    return np.asarray(rng.poisson(mean / together) * together, dtype=np.float64)


FALSE = Off(-0.3, 2.0, 0.6, 0.001, 1.2)
"""Of false links to one that is right."""
MISSED = Off(0.0, 2.5, 0.65, 0.002, 1.5)
"""Of matches among the compared pairs that are not linked."""
LOST = Off(0.3, 2.0, 0.8, 0.001, 1.5)
"""Of matches that no blocking rule found."""

EXACT = 0.06
"""Share of populations in which nothing is added, as where nobody changed anything."""

POOR, TOO_PROBABLE = 0.9, 0.25
"""F1 below which links are poor, and the probability of that from which it is warned of."""


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


def with_claims(linkage: Linkage, seed: int) -> Linkage:
    """The linkage with what it claims; nothing where there are more links than people can explain.

    O(draws * patterns of the kept pairs * kinds).
    """
    others = tuple(warning for warning in linkage.warnings if warning.code != "links_in_doubt")
    if len(linkage.links) > linkage.plausible_links:
        return replace(linkage, claims=None, warnings=others)
    rng = np.random.default_rng([seed, 95])
    n_links, chance = len(linkage.links), linkage.pairs.link_probability
    joint = linkage.scheme.joint
    together = _together(linkage)
    false, missed = drawn_errors(linkage, rng)
    more = (rng.random(DRAWS) >= EXACT).astype(np.float64)
    odds = FALSE.mean(false / np.maximum(n_links - false, 1e-9), more, rng)
    false = np.minimum(_numbers(n_links * odds / (1.0 + odds), together, rng), n_links)
    missed = MISSED.drawn(missed, more * n_links, together, rng) + _hidden(linkage, rng)
    true = n_links - false
    compared = true + missed
    # What cannot be estimated is believed here.
    kept = 1.0 if joint is None else joint.recall
    lost = np.zeros(len(true))
    if linkage.candidates_per_rule:
        lost = LOST.drawn(compared * (1.0 / kept - 1.0), more * float(np.median(compared)), together, rng)
    every = compared + lost
    estimable = bool(linkage.candidates_per_rule) and linkage.blocking.recall is not None
    expected_true = float(chance[linkage.links].sum())
    expected = float(chance.sum()) + linkage.matches_below_floor
    with np.errstate(invalid="ignore", divide="ignore"):
        claimed = Claims(
            _range(expected_true / n_links, true / n_links) if n_links else None,
            _range(expected_true / expected * kept, np.where(every > 0, true / every, 1.0)) if expected > 0 else None,
            _range(expected, compared),
            _range(expected / kept, every),
            _range(expected / kept / together, every / together),
            _range(kept, np.where(every > 0, compared / every, 1.0)) if estimable else None,
        )
        f1 = np.where(n_links + every > 0, 2 * true / (n_links + every), 1.0)
    doubted = float((f1 < POOR).mean()) >= TOO_PROBABLE and joint is not None
    warnings = (*others, *((_in_doubt(linkage, claimed),) if doubted else ()))
    return replace(linkage, claims=claimed, warnings=warnings)


def _hidden(linkage: Linkage, rng: np.random.Generator) -> F64:
    """Matches that strangers may hide who agree in as much, where these are fewer than the law has them: (DRAWS,)."""
    if linkage.scheme.joint is None:
        return np.zeros(DRAWS)
    number, spread = linkage.scheme.joint.relations.coincidences
    fewer = number * -np.expm1(-spread * np.maximum(rng.standard_normal(DRAWS), 0.0))
    return np.minimum(np.rint(fewer), max(linkage.plausible_links - len(linkage.links), 0))


def _together(linkage: Linkage) -> float:
    """Links of one person, on average: these are right or wrong together.

    A person is an entity, a record with all of its partners, or in one file whose first record is no other's partner.
    """
    links, pairs = linkage.links, linkage.pairs
    if not len(links):
        return 1.0
    row_a, row_b = pairs.row_a[links], pairs.row_b[links]
    if linkage.one_file is not None:
        persons = n_distinct(np.setdiff1d(row_a, row_b))
    elif linkage.entities is not None:
        in_a, in_b = linkage.entities.sizes
        persons = int(((in_a > 0) & (in_b > 0)).sum())
    else:
        persons = min(n_distinct(row_a), n_distinct(row_b))
    return max(1.0, len(links) / max(persons, 1))


def _in_doubt(linkage: Linkage, claimed: Claims) -> ResultWarning:
    """What is doubtful, and of which kind of pairs most."""
    joint = linkage.scheme.joint
    assert joint is not None  # noqa: S101 - as was asked before
    k = int((joint.kinds.pairs * joint.relations.doubt).argmax())
    number, part, doubt = joint.kinds.pairs[k], joint.relations.one_person[k], joint.relations.doubt[k]
    names, few = [field.name for field in linkage.model.fields], len(linkage.links) < FEWEST
    everything, shared = max(joint.kinds.shared, key=int.bit_count), joint.kinds.shared[k]
    of_kind, lacking = (", ".join(names[q] for q in members(some)) for some in (shared, everything & ~shared))
    ends = [(0.0, 1.0) if each is None else (each.lower, each.upper) for each in (claimed.precision, claimed.recall)]
    return result_warning(
        "links_in_doubt",
        precision=_between(*ends[0], few=few),
        recall=_between(*ends[1], few=few),
        pairs=f"{number:,.0f}" if number >= FEWEST else f"< {FEWEST}",
        shared=of_kind,
        lacking=lacking or "-",
        part=_between(max(part - doubt, 0.0), min(part + doubt, 1.0), few=number < FEWEST),
    )


def _between(lower: float, upper: float, *, few: bool) -> str:
    """``93-98 %``; of few links to a tenth, outwards, as in documents."""
    step = 10 if few else 1
    return f"{step * math.floor(100 * lower / step)}\N{EN DASH}{step * math.ceil(100 * upper / step)} %"


def _range(value: float, drawn: F64) -> Interval:
    """The interval holds the model's own figure: where next to nothing is doubtful, what is added lies beside it."""
    tail = (1 - CONFIDENCE) / 2
    lower, upper = np.quantile(drawn, (tail, 1 - tail))
    return Interval(float(value), min(float(lower), float(value)), max(float(upper), float(value)))
