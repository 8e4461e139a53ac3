"""Attribution from records: k-anonymity, l-diversity, t-closeness, and what conditioning on the key variables reveals.

A class is the set of records that agree on the key variables. An intruder who knows a target's key values, and that the
target is in the file, learns the class's distribution of the sensitive variable: a value for certain (positive
attribution), a value ruled out (negative attribution), or one that nearly all share (approximate attribution).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats, Integers, Mask


@dataclass(frozen=True, eq=False)
class Classes:
    """Records grouped by their key values.

    `sizes` (int64, shape (n_classes,)); `sensitive` (int64, shape (n_classes, n_levels)): records of each class with
    each level of the sensitive variable.
    """

    sizes: Integers
    sensitive: Integers


def classes(keys: Integers, sensitive: Integers, levels: int | None = None) -> Classes:
    """Group records by key values and count the sensitive variable in each group.

    `keys` (int64, shape (n_records, n_keys)); `sensitive` (int64, shape (n_records,)): level numbers from 0.

    O(n log n).
    """
    if keys.ndim != 2 or sensitive.shape != (len(keys),) or len(keys) == 0:
        got = f"shapes {keys.shape} and {sensitive.shape}"
        raise parameter("", "one row of key values and one sensitive value are needed for each record", got)
    number = int(sensitive.max()) + 1 if levels is None else levels
    if (sensitive < 0).any() or (sensitive >= number).any():
        raise parameter("", "a sensitive value is outside its variable's levels")
    which = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1) if keys.shape[1] else np.zeros(len(keys), int)
    found = int(which.max()) + 1
    table = np.bincount(which * number + sensitive, minlength=found * number).reshape(found, number).astype(np.int64)
    return Classes(table.sum(axis=1), table)


def k_anonymity(groups: Classes) -> int:
    """Size of the smallest class."""
    return int(groups.sizes.min())


Diversity = Literal["distinct", "entropy", "recursive"]


def l_diversity(groups: Classes, kind: Diversity = "distinct") -> float:
    """The largest l for which the file is l-diverse: the smallest of `diversities`."""
    return float(diversities(groups.sensitive, kind).min())


def diversities(sensitive: Integers, kind: Diversity = "distinct", c: float = 1.0) -> Floats:
    """The largest l for which each class is l-diverse.

    ``distinct``: number of sensitive levels in the class. ``entropy``: exp(entropy). ``recursive``: the largest l such
    that the commonest level has fewer records than `c` times those of the l-th commonest and rarer ones together (0
    when not even l = 1 holds).

    `sensitive` (int64, shape (n_classes, n_levels)): records of each class with each level; no class is empty.

    Returns float64, shape (n_classes,).

    References
    ----------
    .. [1] Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, 2006.
    """
    if kind == "distinct":
        return np.asarray((sensitive > 0).sum(axis=1), dtype=np.float64)
    if kind == "entropy":
        shares = sensitive / sensitive.sum(axis=1, keepdims=True)
        logs = np.log(np.where(shares > 0, shares, 1.0))
        return np.asarray(np.exp(-(shares * logs).sum(axis=1)))
    ordered = -np.sort(-sensitive, axis=1)
    tails = np.cumsum(ordered[:, ::-1], axis=1)[:, ::-1]  # records of the l-th commonest level and all rarer
    holds = ordered[:, :1] < c * tails
    return np.asarray(np.cumprod(holds, axis=1).sum(axis=1), dtype=np.float64)


def t_closeness(groups: Classes, *, ordered: bool = False) -> float:
    """Largest distance of a class's sensitive distribution from the whole file's: the greatest of `distances`."""
    return float(distances(groups.sensitive, groups.sensitive.sum(axis=0), ordered=ordered).max())


def distances(sensitive: Integers, whole: Integers, *, ordered: bool = False) -> Floats:
    """Earth mover's distance of each class's sensitive distribution from the file's, shape (n_classes,).

    With all levels equally far apart, half the sum of absolute differences; with `ordered` levels 1/(m-1) apart, the
    mean absolute cumulative difference.

    `sensitive` (int64, shape (n_classes, n_levels)): records of each class with each level; no class is empty; `whole`
    (int64, shape (n_levels,)): records of the file with each level.

    References
    ----------
    .. [1] Li, Li and Venkatasubramanian, t-closeness, 2007.
    """
    difference = sensitive / sensitive.sum(axis=1, keepdims=True) - whole / whole.sum()
    if not ordered:
        return np.asarray(np.abs(difference).sum(axis=1) / 2.0)
    steps = sensitive.shape[1] - 1
    return np.asarray(np.abs(np.cumsum(difference, axis=1)[:, :-1]).sum(axis=1) / max(steps, 1))


@dataclass(frozen=True, eq=False)
class Attributions:
    """What the classes reveal, with numbers of records concerned.

    `positive` (bool, shape (n_classes,)): all records of the class share one sensitive level; `negative` (bool, shape
    (n_classes, n_levels)): a level that occurs in the file does not occur in the class; `approximate` (bool, shape
    (n_classes, n_levels)): the level's share in the class reaches the threshold, and exceeds its share in the file.
    """

    positive: Mask
    negative: Mask
    approximate: Mask
    groups: Classes

    def records(self, which: Mask) -> int:
        """Number of records in the classes chosen by a mask over classes, or over classes and levels."""
        chosen = which if which.ndim == 1 else which.any(axis=1)
        return int(self.groups.sizes[chosen].sum())


def attributions(groups: Classes, threshold: float = 0.9) -> Attributions:
    """Exact and approximate attributions that conditioning on the key variables makes."""
    if not 0.0 < threshold <= 1.0:
        raise parameter("", "the share threshold lies above 0, and at most at 1", str(threshold))
    counts = groups.sensitive
    occurs = counts.sum(axis=0) > 0
    positive = (counts > 0).sum(axis=1) == 1
    share, whole = counts / groups.sizes[:, None], counts.sum(axis=0) / groups.sizes.sum()
    approximate = (share >= threshold) & (share > whole)
    return Attributions(positive, (counts == 0) & occurs, approximate, groups)


def encode(columns: Sequence[Sequence[str]]) -> tuple[Integers, list[tuple[str, ...]]]:
    """Level numbers of text columns, shape (n_records, n_columns), and each column's levels in order."""
    codes, levels = [], []
    for column in columns:
        found, which = np.unique(np.asarray(column, dtype=object).astype(str), return_inverse=True)
        codes.append(which.reshape(-1))
        levels.append(tuple(str(x) for x in found))
    return np.stack(codes, axis=1).astype(np.int64), levels
