"""A population, a release of it with errors, and people whom an intruder knows."""

from __future__ import annotations

import numpy as np

from gemel.carole.intruder import AttackedFiles

NAMES = ("name", "birthday", "town", "job", "income", "car")
LEVELS = (100, 70, 5, 4, 4, 3)
KEYS = (0, 1, 2)


def population(n: int, rng: np.random.Generator) -> np.ndarray:
    """Job is known to the intruder, income and car only to the release, and all three go together."""
    job = rng.integers(0, 4, n)
    income = np.where(rng.random(n) < 0.85, job, rng.integers(0, 4, n))
    car = np.where(rng.random(n) < 0.85, np.minimum(job, 2), rng.integers(0, 3, n))
    town = np.where(rng.random(n) < 0.5, job, rng.integers(0, 5, n))
    name = np.minimum(rng.geometric(0.08, n) - 1, 99)
    return np.stack([name, rng.integers(0, 70, n), town, job, income, car], axis=1).astype(np.int32)


def attacked(n: int, seed: int, error: float = 0.25) -> AttackedFiles:
    """Half of the people are known, 60 % are in the release; released keys are wrong with probability `error`."""
    rng = np.random.default_rng(seed)
    people = population(n, rng)
    known, released = rng.permutation(n)[: n // 2], rng.permutation(n)[: 6 * n // 10]
    a, b = people[known].copy(), people[released].copy()
    a[:, 4:] = -1
    b[:, 3] = -1
    for q in KEYS:
        wrong = rng.random(len(b)) < error
        b[wrong, q] = rng.integers(0, LEVELS[q], int(wrong.sum()))
    place = np.full(n, -1)
    place[released] = np.arange(len(released))
    return AttackedFiles(NAMES, LEVELS, a, b, KEYS, place[known])
