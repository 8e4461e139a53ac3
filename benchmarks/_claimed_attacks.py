"""Files that break what the estimates of risk take for granted, and what the program claims and prints of each.

Every file is read as a user's would be, without its population; the truth is counted among the people who exist. What
is printed are the codes of the notes and warnings that `gemel risk identify` prints with these figures; those on the
models that it fits beside them are left out.

How far a file can tell the shape of the law behind calibrated risk, and what is claimed with one shape or another.

Each file is fitted with three shapes held fixed, log a = c0 + c1 eta, everything else free. Where their likelihoods
are nearly the same and their claims are not, the file does not say which is right: whatever is claimed is the prior's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._figures import held
from benchmarks._public_populations import ADULT, EUSILC, EUSILC_P, SES, PublicPopulation
from gemel.common.errors import GemelError
from gemel.risk.identification.assessment.beside_keys import BesideKeys
from gemel.risk.identification.assessment.wording import CALIBRATED_TAU2, entry
from gemel.risk.identification.calibration.crowding import ShapePrior, fit_crowding, neighbourhood
from gemel.risk.identification.calibration.records import calibrated_risk, expected_reciprocal_with_company
from gemel.risk.identification.file_level import file_dis
from gemel.risk.identification.key_file import KeyFile

SAMPLES = 10
HEAD = (
    "| file | sample uniques | tau2 | claimed | off | interval holds | tau2 at most, over the truth | holds |"
    " Pr(CM given UM) | DIS | interval holds | notes and warnings |",
    "|---|---|---|---|---|---|---|---|---|---|---|---|",
)

_FRACTION = 0.05
_TWICE = 0.05  # of the records
_SURVEY = 10_000  # people of whom a population is copied
_LONG = 50  # hours of work in a week
_SHARES = (0.03, 0.3)  # of the many and of the few, where people are sampled unequally


@dataclass(frozen=True, eq=False)
class AttackedFile:
    """A file as it comes to the program, and the people who exist, with every column.

    `fraction` is what is stated; weights and the column of the unit are there where they are given.
    """

    records: pl.DataFrame
    people: pl.DataFrame
    keys: tuple[str, ...]
    fraction: float
    weights: NDArray[np.float64] | None = None
    unit: str | None = None


@dataclass(frozen=True, eq=False)
class AttackedClaims:
    """What is claimed of one file, what is true, and what is noted.

    `tau2` and `dis` have estimate, ends of the interval, truth; `largest` is the largest tau2 whatever the law.
    """

    uniques: int
    tau2: NDArray[np.float64]
    dis: NDArray[np.float64]
    largest: float
    noted: tuple[str, ...]


def attacked_claims(own: AttackedFile, seed: int) -> AttackedClaims | None:
    """Assess a file; None where it has too few pairs to be calibrated."""
    keys = list(own.keys)
    file = KeyFile.from_columns({key: own.records[key] for key in keys}, own.fraction)
    kept = [name for name in own.records.columns if own.records[name].n_unique() < len(own.records)]
    beside = BesideKeys(
        unit=None if own.unit is None else own.records[own.unit],
        rows=own.records.select(kept).hash_rows(seed=0).to_numpy(),
        n_columns=len(kept),
    )
    file = beside.with_units(file)
    try:
        risk = calibrated_risk(file, weights=own.weights, seed=seed)
    except GemelError:
        return None
    dis = file_dis(file, weights=own.weights)
    found: dict[str, Any] = {
        "file": {},
        "warnings": file.warnings() + risk.warnings(dis),
        "measures": [entry(CALIBRATED_TAU2, risk.tau2.value, (risk.tau2.low, risk.tau2.high))],
        "highest_risk_records": [],
    }
    beside.assess(file, own.weights, {}, found, lambda found, what, make: make())
    alike = own.people.select(keys).group_by(keys).len()
    F = own.records.select(keys)[file.uniques].join(alike, on=keys, how="left", maintain_order="left")["len"].to_numpy()
    return AttackedClaims(
        len(F),
        np.array([risk.tau2.value, risk.tau2.low, risk.tau2.high, (1.0 / F).sum()]),
        np.array([dis.value, dis.low, dis.high, len(F) / F.sum()]),
        risk.largest.tau2,
        tuple(sorted({warning.code for warning in found["warnings"]})),
    )


def two_crowds(alone: int, several: int, size: int, rng: np.random.Generator) -> pl.DataFrame:
    """People alone in their combination, and combinations of `size`, with nothing in the keys that sets them apart."""
    levels = 80
    cells = rng.choice(levels**3, alone + several, replace=False)
    people = np.repeat(cells, np.where(np.arange(len(cells)) < alone, 1, size))
    digits = {"a": people // levels**2, "b": people // levels % levels, "c": people % levels}
    return pl.DataFrame({key: own.astype(str) for key, own in digits.items()})


def attack_rows(samples: int, seed: int) -> Iterator[str]:
    """A line of the table for each attack."""
    for number, (name, draw) in enumerate(_attacks()):
        drawn = [attacked_claims(draw(np.random.default_rng((seed, number, r))), r) for r in range(samples)]
        found = [claims for claims in drawn if claims is not None]
        left_out = len(drawn) - len(found)
        yield _row(name + (f"; {left_out} files with too few pairs left out" if left_out else ""), found)


def _row(name: str, found: list[AttackedClaims]) -> str:
    tau2, dis = (np.array([getattr(claims, measure) for claims in found]) for measure in ("tau2", "dis"))
    off = tau2[:, 0] / tau2[:, 3] - 1.0
    error = float(np.std(off, ddof=1)) / np.sqrt(len(found)) if len(found) > 1 else float("nan")
    largest = np.array([claims.largest for claims in found]) / tau2[:, 3]
    codes = Counter(code for claims in found for code in claims.noted)
    noted = ", ".join(f"`{code}` {number} of {len(found)}" for code, number in sorted(codes.items()))
    return (
        f"| {name} | {np.mean([claims.uniques for claims in found]):,.0f} | {tau2[:, 3].mean():.4g} |"
        f" {tau2[:, 0].mean():.4g} | {100 * off.mean():+.0f} ± {100 * error:.0f} % |"
        f" {held((tau2[:, 1] <= tau2[:, 3]) & (tau2[:, 3] <= tau2[:, 2]))} | {largest.mean():.2f} |"
        f" {held(largest >= 1.0)} | {dis[:, 3].mean():.4g} | {dis[:, 0].mean():.4g} |"
        f" {held((dis[:, 1] <= dis[:, 3]) & (dis[:, 3] <= dis[:, 2]))} | {noted or 'none'} |"
    )


def _attacks() -> Iterator[tuple[str, Callable[[np.random.Generator], AttackedFile]]]:
    """Each attack with its name and what draws a file."""
    studied = ((ADULT, "6 keys"), (EUSILC_P, "6 keys"))
    for population, keys in studied:
        people, own = _whole(population), population.keys[keys]
        name = f"{population.name}, {keys}, 5 %"
        others = len(people.columns) - len(own)
        yield f"{name}: nothing wrong", partial(_plain, people=people, keys=own)
        yield (
            f"{name}: one in 20 is in the file twice, {others or 'no'} columns beside the keys",
            partial(_twice, people=people, keys=own),
        )
        if population is ADULT:
            yield (
                f"{name}: one in 20 is in the file twice, with another `fnlwgt`",
                partial(_twice, people=people, keys=own, changed="fnlwgt"),
            )
        yield (f"{name}: the population is copies of {_SURVEY:,} people", partial(_copied, people=people, keys=own))
        for true in (0.025, 0.1):
            yield (
                f"{population.name}, {keys}, {100 * true:g} %, stated as 5 %",
                partial(_plain, people=people, keys=own, fraction=true),
            )
    unequal = (
        (EUSILC_P, "6 keys", "foreigners", pl.col("citizenship") != "1"),
        (ADULT, "6 keys", "those who work long hours", pl.col("hours_per_week").cast(pl.Float64) > _LONG),
    )
    for (population, keys, who, often), given in product(unequal, (False, True)):
        yield (
            f"{population.name}, {keys}: {who} sampled ten times as often, {'' if given else 'no '}weights",
            partial(_unequal, people=_whole(population), keys=population.keys[keys], often=often, given=given),
        )
    for (population, keys), given in product(((EUSILC, "6 keys"), (SES, "7 keys")), (False, True)):
        yield (
            f"{population.name}, {keys}, 10 % of {population.unit}, {'' if given else 'not '}given (kept out)",
            partial(_by_unit, population=population, keys=population.keys[keys], given=given),
        )
    crowds = two_crowds(5_000, 2_000, 20, np.random.default_rng(1))
    yield (
        "5,000 people alone, 2,000 combinations of 20, 5 %",
        partial(_plain, people=crowds, keys=tuple(crowds.columns)),
    )


def _whole(population: PublicPopulation) -> pl.DataFrame:
    return population.records().select(pl.all().cast(pl.String).fill_null("?"))


def _plain(
    rng: np.random.Generator, people: pl.DataFrame, keys: tuple[str, ...], fraction: float = _FRACTION
) -> AttackedFile:
    chosen = rng.choice(len(people), round(fraction * len(people)), replace=False)
    return AttackedFile(people[chosen], people, keys, _FRACTION)


def _copied(rng: np.random.Generator, people: pl.DataFrame, keys: tuple[str, ...]) -> AttackedFile:
    """A sample of a population as large as the true one, whose people are copies of some of these."""
    survey = people[rng.choice(len(people), _SURVEY, replace=False)]
    return _plain(rng, survey[rng.integers(0, _SURVEY, len(people))], keys)


def _twice(
    rng: np.random.Generator, people: pl.DataFrame, keys: tuple[str, ...], changed: str | None = None
) -> AttackedFile:
    """A sample of which some records come a second time, with another's value of a column that is no key or without."""
    records = people[rng.choice(len(people), round(_FRACTION * len(people)), replace=False)]
    again = records[rng.choice(len(records), round(_TWICE * len(records)), replace=False)]
    if changed is not None:
        again = again.with_columns(people[changed][rng.choice(len(people), len(again))].alias(changed))
    return AttackedFile(pl.concat([records, again]), people, keys, _FRACTION)


