"""An extract like a census: eleven authorities, sex, age, marital status, ethnic group, economic activity.

Made here, from no census: sizes and shapes are those that Shlomo (2009) prints, the shares are chosen so that most
combinations are empty and many small.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NAMES = ("authority", "sex", "age", "marital", "ethnic", "activity")
LEVELS = (11, 2, 24, 6, 17, 10)


def extract(n: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """People: level numbers, shape (n, 6).

    Age depends on authority, marital status on age and sex, ethnic group on authority, activity on age and sex; each a
    little on chance. Ages are groups of four years.
    """
    size = np.linspace(0.6, 1.5, 11)
    authority = rng.choice(11, n, p=size / size.sum())
    sex = (rng.random(n) < 0.51).astype(np.int64)
    groups = np.arange(24)
    by_authority = np.array([np.exp(-(((groups - peak) / 9.0) ** 2)) for peak in rng.uniform(6, 13, 11)])
    by_authority *= 1.0 / (1.0 + np.exp((groups - 20) / 1.2))
    age = _drawn(by_authority / by_authority.sum(axis=1, keepdims=True), authority, rng)
    married = 1.0 / (1.0 + np.exp(-(groups - 6) / 1.5))
    widowed = 0.7 / (1.0 + np.exp(-(groups - 18) / 1.3))
    by_age_sex = np.empty((48, 6))
    for a in groups:
        for s in (0, 1):
            wed, lost = married[a], widowed[a] * (1.0 if s else 0.45)
            parts = np.array([1.02 - wed, wed * 0.62, wed * 0.12, wed * 0.12, wed * 0.03, wed * lost]) + 1e-4
            by_age_sex[2 * a + s] = parts / parts.sum()
    marital = _drawn(by_age_sex, 2 * age + sex, rng)
    rare = 0.9 * 0.55 ** np.arange(17) + 2e-4
    by_place = np.array([rng.dirichlet(60.0 * rare / rare.sum() + 0.02) for _ in range(11)])
    ethnic = _drawn(by_place, authority, rng)
    work = np.exp(-(((groups - 10) / 5.0) ** 4))
    retired = 1.0 / (1.0 + np.exp(-(groups - 15.5) / 0.7))
    student = np.exp(-groups / 4.0)
    by_age = np.empty((48, 10))
    for a in groups:
        for s in (0, 1):
            at_work = work[a] * np.array([0.5, 0.18 if s else 0.04, 0.03, 0.06 if s else 0.12, 0.04])
            other = np.array(
                [student[a], 0.05 * student[a], 0.12 * work[a] * (1.5 if s else 0.2), 0.05, 2.0 * retired[a]]
            )
            parts = np.concatenate([at_work, other]) + 5e-4
            by_age[2 * a + s] = parts / parts.sum()
    activity = _drawn(by_age, 2 * age + sex, rng)
    return np.column_stack([authority, sex, age, marital, ethnic, activity]).astype(np.int32)


def _drawn(shares: NDArray[np.float64], given: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """One level for each person, by the distribution of what is given."""
    cumulative = shares.cumsum(axis=1)
    values = np.zeros(len(given), dtype=np.int64)
    chance = rng.random(len(given))
    for group in range(len(shares)):
        own = np.flatnonzero(given == group)
        values[own] = np.searchsorted(cumulative[group], chance[own], side="right")
    return np.minimum(values, shares.shape[1] - 1)
