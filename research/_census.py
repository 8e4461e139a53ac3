"""A census-like population for the experiments on identification risk: people in households, sixteen variables.

The thesis used the 1991 Sample of Anonymised Records, which may not be passed on. This population has the same key
variables with the same numbers of levels (3,639,680,000 combinations of the twelve of its chapter 8, 564,000 of the
five of chapters 5 and 7) and is about as sparse, because people come in households: ages of parents and children,
tenure, cars and ethnic group go together. Every share in here is invented and rounded; only the dependence matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gemel.risk.identification.key_file import KeyFile
from gemel.risk.models.counts import total_by_row

LEVELS = {
    "AGE": 94,
    "ECONPRIM": 11,
    "ETHGROUP": 10,
    "LTILL": 2,
    "MSTATUS": 5,
    "SEX": 2,
    "BATH": 2,
    "CARS": 4,
    "TENURE": 10,
    "RESIDNTS": 11,
    "DEPCHILD": 5,
    "PENSINHH": 4,
    "COBIRTH": 42,
    "ECONSEC": 10,
    "FAMTYPE": 9,
    "SOCLASS": 9,
    "OCCPATN": 60,
}

FIVE = ("AGE", "SEX", "DEPCHILD", "ETHGROUP", "OCCPATN")
TWELVE = tuple(LEVELS)[:12]
EIGHT = TWELVE[:8]
SIXTEEN = tuple(LEVELS)[:16]

ORDERED = ("AGE", "CARS", "RESIDNTS", "DEPCHILD", "PENSINHH")

_ALONE, _SHARERS, _COUPLE, _FAMILY, _GROWN, _LONE, _EXTENDED = range(7)
_TYPES = np.array([0.27, 0.04, 0.27, 0.26, 0.08, 0.06, 0.02])
_ETHNIC = np.array([0.957, 0.005, 0.002, 0.002, 0.011, 0.011, 0.003, 0.003, 0.002, 0.004])
# Tenure: outright, mortgage, private furnished, private unfurnished, with job, association, council, new town, other x2
_TENURE = {
    "young": np.array([0.03, 0.6, 0.07, 0.04, 0.01, 0.02, 0.222, 0.003, 0.003, 0.002]),
    "middle": np.array([0.11, 0.705, 0.005, 0.01, 0.008, 0.01, 0.144, 0.004, 0.002, 0.002]),
    "old": np.array([0.58, 0.05, 0.003, 0.02, 0.003, 0.03, 0.306, 0.004, 0.002, 0.002]),
}


@dataclass(frozen=True, eq=False)
class Census:
    """People as level numbers, one column for each variable of `LEVELS`."""

    columns: dict[str, NDArray[np.int32]] = field(repr=False)

    def codes(self, names: Sequence[str]) -> NDArray[np.int32]:
        """The columns of some variables side by side."""
        return np.stack([self.columns[name] for name in names], axis=1)

    def sample(self, names: Sequence[str], fraction: float, rng: np.random.Generator) -> KeyFile:
        """A simple random sample as a release, with the population beside it."""
        return key_file_of(names, self.codes(names), [LEVELS[name] for name in names], fraction, rng)


def key_file_of(
    names: Sequence[str], codes: NDArray[np.int32], levels: Sequence[int], fraction: float, rng: np.random.Generator
) -> KeyFile:
    """A simple random sample of people as a release, with the population beside it."""
    cells, counts = total_by_row(codes, np.ones(len(codes)), list(levels))
    chosen = rng.permutation(len(codes))[: round(fraction * len(codes))]
    labels = tuple(tuple(str(k) for k in range(n)) for n in levels)
    return KeyFile(tuple(names), labels, codes[chosen], fraction, cells, counts.astype(np.int64))


def census(n: int, rng: np.random.Generator) -> Census:
    """Invent `n` people in households; the last household may be cut."""
    homes = n // 2 + 10
    kind = rng.choice(len(_TYPES), homes, p=_TYPES)
    head = _head_ages(kind, rng)
    home, age, female, role = _members(kind, head, rng)
    ethnic = rng.choice(10, homes, p=_ETHNIC)
    tenure = _tenures(head, kind, ethnic, rng)
    order = np.argsort(home, kind="stable")[:n]
    home, age, female, role = home[order], age[order], female[order], role[order]
    adults = np.bincount(home, weights=age >= 16, minlength=homes).astype(int)
    residents = np.bincount(home, minlength=homes)
    dependent = (role == 2) & (age < 18)
    children = np.bincount(home, weights=dependent, minlength=homes).astype(int)
    pensionable = age >= np.where(female, 60, 65)
    pensioners = np.bincount(home, weights=pensionable, minlength=homes).astype(int)
    men = np.bincount(home, weights=(age >= 16) & ~female & ~pensionable, minlength=homes).astype(int)
    wealth = rng.normal(0, 0.7, homes) + np.isin(tenure, [0, 1]) - 0.8 * np.isin(tenure, [5, 6])
    cars = np.clip(np.round(0.3 + 0.35 * adults + 0.45 * wealth + rng.normal(0, 0.15, homes)), 0, 3).astype(int)
    bath = (rng.random(homes) < np.select([tenure == 2, tenure == 3, tenure >= 7], [0.12, 0.04, 0.05], 0.001)).astype(
        int
    )
    own = rng.random(n) < 0.02
    mine = np.where(own, rng.choice(10, n, p=_ETHNIC), ethnic[home])
    work = _work(age, female, pensionable, dependent, wealth[home], rng)
    married = _marital(age, role, female, kind[home], rng)
    ill = rng.random(n) < np.where(
        work == 8, 0.85, np.clip(0.02 + (age / 95) ** 2.2 * 0.6 - 0.01 * wealth[home], 0.005, 1)
    )
    columns = {
        "AGE": np.minimum(age, 93),
        "ECONPRIM": work,
        "ETHGROUP": mine,
        "LTILL": ill,
        "MSTATUS": married,
        "SEX": female,
        "BATH": bath[home],
        "CARS": cars[home],
        "TENURE": tenure[home],
        "RESIDNTS": np.minimum(residents[home], 11) - 1,
        "DEPCHILD": np.minimum(children[home], 4),
        "PENSINHH": np.minimum(pensioners[home], 3),
        "COBIRTH": _birth(mine, age, rng),
        "ECONSEC": np.where(rng.random(n) < 0.06, rng.choice(10, n, p=_falling(10, 0.6)), 0),
        "FAMTYPE": _family(kind[home], role, married, children[home]),
        "SOCLASS": _class(work, female, wealth[home], rng),
        "OCCPATN": _pattern(adults, men, pensioners, rng)[home],
    }
    return Census({name: np.asarray(columns[name], dtype=np.int32) for name in LEVELS})


def _falling(n: int, factor: float) -> NDArray[np.float64]:
    weights = factor ** np.arange(n)
    return np.asarray(weights / weights.sum())


def _head_ages(kind: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Ages of reference persons by kind of household."""
    n = len(kind)
    old = rng.random(n) < np.select([kind == _ALONE, kind == _COUPLE], [0.52, 0.4], 0.0)
    young = rng.normal(
        np.select([kind == _SHARERS, kind == _COUPLE, kind == _FAMILY, kind == _GROWN], [26, 45, 37, 53], 40),
        np.select([kind == _SHARERS, kind == _FAMILY, kind == _GROWN], [7, 7, 6], 14),
    )
    lowest = np.select([kind == _GROWN, kind == _EXTENDED], [40, 35], 18)
    return np.where(old, np.clip(rng.normal(74, 7, n), 60, 97), np.clip(young, lowest, 80)).astype(int)


