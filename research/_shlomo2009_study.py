"""Misclassified keys of one population, and the measures of risk under them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.loglinear.risk import LogLinearRisk, log_linear_risk
from gemel.risk.identification.misclassification import MisclassificationRisk, misclassification_risk, swapping_matrix
from research._census_extract import LEVELS, NAMES, extract
from research._swapping import observed_matrix, random_swap

PEOPLE = 1_468_255
FRACTION = 0.01
RATE = 0.2
_LABELS = tuple(tuple(str(k) for k in range(n)) for n in LEVELS)


@dataclass(frozen=True, eq=False)
class Linkage:
    """Table 4: pairs of a perturbed sample unique and a person who agree on all keys but the authority."""

    table: NDArray[np.int64]  # [[disagree and no match, disagree and match], [agree and no match, agree and match]]

    @property
    def m(self) -> float:
        """P(agree on authority | match)."""
        return float(self.table[1, 1] / self.table[:, 1].sum())

    @property
    def u(self) -> float:
        """P(agree on authority | no match)."""
        return float(self.table[1, 0] / self.table[:, 0].sum())

    @property
    def p(self) -> float:
        """Share of the pairs that are matches."""
        return float(self.table[:, 1].sum() / self.table.sum())

    @property
    def match_given_agreement(self) -> float:
        """Bayes' theorem with m, u and p."""
        return self.m * self.p / (self.m * self.p + self.u * (1 - self.p))


@dataclass(frozen=True, eq=False)
class Study:
    """One sample, swapped once."""

    original: KeyFile
    perturbed: KeyFile
    naive: dict[str, LogLinearRisk]  # models of the original sample
    after: dict[str, LogLinearRisk]  # models of the perturbed sample
    true_tau: float  # sum of 1/F over the original sample's uniques
    risk: MisclassificationRisk  # with the two-way model
    simulated_theta: NDArray[np.float64]
    theta: NDArray[np.float64]
    linkage: Linkage
    agreeing: NDArray[np.bool_]  # perturbed uniques whose authority is their own
    population: NDArray[np.int64]  # F of each perturbed unique's observed combination

    @property
    def realised(self) -> float:
        """Sum of 1/F over perturbed uniques that still are what they seem: the record-linkage measure."""
        return float((1.0 / self.population[self.agreeing]).sum())


def population_cells(people: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The combinations of the population and their counts."""
    number = np.ravel_multi_index(people.T, LEVELS)
    found, counts = np.unique(number, return_counts=True)
    return np.column_stack(np.unravel_index(found, LEVELS)).astype(np.int32), counts.astype(np.int64)


def study(
    cells: NDArray[np.int32],
    counts: NDArray[np.int64],
    rng: np.random.Generator,
    fraction: float = FRACTION,
    rate: float = RATE,
    models: tuple[str, ...] = ("independence", "two-way"),
) -> Study:
    """Draw a Bernoulli sample, swap authorities, and judge both files."""
    drawn = rng.binomial(counts, fraction)
    sample = np.repeat(cells, drawn, axis=0)
    changed = sample.copy()
    changed[:, 0] = random_swap(sample[:, 0], rate, rng)
    original = KeyFile(NAMES, _LABELS, sample, fraction, cells, counts)
    perturbed = KeyFile(NAMES, _LABELS, changed, fraction, cells, counts, perturbed=True)
    theta = swapping_matrix(np.bincount(sample[:, 0], minlength=LEVELS[0]), rate)
    naive = {model: log_linear_risk(original, model) for model in models}
    after = {model: log_linear_risk(perturbed, model) for model in models}
    F = original.population_sizes
    uniques = perturbed.uniques
    own = np.asarray(perturbed.people_alike)[perturbed.of_record[uniques]]
    agreeing = changed[uniques, 0] == sample[uniques, 0]
    assert F is not None
    return Study(
        original,
        perturbed,
        naive,
        after,
        float((1.0 / F[original.sizes == 1]).sum()),
        misclassification_risk(perturbed, {"authority": theta}, after[models[-1]]),
        observed_matrix(sample[:, 0], changed[:, 0], LEVELS[0]),
        theta,
        blocked(perturbed, uniques, agreeing, own),
        agreeing,
        own,
    )


def blocked(file: KeyFile, uniques: NDArray[np.int64], agreeing: NDArray[np.bool_], own: NDArray[np.int64]) -> Linkage:
    """Table 4: block on everything but the authority, compare the authority."""
    rest = file.only(NAMES[1:])
    sizes = np.asarray(rest.people_alike)[rest.of_record[uniques]]
    agree, matches = int(own.sum()), int(agreeing.sum())
    pairs = int(sizes.sum())
    return Linkage(
        np.array([[pairs - agree - (len(uniques) - matches), len(uniques) - matches], [agree - matches, matches]])
    )


def replicated(people: int, replicates: int, seed: int, fraction: float = FRACTION) -> list[Study]:
    """Many samples of one population, each swapped once."""
    rng = np.random.default_rng(seed)
    cells, counts = population_cells(extract(people, rng))
    return [study(cells, counts, rng, fraction) for _ in range(replicates)]
