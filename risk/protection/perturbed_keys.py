"""Keys redrawn or swapped before anything is recoded: the new values, who is still right, and what is lost by it.

For each key that is changed, the joint law of published and true values says both. The probability that published keys
are true, theta_jj of Shlomo's equations, multiplies the chance of a match; what the published value leaves open of the
true one is information lost, in bits as for recoding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gemel.risk.identification.coding import Codes
from gemel.risk.protection.changes import Change
from gemel.risk.protection.hierarchies import whole_numbers
from gemel.risk.protection.key_table import KeyTable, Node
from gemel.risk.protection.methods import Methods
from gemel.risk.protection.perturbation import (
    grouped_matrix,
    invariant_matrix,
    neighbour_matrix,
    pram,
    pram_matrix,
    swap,
)

Diagonal = Callable[[int, NDArray[np.int32]], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class PerturbedKeys:
    """Keys after values were redrawn or swapped.

    Parameters
    ----------
    original, codes : ndarray of int32, shape (n_records, n_keys)
        The true values, and those that are published.
    changes
        What was done.
    joints
        By the number of each changed key, the expected shares of published and true values that occur together,
        ``[published, true]``, summing to 1.
    """

    original: Codes = field(repr=False)
    codes: Codes = field(repr=False)
    changes: tuple[Change, ...] = ()
    joints: dict[int, NDArray[np.float64]] = field(default_factory=dict, repr=False)
    _diagonals: dict[int, Diagonal] = field(default_factory=dict, repr=False)

    def kept(self, node: Node, suppressed: NDArray[np.bool_]) -> NDArray[np.float64] | None:
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
    table: KeyTable, methods: Methods, strata: NDArray[np.int64] | None, generator: np.random.Generator
) -> PerturbedKeys:
    """Redraw and swap the values of keys.

    Parameters
    ----------
    strata : ndarray of int64, shape (n_records,), optional
        Of swapping.
    """
    codes = table.codes.copy()
    changes: list[Change] = []
    joints: dict[int, NDArray[np.float64]] = {}
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


def _diagonals(table: KeyTable, q: int, theta: NDArray[np.float64]) -> Diagonal:
    def of(level: int, values: NDArray[np.int32]) -> NDArray[np.float64]:
        groups = table.hierarchies[q].groups[level]
        return np.asarray(np.diag(grouped_matrix(theta, groups, table.value_counts[q]))[groups[values]])

    return of


def _shares(table: KeyTable, q: int, rate: float, strata: NDArray[np.int64] | None) -> Diagonal:
    """Who takes part receives a value of the stratum at random: theta is 1 - rate + rate times the group's share."""
    where = np.zeros(len(table.codes), dtype=np.int64) if strata is None else strata

    def of(level: int, values: NDArray[np.int32]) -> NDArray[np.float64]:
        groups = table.hierarchies[q].groups[level]
        counts = _by_stratum(table, q, where, groups)
        total = counts.sum(axis=1)[where]
        return np.asarray(1.0 - rate + rate * counts[where, groups[values]] / np.maximum(total, 1))

    return of


def _swapped_joint(table: KeyTable, q: int, rate: float, strata: NDArray[np.int64] | None) -> NDArray[np.float64]:
    where = np.zeros(len(table.codes), dtype=np.int64) if strata is None else strata
    values = np.arange(len(table.hierarchies[q].levels[0]))
    counts = _by_stratum(table, q, where, values).astype(np.float64)
    others = counts.T @ (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))
    return np.asarray(((1.0 - rate) * np.diag(counts.sum(axis=0)) + rate * others) / counts.sum())


def _by_stratum(table: KeyTable, q: int, where: NDArray[np.int64], groups: NDArray[np.integer]) -> NDArray[np.int64]:
    """True values by stratum, shape (n_strata, n_groups)."""
    size = int(groups.max()) + 1
    there = table.codes[:, q] >= 0
    shape = int(where.max()) + 1, size
    place = where[there] * size + groups[table.codes[there, q]]
    return np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)


def _different(table: KeyTable, codes: Codes, q: int) -> int:
    return int((codes[:, q] != table.codes[:, q]).sum())
