"""Every strategy of an intruder on the generated and on the public populations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks._public_populations import PUBLIC_POPULATIONS, PublicPopulation
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.matching.bayesian_matching import bayesian_matching, fit_models
from gemel.risk.identification.matching.model_attacks import best_cells
from gemel.risk.identification.strategies import Attack, Frequencies, attacks
from gemel.risk.models.counts import total_by_row
from gemel.risk.models.precision_search import GammaPrior
from research._census import FIVE, LEVELS, census, key_file_of
from research._intervals import interval
from research._smith2011_study import NOTIONAL

SAMPLES, FRACTION, R = 40, 0.03, 3
CLAIMED_AT = (0.01, 0.05, 0.2)
CLAIMED_SAMPLES = 20
MAX_EXACT = 6  # keys, for which the posterior over models is exact
PRIORS: dict[str, float | GammaPrior] = {"precision 1": 1.0, "gamma prior": GammaPrior(per_decade=8)}

# What the thesis prints: Pr(cm) and expected cost, no one met twice.
PRINTED = {1: (0.444, 2556.9), 4: (0.571, 3250.0), 5: (0.159, 7.0)}
PRINTED_UNIQUES = 3_036


@dataclass(frozen=True, eq=False)
class People:
    """A population of key values, shape (n, n_keys), to be sampled."""

    name: str
    codes: NDArray[np.int32]
    levels: tuple[int, ...]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Of the combinations that occur."""
        _, counts = total_by_row(self.codes, np.ones(len(self.codes)), list(self.levels))
        return counts.astype(np.int64)

    def sample(self, fraction: float, rng: np.random.Generator) -> KeyFile:
        """A simple random sample as a release, with the population beside it."""
        names = [f"key {k + 1}" for k in range(len(self.levels))]
        return key_file_of(names, self.codes, self.levels, fraction, rng)


def generated(seed: int) -> People:
    """The population of chapters 5 and 7, as `smith2011` has it with its own seed."""
    codes = census(NOTIONAL, np.random.default_rng(seed)).codes(FIVE)
    return People("generated", codes, tuple(LEVELS[name] for name in FIVE))


def public(population: PublicPopulation, seed: int) -> list[People]:
    """Ten thousand records of a public population (all, where it has fewer), for each of its sets of keys."""
    made = []
    for keys in population.keys:
        columns = population.key_columns(keys)
        chosen = np.random.default_rng(seed).permutation(len(columns))[:NOTIONAL]
        coded = [np.unique(columns[name].to_numpy(), return_inverse=True) for name in columns.columns]
        codes = np.column_stack([code for _, code in coded])[chosen].astype(np.int32)
        name = population.name + (f", {keys}" if len(population.keys) > 1 else "")
        made.append(People(name, codes, tuple(len(values) for values, _ in coded)))
    return made


def simulated(people: People, samples: int, rng: np.random.Generator) -> list[dict[int, Attack]]:
    """The seven strategies on simple random samples without replacement."""
    F = people.counts
    size = round(FRACTION * int(F.sum()))
    return [
        attacks(Frequencies(rng.multivariate_hypergeometric(F, size).astype(np.int64), F), R) for _ in range(samples)
    ]


@dataclass(frozen=True, eq=False)
class Claims:
    """The ten best combinations of the Bayesian match: claimed and true chance of each sample, shape (samples,)."""

    claimed: NDArray[np.float64]
    true: NDArray[np.float64]


def claims(people: People, fraction: float, samples: int, seed: int, precision: float | GammaPrior) -> Claims:
    """The Bayesian match of chapter 7 with a fixed precision or a prior on it."""
    found = np.empty((samples, 2))
    for number in range(samples):
        rng = np.random.default_rng((seed, round(1000 * fraction), number))
        file = people.sample(fraction, rng)
        ten = best_cells(bayesian_matching(file, fit_models(file, rng=rng, precision=precision)))
        assert ten.true is not None
        found[number] = ten.claimed.from_sample, ten.true.from_sample
    return Claims(found[:, 0], found[:, 1])


@dataclass(frozen=True, eq=False)
class Beside:
    """What is found on one population: its strategies, and its claims by sampling fraction and prior."""

    people: People
    strategies: list[dict[int, Attack]]
    claims: dict[tuple[float, str], Claims]


def beside(people: People, samples: int, claimed: int, seed: int, fractions: Sequence[float] = CLAIMED_AT) -> Beside:
    """Strategies on `samples` samples of 3 %, and claims on `claimed` of each fraction where keys are few enough."""
    return Beside(
        people,
        simulated(people, samples, np.random.default_rng(seed)),
        {
            (fraction, name): claims(people, fraction, claimed, seed, prior)
            for fraction in fractions
            for name, prior in PRIORS.items()
            if len(people.levels) <= MAX_EXACT
        },
    )


def populations(seed: int) -> list[People]:
    """The generated population, and the public ones."""
    return [generated(seed), *(people for population in PUBLIC_POPULATIONS for people in public(population, seed))]


def mean_of(found: Sequence[dict[int, Attack]], number: int, what: str) -> tuple[float, float, float]:
    """Mean and 95 % interval of one strategy's figure, over the samples in which it had a combination to try."""
    own = [getattr(a[number], what) for a in found if a[number].targets]
    return interval(np.array(own)) if len(own) > 1 else (float("nan"),) * 3
