"""What analyses of the protected file give beside those of the original.

Analyses are of the values as published. A group of an integer key stands for the middle of its values; in tables a
group is spread evenly over its values; records with a suppressed value are left out, as an analyst would.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from gemel.common.errors import parameter
from gemel.risk.attribution.utility import hellinger
from gemel.risk.identification.coding import Codes
from gemel.risk.models.divergence import divergence_terms
from gemel.risk.protection.key_table import KeyTable, Node

_CELLS = 4_000_000  # of a two-way table


@dataclass(frozen=True)
class Moments:
    """A numeric variable before and after: means, standard deviations, records with a number."""

    name: str
    mean: tuple[float, float]
    deviation: tuple[float, float]
    records: tuple[int, int]


@dataclass(frozen=True)
class TableDistance:
    """Two-way table of two keys before and after: Hellinger distance (0 to 1), Jensen-Shannon divergence in bits."""

    names: tuple[str, str]
    hellinger: float
    jensen_shannon: float


@dataclass(frozen=True)
class Coefficient:
    """A least squares coefficient before and after, with standard errors."""

    name: str
    value: tuple[float, float]
    error: tuple[float, float]
    overlap: float


def moments(name: str, before: NDArray[np.float64], after: NDArray[np.float64]) -> Moments:
    """Means and standard deviations over the numbers there are."""
    both = [x[~np.isnan(x)] for x in (before, after)]
    mean = [float(x.mean()) if len(x) else float("nan") for x in both]
    spread = [float(x.std(ddof=1)) if len(x) > 1 else float("nan") for x in both]
    return Moments(name, (mean[0], mean[1]), (spread[0], spread[1]), (len(both[0]), len(both[1])))


def correlations(before: NDArray[np.float64], after: NDArray[np.float64]) -> list[tuple[int, int, float, float]]:
    """Correlation of every pair of columns before and after, over the records with both numbers."""
    found = []
    for i, j in combinations(range(before.shape[1]), 2):
        own = []
        for x in (before, after):
            there = ~np.isnan(x[:, [i, j]]).any(axis=1)
            a, b = x[there, i], x[there, j]
            flat = len(a) < 2 or a.std() == 0 or b.std() == 0
            own.append(float("nan") if flat else float(np.corrcoef(a, b)[0, 1]))
        found.append((i, j, own[0], own[1]))
    return found


def two_way_distances(
    before: KeyTable, after: KeyTable, node: Node, suppressed: NDArray[np.bool_]
) -> list[TableDistance]:
    """Distances of the two-way tables of every pair of keys; pairs of more than four million cells are left out."""
    published = np.where(suppressed, -1, after.at(node)).astype(np.int32)
    found = []
    for a, b in combinations(range(len(before.hierarchies)), 2):
        own = [before.hierarchies[q] for q in (a, b)]
        shape = [len(h.levels[0]) for h in own]
        if shape[0] * shape[1] > _CELLS:
            continue
        true = _table(before.codes[:, [a, b]], shape)
        groups = [h.groups[node[q]] for h, q in zip(own, (a, b), strict=True)]
        coarse = _table(published[:, [a, b]], [int(g.max()) + 1 for g in groups])
        spread = [1.0 / np.bincount(g)[g] for g in groups]
        given = coarse[np.ix_(groups[0], groups[1])] * np.outer(*spread)
        bits = float(divergence_terms(_shares(true), _shares(given)).sum())
        found.append(TableDistance((own[0].name, own[1].name), hellinger(true, given), bits))
    return found


def linear_regression(
    design: NDArray[np.float64], outcome: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coefficients and standard errors, over the rows without a missing number."""
    there = ~(np.isnan(design).any(axis=1) | np.isnan(outcome))
    x, y = design[there], outcome[there]
    freedom = len(y) - x.shape[1]
    if freedom < 1 or np.linalg.matrix_rank(x) < x.shape[1]:
        raise parameter(
            "--model",
            "the regression has terms that the file does not identify",
            f"{x.shape[1]} terms, {len(y)} records",
            "leave a term out, or give a key a coarser level",
        )
    inverse = np.linalg.inv(x.T @ x)
    beta = inverse @ (x.T @ y)
    variance = float(((y - x @ beta) ** 2).sum()) / freedom
    return np.asarray(beta), np.asarray(np.sqrt(variance * np.diag(inverse)))


def compared(
    names: list[str],
    before: tuple[NDArray[np.float64], NDArray[np.float64]],
    after: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> list[Coefficient]:
    """Coefficients beside each other, with the overlap of their intervals.

    References
    ----------
    .. [1] Karr et al., A framework for evaluating the utility of data altered to protect confidentiality, 2006.
    """
    z = float(ndtri(0.975))
    found = []
    for t, name in enumerate(names):
        (b, c), (e, g) = (before[0][t], after[0][t]), (before[1][t], after[1][t])
        common = min(b + z * e, c + z * g) - max(b - z * e, c - z * g)
        overlap = common / (4 * z * e) + common / (4 * z * g) if e > 0 and g > 0 else float(b == c)
        found.append(Coefficient(name, (float(b), float(c)), (float(e), float(g)), float(overlap)))
    return found


def _table(rows: Codes, shape: list[int]) -> NDArray[np.float64]:
    own = rows[(rows >= 0).all(axis=1)]
    return np.bincount(own[:, 0] * shape[1] + own[:, 1], minlength=shape[0] * shape[1]).reshape(shape).astype(float)


def _shares(table: NDArray[np.float64]) -> NDArray[np.float64]:
    total = table.sum()
    return np.asarray((table / total if total > 0 else np.full(table.shape, 1.0 / table.size)).ravel())