def _unequal(
    rng: np.random.Generator, people: pl.DataFrame, keys: tuple[str, ...], often: pl.Expr, given: bool
) -> AttackedFile:
    """Some are drawn more often than the others; without weights the file's share of the population is stated."""
    share = np.where(people.select(often).to_series().to_numpy(), _SHARES[1], _SHARES[0])
    chosen = np.flatnonzero(rng.random(len(people)) < share)
    weights = 1.0 / share[chosen]
    if given:
        return AttackedFile(people[chosen], people, keys, len(chosen) / float(weights.sum()), weights)
    return AttackedFile(people[chosen], people, keys, len(chosen) / len(people))


def _by_unit(
    rng: np.random.Generator, population: PublicPopulation, keys: tuple[str, ...], given: bool
) -> AttackedFile:
    people = _whole(population)
    assert population.unit is not None
    units = people[population.unit].unique(maintain_order=True)
    drawn = units[rng.choice(len(units), round(0.1 * len(units)), replace=False)]
    records = people.filter(pl.col(population.unit).is_in(drawn.implode()))
    return AttackedFile(records, people, keys, 0.1, unit=population.unit if given else None)


SHAPES = ((1.5, 0.2), (1.5, 0.4), (1.0, 0.4))
SHAPES_HEAD = (
    "| file | pairs | c0, c1 | below the likeliest of the three | within 2 of it | tau1 | off | tau2 | off |"
    " 50 riskiest: claimed, true |",
    "|---|---|---|---|---|---|---|---|---|---|",
)

