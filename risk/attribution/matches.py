"""Unique matches between samples: which records of two samples might be one person, and how likely each is (SE05).

A level combination of the variables that two samples share is a unique match when each sample has one record there.
The match is correct with probability 1/F, F being the population's count there; an intruder ranks matches by E[1/F]
under the posterior of F.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.attribution.posterior import Posterior, Range, posterior
from gemel.risk.attribution.release import Release
from gemel.risk.attribution.tables import Table


@dataclass(frozen=True, eq=False)
class Match:
    """A unique match.

    Parameters
    ----------
    cell
        Level number of each variable the samples share.
    posterior
        Of the population's count there.
    truth
        The population's count, where it is known.
    """

    cell: dict[str, int]
    posterior: Posterior
    truth: int | None

    @property
    def probability(self) -> float:
        """The intruder's probability that the match is correct."""
        return self.posterior.correct_match


def unique_matches(release: Release, samples: Sequence[str]) -> list[dict[str, int]]:
    """Cells of the variables common to the named samples in which each sample has exactly one record."""
    tables = [release.table(name) for name in samples]
    if len(tables) < 2 or not all(t.sample and t.simple for t in tables):
        raise parameter(release.name, "unique matches are between two or more samples, not recoded", ", ".join(samples))
    shared = [v for v in release.variables if all(v.name in t.names for t in tables)]
    if not shared:
        raise parameter(release.name, "the samples share no variable")
    product = np.ones(tuple(v.size for v in shared), dtype=np.int64)
    for table in tables:
        own = tuple(next(v for v in release.variables if v.name == n) for n in table.names)
        product *= Table(own, table.counts).over([v.name for v in shared]).counts
    return [{v.name: int(k) for v, k in zip(shared, index, strict=True)} for index in np.argwhere(product == 1)]


def ranked_matches(
    release: Release, samples: Sequence[str], *, within: Range = "naive", sums: bool = False, terms: bool = False
) -> list[Match]:
    """Every unique match with its posterior, the likeliest first."""
    found = []
    for cell in unique_matches(release, samples):
        count = posterior(release, cell, within=within, sums=sums, terms=terms)
        truth = None
        if release.truth is not None:
            margin = release.truth.over(list(cell))
            truth = int(margin.counts[tuple(cell.values())])
        found.append(Match(cell, count, truth))
    return sorted(found, key=lambda m: -m.probability)


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's correlation of the intruder's match probabilities with the true ones, 1/F."""

    matches: int
    correlation: float
    p_value: float


def rank_correlation(matches: Sequence[Match]) -> RankCorrelation:
    """How well an intruder ranks unique matches."""
    if any(m.truth is None for m in matches):
        raise GemelError(ErrorCode.PARAMETER, "the rank correlation needs the true table")
    claimed = np.asarray([m.probability for m in matches])
    true = np.asarray([1.0 / (m.truth or 1) for m in matches])
    if len(matches) < 3 or np.ptp(claimed) == 0 or np.ptp(true) == 0:
        raise GemelError(
            ErrorCode.PARAMETER,
            "too few different unique matches for a rank correlation",
            got=f"{len(matches)} matches",
        )
    from scipy.stats import spearmanr  # slow to import, and only a check against the truth needs it

    answer = spearmanr(claimed, true)
    return RankCorrelation(len(matches), float(answer.statistic), float(answer.pvalue))
