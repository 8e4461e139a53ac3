"""Keys redrawn or swapped before anything is recoded: the new values, who is still right, and what is lost by it.

Values of keys changed at random: PRAM with its matrix, and swapping of values between records.

A matrix here is ``theta[observed, true]``, columns summing to 1, as in `identification.misclassification`, which makes
that of swapping. Values are numbers from 0, missing ones (-1) stay as they are. All take a generator: whoever knows its
seed can undo what was changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemel.common.errors import parameter
from gemel.risk.arrays import Codes, Floats, Integers, Mask
from gemel.risk.identification.coding import Counts
from gemel.risk.identification.misclassification import check_matrix
from gemel.risk.lattice_search import Node
from gemel.risk.protection.changes import Change, Methods
from gemel.risk.protection.hierarchies import whole_numbers
from gemel.risk.protection.key_table import KeyTable


def pram_matrix(counts: ArrayLike, rate: float) -> Floats:
    """A matrix by which a value is redrawn with probability `rate` from all values by their shares in the file.

    ``(1 - rate) I + rate p 1'`` leaves the expected counts as they are, so it is invariant by itself.
    """
    n = np.asarray(counts, dtype=np.float64)
    _require_rate("--pram", rate)
    if n.ndim != 1 or len(n) < 2 or n.sum() <= 0 or (n < 0).any():
        raise parameter("counts", "at least two values and some records are needed")
    p = n / n.sum()
    return np.asarray((1.0 - rate) * np.eye(len(n)) + rate * p[:, None])


def neighbour_matrix(values: int, rate: float) -> Floats:
    """A matrix by which one of ordered values moves to a neighbour with probability `rate`, half to each side."""
    _require_rate("--pram", rate)
    theta = np.eye(values) * (1.0 - rate)
    for k in range(values):
        around = [j for j in (k - 1, k + 1) if 0 <= j < values]
        theta[around, k] += rate / len(around)
    return theta


def invariant_matrix(theta: ArrayLike, counts: ArrayLike) -> Floats:
    r"""A matrix made of `theta` that leaves the expected counts as they are: theta, then its reversal by Bayes' rule.

    .. math:: R_{ik} = \sum_j \frac{\theta_{ji} p_i}{\sum_l \theta_{jl} p_l}\, \theta_{jk}

    `counts` are the records with each true value.

    References
    ----------
    .. [1] Gouweleeuw, Kooiman, Willenborg and De Wolf, Post randomisation for statistical disclosure control, 1998.
    """
    p = np.asarray(counts, dtype=np.float64)
    t = check_matrix(theta, len(p), "PRAM")
    observed = t @ p
    back = np.divide(t * p, observed[:, None], out=np.zeros_like(t), where=observed[:, None] > 0)
    result = back.T @ t
    # A value that no one has goes wherever theta sends it, and comes back only as a value that someone has.
    return np.asarray(result / result.sum(axis=0))


def pram(values: Codes, theta: ArrayLike, generator: np.random.Generator) -> Codes:
    """Each value redrawn from the column of `theta` of its true value, int32 of shape (n_records,)."""
    t = check_matrix(theta, int(np.asarray(theta).shape[0]), "PRAM")
    cumulative = np.cumsum(t, axis=0)
    there = values >= 0
    drawn = generator.random(len(values))
    found = values.copy()
    own = (drawn[there][None, :] > cumulative[:, values[there]]).sum(axis=0)
    found[there] = np.minimum(own, len(t) - 1)
    return found


def swap(values: Codes, rate: float, generator: np.random.Generator, strata: Counts | None = None) -> Codes:
    """Values of a share of the records, drawn at random, put in a random order among them, within strata."""
    _require_rate("--swap", rate)
    found = values.copy()
    groups = np.zeros(len(values), dtype=np.int64) if strata is None else strata
    order = np.argsort(groups, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        own = members[values[members] >= 0]
        chosen = generator.permutation(own)[: round(len(own) * rate)]
        found[chosen] = values[generator.permutation(chosen)]
    return found


def _require_rate(option: str, rate: float) -> None:
    if not 0.0 <= rate <= 1.0:
        raise parameter(option, "a rate lies from 0 to 1", f"{rate:g}")


def grouped_matrix(theta: ArrayLike, groups: ArrayLike, counts: ArrayLike) -> Floats:
    """The matrix between groups of values, where true values occur in a group as in the file."""
    t = np.asarray(theta, dtype=np.float64)
    own, n = np.asarray(groups), np.asarray(counts, dtype=np.float64)
    size = int(own.max()) + 1
    into = np.zeros((size, len(own)))
    into[own, np.arange(len(own))] = 1.0
    whole = into @ n
    shares = np.where(whole[own] > 0, n / np.where(whole[own] > 0, whole[own], 1.0), 1.0 / np.bincount(own)[own])
    return np.asarray(into @ t @ (into * shares).T)


# For each key that is changed, the joint law of published and true values says both. The probability that published
# keys are true, theta_jj of Shlomo's equations, multiplies the chance of a match; what the published value leaves
# open of the true one is information lost, in bits as for recoding.

Diagonal = Callable[[int, Codes], Floats]


@dataclass(frozen=True, eq=False)
class PerturbedKeys:
    """Keys after values were redrawn or swapped: the true values, and those that are published.

    `joints` has by the number of each changed key the expected shares of published and true values that occur together,
    ``[published, true]``, summing to 1.
    """

    original: Codes = field(repr=False)
    codes: Codes = field(repr=False)
    changes: tuple[Change, ...] = ()
    joints: dict[int, Floats] = field(default_factory=dict, repr=False)
    _diagonals: dict[int, Diagonal] = field(default_factory=dict, repr=False)

    def kept(self, node: Node, suppressed: Mask) -> Floats | None:
        """Probability that each record's published keys are its true ones, shape (n_records,); None if nothing changed.

        The product of the diagonals of the matrices between the groups of the node; a suppressed value is not wrong.
        """
        if not self._diagonals:
            return None
        found = np.ones(len(self.codes))
        for q, diagonal in self._diagonals.items():
            own = diagonal(node[q], self.codes[:, q])
            found *= np.where(suppressed[:, q] | (self.codes[:, q] < 0), 1.0, own)
        return found


def perturbed_keys(
    table: KeyTable, methods: Methods, strata: Integers | None, generator: np.random.Generator
) -> PerturbedKeys:
    """Redraw the values of keys, and swap them within strata."""
    codes = table.codes.copy()
    changes: list[Change] = []
    joints: dict[int, Floats] = {}
    diagonals: dict[int, Diagonal] = {}
    for name, rate in methods.pram.items():
        q = table.names.index(name)
        counts = table.value_counts[q]
        ordered = whole_numbers(table.hierarchies[q].levels[0]) is not None and len(counts) > 2
        # A number that moves stays near; a category goes wherever others are.
        theta = invariant_matrix(neighbour_matrix(len(counts), rate), counts) if ordered else pram_matrix(counts, rate)
        codes[:, q] = pram(table.codes[:, q], theta, generator)
        parameter = {"rate": rate, "to": "neighbouring values" if ordered else "all values", "invariant": True}
        changes.append(Change(name, "PRAM", parameter, _different(table, codes, q)))
        joints[q] = theta * (counts / counts.sum())
        diagonals[q] = _diagonals(table, q, theta)
    for name, rate in methods.swap.items():
        q = table.names.index(name)
        codes[:, q] = swap(table.codes[:, q], rate, generator, strata)
        number = _different(table, codes, q)
        changes.append(Change(name, "swapping", {"rate": rate, "within": list(methods.within)}, number))
        joints[q] = _swapped_joint(table, q, rate, strata)
        diagonals[q] = _shares(table, q, rate, strata)
    return PerturbedKeys(table.codes, codes, tuple(changes), joints, diagonals)


def _diagonals(table: KeyTable, q: int, theta: Floats) -> Diagonal:
    def of(level: int, values: Codes) -> Floats:
        groups = table.hierarchies[q].groups[level]
        return np.asarray(np.diag(grouped_matrix(theta, groups, table.value_counts[q]))[groups[values]])

    return of


def _shares(table: KeyTable, q: int, rate: float, strata: Integers | None) -> Diagonal:
    """Who takes part receives a value of the stratum at random: theta is 1 - rate + rate times the group's share."""
    where = np.zeros(len(table.codes), dtype=np.int64) if strata is None else strata

    def of(level: int, values: Codes) -> Floats:
        groups = table.hierarchies[q].groups[level]
        counts = _by_stratum(table, q, where, groups)
        total = counts.sum(axis=1)[where]
        return np.asarray(1.0 - rate + rate * counts[where, groups[values]] / np.maximum(total, 1))

    return of


def _swapped_joint(table: KeyTable, q: int, rate: float, strata: Integers | None) -> Floats:
    where = np.zeros(len(table.codes), dtype=np.int64) if strata is None else strata
    values = np.arange(len(table.hierarchies[q].levels[0]))
    counts = _by_stratum(table, q, where, values).astype(np.float64)
    others = counts.T @ (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))
    return np.asarray(((1.0 - rate) * np.diag(counts.sum(axis=0)) + rate * others) / counts.sum())


def _by_stratum(table: KeyTable, q: int, where: Integers, groups: NDArray[np.integer]) -> Integers:
    """True values by stratum, shape (n_strata, n_groups)."""
    size = int(groups.max()) + 1
    there = table.codes[:, q] >= 0
    shape = int(where.max()) + 1, size
    place = where[there] * size + groups[table.codes[there, q]]
    return np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)


def _different(table: KeyTable, codes: Codes, q: int) -> int:
    return int((codes[:, q] != table.codes[:, q]).sum())