_STUDIES: tuple[tuple[PublicPopulation, str, tuple[float, ...]], ...] = (
    (EUSILC_P, "6 keys", (0.01, 0.02, 0.05)),
    (ADULT, "5 keys", (0.02, 0.05)),
)
_FIXED = (0.01, 0.01)  # spread of a shape that is held
_HIGHEST = 50
_NEAR = 2.0  # log-likelihood


@dataclass(frozen=True, eq=False)
class ShapedClaims:
    """One file with each shape; claimed and true are tau1, tau2 and the mean chance of the 50 riskiest, by shape."""

    pairs: int
    log_likelihoods: NDArray[np.float64]
    claimed: NDArray[np.float64]
    true: NDArray[np.float64]


def shaped_claims(file: KeyFile) -> ShapedClaims:
    """Fit every shape to a file whose population is known."""
    sizes = file.population_sizes
    assert sizes is not None
    own = np.flatnonzero(file.counts == 1)
    F = sizes[own].astype(float)
    c = np.full(len(own), (1.0 - file.fraction) / file.fraction)
    predictors, counts = neighbourhood(file.table()), file.counts.astype(float)
    logs, claimed, true = [], [], []
    for shape in SHAPES:
        law = fit_crowding(predictors, counts, shape=ShapePrior(shape, _FIXED))
        mu, a = law.law(own)
        alone = (1.0 + c / (a / mu + 1.0)) ** -a
        correct = expected_reciprocal_with_company(np.ones(len(own), dtype=np.int64), mu, a, c)
        highest = np.argsort(-correct, kind="stable")[:_HIGHEST]
        logs.append(law.log_likelihood)
        claimed.append((alone.sum(), correct.sum(), correct[highest].mean()))
        true.append(((F == 1).sum(), (1.0 / F).sum(), (1.0 / F[highest]).mean()))
    return ShapedClaims(int((file.counts == 2).sum()), np.array(logs), np.array(claimed), np.array(true))


