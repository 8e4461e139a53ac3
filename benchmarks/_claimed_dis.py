"""How often the interval of DIS covers what it estimates, on public populations.

DIS estimates Pr(CM | UM) of the very sample that was drawn, so each sample has its own truth: its sample uniques over
all people who fit them. The interval is `gemel.risk.identification.dis`'s, of 95 % unless another level is asked for.
Where a sample has few pairs the estimate is too high on average, a ratio with a small count below; the interval covers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from benchmarks._public_populations import ADULT, EUSILC_P, PublicPopulation
from gemel.risk.identification.file_level import dis

FRACTIONS = (0.01, 0.02, 0.05, 0.1)
SAMPLES = 1_000


@dataclass(frozen=True, eq=False)
class DisCoverage:
    """Samples of one population at one fraction.

    Parameters
    ----------
    population, keys
        Names.
    fraction
        Of the population in each sample.
    truth, value, low, high : ndarray of float64, shape (n_samples,)
        Pr(CM | UM) of each sample, its estimate and interval.
    """

    population: str
    keys: str
    fraction: float
    truth: NDArray[np.float64] = field(repr=False)
    value: NDArray[np.float64] = field(repr=False)
    low: NDArray[np.float64] = field(repr=False)
    high: NDArray[np.float64] = field(repr=False)

    @property
    def covered(self) -> int:
        """Samples whose interval has the truth."""
        return int(((self.low <= self.truth) & (self.truth <= self.high)).sum())

    @property
    def too_low(self) -> int:
        """Samples whose interval lies below the truth: those that understate the risk."""
        return int((self.high < self.truth).sum())

    @property
    def coverage(self) -> tuple[float, float, float]:
        """Share of the samples covered, and its 95 % binomial interval (Clopper and Pearson)."""
        found = binomtest(self.covered, len(self.truth))
        certain = found.proportion_ci()
        return float(found.statistic), float(certain.low), float(certain.high)

    @property
    def bias(self) -> float:
        """Mean of estimate over mean of truth, less 1."""
        return float(self.value.mean() / self.truth.mean() - 1)


def combination_counts(population: PublicPopulation, keys: str) -> NDArray[np.int64]:
    """People of each combination of key values that occurs."""
    columns = population.key_columns(keys)
    return columns.group_by(columns.columns, maintain_order=True).len()["len"].to_numpy().astype(np.int64)


def dis_coverage(
    F: NDArray[np.int64],
    fraction: float,
    samples: int,
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    population: str = "",
    keys: str = "",
) -> DisCoverage:
    """Draw simple random samples without replacement and set DIS with its interval beside the truth.

    Parameters
    ----------
    F : ndarray of int64, shape (n_combinations,)
        The population's counts.
    fraction, samples, rng
        Sampling fraction, number of samples, source of random numbers.
    level
        Confidence of the intervals.
    population, keys
        Names, for the result.
    """
    size = round(fraction * int(F.sum()))
    found = np.empty((samples, 4))
    for k in range(samples):
        f = rng.multivariate_hypergeometric(F, size, method="marginals")
        n1, n2, n3 = (int((f == r).sum()) for r in (1, 2, 3))
        estimate = dis(n1, n2, n3, fraction, level)
        people = int(F[f == 1].sum())
        found[k] = n1 / people if people else 0.0, estimate.value, estimate.low, estimate.high
    return DisCoverage(population, keys, fraction, *found.T)


def dis_coverages(
    populations: Sequence[PublicPopulation] = (EUSILC_P, ADULT),
    fractions: Sequence[float] = FRACTIONS,
    samples: int = SAMPLES,
    seed: int = 21,
) -> Iterator[DisCoverage]:
    """Every set of keys of every population at every fraction; each has random numbers of its own."""
    for population in populations:
        for keys in population.keys:
            F = combination_counts(population, keys)
            for fraction in fractions:
                name = np.frombuffer(f"{population.name}, {keys}".encode(), dtype=np.uint8)
                rng = np.random.default_rng((seed, round(1000 * fraction), *name.tolist()))
                yield dis_coverage(F, fraction, samples, rng, population=population.name, keys=keys)


def dis_table(found: Sequence[DisCoverage]) -> list[str]:
    """The lines of a table in Markdown."""
    lines = [
        "| population | keys | sample | true Pr(CM given UM) | DIS | bias | interval covers (95 % binomial interval) "
        "| lies below the truth |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in found:
        share, low, high = one.coverage
        lines.append(
            f"| {one.population} | {one.keys} | {one.fraction:.0%} | {one.truth.mean():.4f} | {one.value.mean():.4f} "
            f"| {one.bias:+.1%} | {share:.3f} ({low:.3f} to {high:.3f}) | {one.too_low / len(one.truth):.3f} |"
        )
    return lines
