"""What matching strategies are worth to an intruder: the chance of a correct match, and what the search costs.

T11 chapter 5. An intruder either looks for a member of the population and matches against the sample, or takes a record
of the sample and looks for it in the population. A condition on the counts selects whom he tries. He has no list to
look people up in: he goes through the population without a plan, each undiscovered person as likely to be next.
Searching the sample costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gemel.common.errors import parameter
from gemel.risk.arrays import Integers, Mask
from gemel.risk.identification.coding import agreeing
from gemel.risk.identification.key_file import KeyFile

Direction = Literal["sample to population", "population to sample"]
Condition = Callable[[Integers, Integers], Mask]


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Sample and population counts of every combination that occurs in the population.

    `f`, `F` (int64, shape (n_cells,)).
    """

    f: Integers = field(repr=False)
    F: Integers = field(repr=False)

    def __post_init__(self) -> None:
        if self.f.shape != self.F.shape or self.f.ndim != 1:
            raise parameter("frequencies", "f and F must be as long as each other")
        if (self.f < 0).any() or (self.f > self.F).any() or not self.f.sum():
            raise parameter(
                "frequencies", "a sample count must lie from 0 to the population's, and some must be positive"
            )

    @classmethod
    def of(cls, file: KeyFile) -> Frequencies:
        file.require_disjoint_cells("a matching strategy")
        if file.population_cells is None or file.population_counts is None or file.perturbed:
            raise parameter(
                "population",
                "matching strategies need the population, and true key values",
                remedy="give it, or judge by DIS and the estimates of a model",
            )
        f = agreeing(file.population_cells, file.cells, file.counts, file.levels)
        return cls(f, file.population_counts)


@dataclass(frozen=True)
class Strategy:
    name: str
    direction: Direction
    condition: Condition = field(repr=False)


@dataclass(frozen=True)
class Attack:
    """What a strategy achieves on a file.

    `direction`: from which side the target is chosen. `targets`: number of cells that are targets. `probability`:
    Pr(cm), the chance that the match is correct. `cost`, `cost_replaced`: expected number of people looked at until the
    first possible match: when no one is met twice (E(T) without replacement), and when they are (with). Infinite where
    there is no target. `efficiency`: probability divided by cost.
    """

    name: str
    direction: Direction
    targets: int
    probability: float
    cost: float
    cost_replaced: float

    @property
    def efficiency(self) -> float:
        """Correct matches per person looked at, no one met twice."""
        return self.probability / self.cost if self.targets else 0.0


def attack(counts: Frequencies, strategy: Strategy) -> Attack:
    r"""Evaluate a strategy.

    With P the condition and N the population: from population to sample, :math:`Pr(cm) = \sum_j [P][f_j > 0] /
    \sum_j F_j [P]` and :math:`E(T) = (N + 1)/(1 + \sum_j F_j [P])`, or :math:`N / \sum_j F_j [P]` with replacement.
    From sample to population, :math:`Pr(cm) = \sum_j (f_j / F_j) [P] / \sum_j f_j [P]`, and the costs are averages of
    :math:`(N + 1)/(1 + F_j)` and :math:`N / F_j` over the eligible records. The thesis prints the two factors of the
    geometric law swapped; its expectation, N/M, is as here.
    """
    f, F = counts.f.astype(np.float64), counts.F.astype(np.float64)
    N = float(F.sum())
    chosen = np.asarray(strategy.condition(counts.f, counts.F), dtype=bool)
    if chosen.shape != f.shape:
        raise parameter(strategy.name or "strategy", "a condition must be true or false for every cell")
    from_sample = strategy.direction == "sample to population"
    if from_sample:
        chosen = chosen & (f > 0)
    people = float(F[chosen].sum())
    if people == 0:
        return Attack(strategy.name, strategy.direction, 0, 0.0, np.inf, np.inf)
    if from_sample:
        weight = f[chosen] / f[chosen].sum()
        probability = float((weight / F[chosen]).sum())
        costs = float((weight * (N + 1.0) / (1.0 + F[chosen])).sum()), N * probability
    else:
        probability = float((f[chosen] > 0).sum()) / people
        costs = (N + 1.0) / (1.0 + people), N / people
    return Attack(strategy.name, strategy.direction, int(chosen.sum()), probability, *costs)


def thesis_strategies(r: int = 3) -> dict[int, Strategy]:
    if r < 1:
        raise parameter("r", "a cell that is tried holds at least one record", str(r))
    out: Direction = "sample to population"
    back: Direction = "population to sample"
    return {
        1: Strategy("any record, looked for in the population", out, lambda f, F: f > 0),
        2: Strategy("any person, looked for in the file", back, lambda f, F: F > 0),
        3: Strategy("people until one is in the file's combinations", back, lambda f, F: f > 0),
        4: Strategy("a sample unique, looked for in the population", out, lambda f, F: f == 1),
        5: Strategy("people until one matches a sample unique", back, lambda f, F: f == 1),
        6: Strategy(f"a record of {r} alike, looked for in the population", out, lambda f, F: f == r),
        7: Strategy(f"people until one matches {r} alike records", back, lambda f, F: f == r),
    }


def attacks(counts: Frequencies, r: int = 3) -> dict[int, Attack]:
    return {number: attack(counts, strategy) for number, strategy in thesis_strategies(r).items()}