def _members(
    kind: NDArray[np.int64], head: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """Household, age, sex and role (0 reference person, 1 partner, 2 child, 3 other) of everyone."""
    n = len(kind)
    paired = np.isin(kind, [_COUPLE, _FAMILY, _EXTENDED]) | (kind == _GROWN) & (rng.random(n) < 0.75)
    head_female = rng.random(n) < np.select([paired, kind == _LONE, head > 65], [0.12, 0.9, 0.78], 0.47)
    young = np.select(
        [kind == _FAMILY, kind == _LONE, kind == _EXTENDED],
        [1 + rng.poisson(0.9, n), 1 + rng.poisson(0.6, n), rng.poisson(1.3, n)],
    )
    grown = np.where(np.isin(kind, [_GROWN, _EXTENDED]), 1 + (rng.random(n) < 0.3), 0)
    others = np.select([kind == _SHARERS, kind == _EXTENDED], [1 + rng.poisson(1.0, n), 1 + (rng.random(n) < 0.3)], 0)
    homes, ages, sexes, roles = [np.arange(n)], [head], [head_female], [np.zeros(n, dtype=int)]

    def join(at: NDArray[np.int64], age: NDArray[np.float64], female: NDArray[np.bool_], role: int) -> None:
        homes.append(at)
        ages.append(np.clip(np.round(age), 0, 97).astype(int))
        sexes.append(female)
        roles.append(np.full(len(at), role))

    at = np.flatnonzero(paired)
    partner = head[at] + np.where(head_female[at], 2, -2) + rng.normal(0, 3.5, len(at))
    join(at, np.maximum(partner, 17), ~head_female[at], 1)
    at = np.repeat(np.arange(n), young)
    at = at[head[at] >= 18]
    born = np.minimum(head[at] - 18 - rng.gamma(4, 2.2, len(at)), 17.4)
    join(at, np.maximum(born, rng.uniform(0, 6, len(at))), rng.random(len(at)) < 0.49, 2)
    at = np.repeat(np.arange(n), grown)
    join(at, np.maximum(head[at] - 20 - rng.gamma(4, 2, len(at)), 18), rng.random(len(at)) < 0.42, 2)
    at = np.repeat(np.arange(n), others)
    older = np.where(kind[at] == _EXTENDED, head[at] + 25, head[at]) + rng.normal(0, 5, len(at))
    join(at, np.maximum(older, 17), rng.random(len(at)) < np.where(kind[at] == _EXTENDED, 0.75, 0.45), 3)
    return np.concatenate(homes), np.concatenate(ages), np.concatenate(sexes), np.concatenate(roles)


def _tenures(
    head: NDArray[np.int64], kind: NDArray[np.int64], ethnic: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    found = np.zeros(len(head), dtype=int)
    group = np.select([head < 32, head < 62], ["young", "middle"], "old")
    for name, shares in _TENURE.items():
        at = np.flatnonzero(group == name)
        found[at] = rng.choice(10, len(at), p=shares)
    council = (rng.random(len(head)) < np.where(kind == _LONE, 0.45, np.where(ethnic == 1, 0.25, 0.02))) & (found < 6)
    return np.where(council, 6, np.where((kind == _SHARERS) & (rng.random(len(head)) < 0.5), 2, found))


def _work(
    age: NDArray[np.int64],
    female: NDArray[np.bool_],
    pensionable: NDArray[np.bool_],
    dependent: NDArray[np.bool_],
    wealth: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """0 child; full time, part time, employer, self-employed, scheme, unemployed, student, sick, retired, at home."""
    n = len(age)
    men = np.array([0.77, 0.01, 0.02, 0.06, 0.004, 0.09, 0.01, 0.03, 0.003, 0.003])
    women = np.array([0.38, 0.24, 0.004, 0.01, 0.002, 0.04, 0.01, 0.02, 0.004, 0.29])
    found = 1 + np.where(female, rng.choice(10, n, p=women), rng.choice(10, n, p=men))
    poor = (wealth < -1) & (rng.random(n) < 0.25) & np.isin(found, [1, 3, 4])
    found = np.where(poor, 6, found)
    found = np.where((age > 52) & (rng.random(n) < (age - 52) / 40), rng.choice([8, 9], n), found)
    found = np.where(pensionable, np.where(rng.random(n) < 0.93, 9, rng.choice([2, 4, 10], n)), found)
    student = (age < 23) & (rng.random(n) < np.select([age < 17, age < 18, age < 19], [0.8, 0.6, 0.4], 0.15))
    return np.where(age < 16, 0, np.where(student | dependent & (rng.random(n) < 0.6), 7, found))


def _marital(
    age: NDArray[np.int64],
    role: NDArray[np.int64],
    female: NDArray[np.bool_],
    kind: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Single, married, remarried, divorced, widowed."""
    n = len(age)
    paired = ((role <= 1) & np.isin(kind, [_COUPLE, _FAMILY, _EXTENDED])) | (role == 1)
    widowed = np.clip((age - 45) / 45, 0, 0.9) * np.where(female, 1.0, 0.6)
    divorced = np.where((age > 22) & (role != 2), np.where(kind == _LONE, 0.5, 0.22), 0.02)
    draw = rng.random(n)
    alone = np.where(draw < widowed, 4, np.where(draw < widowed + (1 - widowed) * divorced, 3, 0))
    remarried = rng.random(n) < np.clip((age - 25) / 250, 0, 0.12)
    cohabiting = rng.random(n) < np.clip(0.5 - (age - 18) / 40, 0.02, 0.5)
    return np.where(age < 16, 0, np.where(paired & ~cohabiting, 1 + remarried, alone))


def _birth(ethnic: NDArray[np.int64], age: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    n = len(ethnic)
    here = rng.random(n) < np.where(ethnic == 0, 0.965, np.clip(0.95 - age / 45, 0.03, 1))
    home = rng.choice(5, n, p=[0.93, 0.04, 0.02, 0.005, 0.005])
    own = 5 + (ethnic * 3 + rng.choice(3, n, p=[0.8, 0.15, 0.05])) % 37
    elsewhere = np.where((ethnic > 0) & (rng.random(n) < 0.85), own, 5 + rng.choice(37, n, p=_falling(37, 0.88)))
    return np.where(here, home, elsewhere)


def _family(
    kind: NDArray[np.int64], role: NDArray[np.int64], married: NDArray[np.int64], children: NDArray[np.int64]
) -> NDArray[np.int64]:
    couple = np.where(np.isin(married, [1, 2]) | (role == 2), 1, 3) + (children > 0)
    return np.select(
        [role == 3, kind <= _SHARERS, kind == _LONE, (kind == _GROWN) & (role == 2)], [0, 8, 5 + (role == 2), 7], couple
    )


def _class(
    work: NDArray[np.int64], female: NDArray[np.bool_], wealth: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Professional to unskilled, forces, not stated, none."""
    n = len(work)
    place = np.clip(np.round(3 - 0.9 * wealth + rng.normal(0, 1.3, n) - 0.4 * female), 0, 5).astype(int)
    never = np.isin(work, [0, 7, 10]) & (rng.random(n) < np.where(work == 0, 1.0, 0.7))
    return np.where(never, 8, np.where(rng.random(n) < 0.01, 6, np.where(rng.random(n) < 0.02, 7, place)))


def _pattern(
    adults: NDArray[np.int64], men: NDArray[np.int64], pensioners: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Who occupies a household, men and women below and people above pension age, and how densely: 12 times 5."""
    women = np.clip(adults - pensioners - men, 0, 1)
    composition = np.minimum(men, 2) + 3 * women + 6 * (pensioners > 0)
    density = np.clip(np.round(rng.normal(1.2 + 0.35 * adults, 0.9)), 0, 4).astype(int)
    return composition * 5 + density
