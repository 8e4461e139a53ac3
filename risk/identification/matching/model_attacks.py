"""What a modelling intruder does with a ranking: go for the ten best combinations, or for as many as a search affords.

T11 chapter 7. What an attack claims is set beside what is true where the population is known: models claim too much of
the cells they like best, and an intruder who believes them is still right more often than one who takes any sample
unique. `strategies` has the attacks that need counts only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats, Integers
from gemel.risk.identification.matching.bayesian_matching import BayesianMatching


@dataclass(frozen=True)
class Outcome:
    """Chances and search costs of an attack on a set of combinations.

    `from_sample`: Pr(cm) of a record taken from the file, whose person is looked for in the population;
    `from_population`: Pr(cm) of the first person found in the population who matches any of the combinations;
    `cost_from_sample`, `cost_from_population`: people looked at on average until someone matches, drawn with
    replacement.
    """

    from_sample: float
    from_population: float
    cost_from_sample: float
    cost_from_population: float


@dataclass(frozen=True, eq=False)
class ModelAttack:
    cells: Integers = field(repr=False)
    claimed: Outcome
    true: Outcome | None


def outcome(f: Integers, F: Floats, reciprocal: Floats, N: float) -> Outcome:
    """Chances and costs (with replacement) of attacking combinations with sample counts f and population counts F.

    `reciprocal` is 1/F, or what is expected of it. An attack on nothing never succeeds and never ends.
    """
    if not len(f):
        return Outcome(0.0, 0.0, math.inf, math.inf)
    from_sample = float((f * reciprocal).sum() / f.sum())
    people = float(F.sum())
    return Outcome(from_sample, len(f) / people, N * from_sample, N / people)


def attack_on(matching: BayesianMatching, cells: Integers) -> ModelAttack:
    file = matching.file
    f, N = file.counts[cells], file.population_total
    claimed = outcome(f, matching.expected_count[cells], matching.correct_match[cells], N)
    if file.population_sizes is None:
        return ModelAttack(cells, claimed, None)
    F = file.population_sizes[cells].astype(np.float64)
    return ModelAttack(cells, claimed, outcome(f, F, 1.0 / F, N))


def best_cells(matching: BayesianMatching) -> ModelAttack:
    """The ten combinations with the greatest Pr(cm); equal ones by expected count, then in the order of the file."""
    return attack_on(matching, np.lexsort((matching.expected_count, -matching.correct_match))[:10])


def cost_matched(matching: BayesianMatching, people: float, *, by_true_counts: bool = False) -> ModelAttack:
    """As many combinations as a search affords, those expected to be smallest in the population first.

    Matching from population to sample, Pr(cm) = cells * cost / N: at equal cost, more combinations are better. The
    number taken is the one whose people come nearest to `people`, at least one.
    """
    if not people > 0:
        raise parameter("people", "must be above 0", f"{people:g}")
    expected = matching.expected_count
    order = np.argsort(expected, kind="stable")
    held: Floats = expected
    if by_true_counts:
        F = matching.file.population_sizes
        if F is None:
            raise parameter("by_true_counts", "the population is not known")
        held = F.astype(np.float64)
    number = int(np.argmin(np.abs(np.cumsum(held[order]) - people))) + 1
    return attack_on(matching, order[:number])