def shape_rows(samples: int, seed: int) -> Iterator[str]:
    """A line of the table for each file and shape."""
    for population, keys, fractions in _STUDIES:
        everyone = population.key_columns(keys)
        for fraction in fractions:
            seeds = [(seed, round(1000 * fraction), r) for r in range(samples)]
            found = [shaped_claims(_sample(everyone, fraction, own)) for own in seeds]
            yield from _rows(f"{population.name}, {keys}, {100 * fraction:g} %", found)


def _sample(everyone: pl.DataFrame, fraction: float, seed: tuple[int, ...]) -> KeyFile:
    chosen = np.random.default_rng(seed).choice(len(everyone), round(fraction * len(everyone)), replace=False)
    return KeyFile.from_columns(everyone[chosen].to_dict(), population=everyone.to_dict())


def _rows(name: str, found: list[ShapedClaims]) -> Iterator[str]:
    logs = np.array([claims.log_likelihoods for claims in found])
    below = logs.max(axis=1, keepdims=True) - logs
    claimed = np.mean([claims.claimed for claims in found], axis=0)
    true = np.mean([claims.true for claims in found], axis=0)
    pairs = np.mean([claims.pairs for claims in found])
    for q, (c0, c1) in enumerate(SHAPES):
        off = 100.0 * (claimed[q] / true[q] - 1.0)
        yield (
            f"| {name} | {pairs:,.0f} | {c0:g}, {c1:g} | {below[:, q].mean():.1f} |"
            f" {int((below[:, q] <= _NEAR).sum())} of {len(found)} | {true[q, 0]:.4g} | {off[0]:+.0f} % |"
            f" {true[q, 1]:.4g} | {off[1]:+.0f} % | {claimed[q, 2]:.3f}, {true[q, 2]:.3f} |"
        )
