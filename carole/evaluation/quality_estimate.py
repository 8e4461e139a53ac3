"""An estimate of the links' precision, with its interval and what it supposes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gemel.carole.evaluation.link_quality import wrong

CONFIDENCE = 0.95
"""Of every interval."""


@dataclass(frozen=True)
class Interval:
    """A figure, and the ends of its interval of confidence `CONFIDENCE`."""

    value: float
    lower: float
    upper: float

    def excludes(self, truth: float) -> bool:
        return not self.lower <= truth <= self.upper

    def apart(self, other: Interval) -> bool:
        """Whether the two have no point in common."""
        return self.upper < other.lower or other.upper < self.lower


@dataclass(frozen=True)
class Claims:
    """What a run claims: precision and recall of its links, matches among the compared pairs, all matches, and people.

    None where there is nothing to claim: no precision without a link, no recall without a match. `candidates`: share of
    all matches among the compared pairs; None without blocking, and where it cannot be estimated.
    """

    precision: Interval | None
    recall: Interval | None
    compared: Interval
    matches: Interval
    people: Interval
    candidates: Interval | None


@dataclass(frozen=True)
class QualityEstimate:
    """How good the links are, by one method.

    `observations`: what the interval rests on: links in doubt that were checked, or decoys.
    """

    method: Literal["check_field", "decoys"]
    precision: Interval
    observations: int
    supposes: tuple[str, ...]


# The share of false links from decoys: records that each custodian knows to be no person's.
#
# A decoy of A resembles A's records but has no match in B, so that it is linked as often as a person of A who is not
# in B. With a rate r of links to decoys of A, and u people of A whose match is not in B, r u links are false;
# likewise of B. But where a false link joins an absent person of A with an absent person of B, both see it. Of the
# links to decoys of A that go to records without a link in the run, as large a share h of these as absent people have
# among such records is of this kind, and counts half:
#
# .. math:: F = \sum_{s} r_s u_s (1 - \tfrac12 h_s), \qquad u_s = n_s - L + F - l,
#
# :math:`n_s` being the records of a file, L the links and l the matches that the model expects to have missed. Every
# false link takes a record for a match that is none, so F itself is in u; it is found by iteration.
#
# The rates have gamma posteriors, and the false links of the run, given how many are to be expected, a Poisson
# distribution; so the interval holds the uncertainty of both.
#
# It supposes that absent people resemble decoys. False links among people whose matches are both in the other file, as
# when two of a household are exchanged, have no counterpart among decoys and are not seen; where nearly all records are
# linked there are no absent people, and decoys show nothing.


MIN_ABSENT = 0.05
"""Records without a link, as a share of the links, from which decoys show something: in one file at least."""

DRAWS = 4000
ITERATIONS = 50


@dataclass(frozen=True)
class DecoyCount:
    """What became of one custodian's decoys, and of its records.

    `to_unlinked`: those of these whose link is to a record that has none in the run; `records`: records of the file;
    such as count as one person, once.
    """

    decoys: int
    linked: int
    to_unlinked: int
    records: int
    linked_records: int

    def __post_init__(self) -> None:
        if not 0 <= self.to_unlinked <= self.linked <= self.decoys:
            raise wrong("counts of links to decoys that are possible", str(self))

    @property
    def unlinked(self) -> int:
        return self.records - self.linked_records


def precision_by_decoys(
    sides: Sequence[DecoyCount], links: int, missed: float, rng: np.random.Generator
) -> Interval | None:
    """The precision of a run's links; None where the records without a link are too few in both files (`MIN_ABSENT`).

    `missed`: matches among records without a link, as the model expects. Raises PARAMETER without a link, or for a
    negative number of missed matches.
    """
    if links < 1 or missed < 0:
        raise wrong("at least one link, and no negative number of missed matches", f"{links} and {missed}")
    if max(side.unlinked - missed for side in sides) < MIN_ABSENT * links:
        return None
    expected = _expected(sides, [np.array([side.linked / side.decoys]) for side in sides], missed, links)
    rates = [rng.gamma(side.linked + 0.5, 1 / side.decoys, DRAWS) for side in sides]
    drawn = np.minimum(rng.poisson(_expected(sides, rates, missed, links)), links)
    tail = (1 - CONFIDENCE) / 2
    lower, upper = np.quantile(1 - drawn / links, (tail, 1 - tail))
    return Interval(float(1 - expected[0] / links), float(lower), float(upper))


def _expected(sides: Sequence[DecoyCount], rates: Sequence[np.ndarray], missed: float, links: int) -> np.ndarray:
    """Expected false links at some rates of links to decoys, of each side; at most all links."""
    found = np.zeros_like(rates[0])
    for _ in range(ITERATIONS):
        absent = [np.maximum(side.unlinked + found - missed, 0.0) for side in sides]
        share = [count / np.maximum(side.unlinked + found, 1.0) for count, side in zip(absent, sides, strict=True)]
        total = np.zeros_like(found)
        # A link of a decoy of one side goes to a record of the other.
        for side, rate, count, other in zip(sides, rates, absent, reversed(share), strict=True):
            halved = (side.to_unlinked + 0.5) / (side.linked + 0.5) * other
            total = total + rate * count * (1 - halved / 2)
        found = np.minimum(total, float(links))
    return found
