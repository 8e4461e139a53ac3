"""The distribution of comparison vectors in one class, by a decomposable graph.

Every field has a table of its levels given those of its parents. A table is estimated from pairs that lack none of its
fields, smoothed towards the field's own distribution: where parents take levels that rarely occur together, the field
behaves as it does elsewhere. A field missing from a pair is summed out, so that a missing value adds nothing, while
the fields around it still depend on each other through it.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.fellegi_sunter.dependence.structure import EstimationMask, Structure, counted
from gemel.carole.fellegi_sunter.patterns import MISSING

BATCH = 4096
"""Patterns with missing fields evaluated at a time."""


@dataclass(frozen=True)
class Distribution:
    """P(comparison vector | class).

    Parameters
    ----------
    structure : Structure
    tables : tuple of ndarray of float64
        For each of the structure's families the probabilities of the field's levels given its parents': axis 0 is
        the field, the others the parents in order.
    """

    structure: Structure
    tables: tuple[NDArray[np.float64], ...]

    def log_probability(self, gamma: NDArray[np.int8]) -> NDArray[np.float64]:
        """Log probability of the present levels of each comparison vector: shape (n_patterns,)."""
        found = np.zeros(len(gamma))
        absent = gamma == MISSING
        group = absent @ (np.uint64(1) << np.arange(gamma.shape[1], dtype=np.uint64))
        order = np.argsort(group, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(gamma) else ():
            mask = absent[rows[0]]
            if not mask.any():
                found[rows] = self._of_complete(gamma[rows])
                continue
            for first in range(0, len(rows), BATCH):
                part = rows[first : first + BATCH]
                found[part] = self._of_incomplete(gamma[part], mask)
        return found

    def _of_complete(self, gamma: NDArray[np.int8]) -> NDArray[np.float64]:
        total = np.zeros(len(gamma))
        with np.errstate(divide="ignore"):
            for (v, parents), table in zip(self.structure.families, self.tables, strict=True):
                total += np.log(table)[tuple(gamma[:, q] for q in (v, *parents))]
        return total

    def _of_incomplete(self, gamma: NDArray[np.int8], absent: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Vectors that lack the same fields."""
        total = np.zeros(len(gamma))
        needed: set[int] = set()
        kept = []
        # From the last field back: a missing field on which no other depends sums to 1.
        for (v, parents), table in zip(reversed(self.structure.families), reversed(self.tables), strict=True):
            if absent[v] and v not in needed:
                continue
            needed.update(q for q in parents if absent[q])
            kept.append((v, parents, table))
        operands: list[object] = []
        letters = {q: string.ascii_lowercase[i] for i, q in enumerate(sorted(needed))}
        subscripts = []
        for v, parents, table in kept:
            involved = (v, *parents)
            lacking = [q for q in involved if absent[q]]
            if not lacking:
                with np.errstate(divide="ignore"):
                    total += np.log(table)[tuple(gamma[:, q] for q in involved)]
                continue
            there = [i for i, q in enumerate(involved) if not absent[q]]
            moved = np.moveaxis(table, there, range(len(there)))
            operands.append(moved[tuple(gamma[:, involved[i]] for i in there)] if there else moved)
            subscripts.append(("Z" if there else "") + "".join(letters[q] for q in lacking))
        if operands:
            if not any("Z" in subscript for subscript in subscripts):
                return total
            summed = np.einsum(",".join(subscripts) + "->Z", *operands, optimize="greedy")  # type: ignore[call-overload]
            with np.errstate(divide="ignore"):
                total += np.log(summed)
        return total


def estimated(
    structure: Structure,
    gamma: NDArray[np.int8],
    weight: NDArray[np.float64],
    alone: NDArray[np.float64],
    n_levels: Sequence[int],
    pseudo_pairs: float = 1.0,
    estimation_mask: EstimationMask | None = None,
    sampled: NDArray[np.float64] | None = None,
    scale: float = 1.0,
    rng: np.random.Generator | None = None,
) -> Distribution:
    """The distribution with a given graph, estimated from expected numbers of pairs.

    Parameters
    ----------
    structure : Structure
    gamma : ndarray of int8, shape (n_patterns, n_fields)
    weight : ndarray of float64, shape (n_patterns,)
        Expected pairs of the class by pattern.
    alone : ndarray of float64, shape (n_fields, n_levels)
        Marginal distribution of each field: that of a field without parents, and the one towards which the others
        are smoothed.
    n_levels : sequence of int
    pseudo_pairs : float
        Weight of `alone` in a field's distribution given its parents' levels, in pairs as they were counted.
    estimation_mask : EstimationMask, optional
        Which patterns may identify which fields; None: each of all.
    sampled : ndarray of float64, shape (n_patterns,), optional
        Of the pairs of each pattern, those that sampled ones stand for; None: all were counted.
    scale : float
        Pairs that a sampled one stands for.
    rng : numpy.random.Generator, optional
        Draws each table from its Dirichlet posterior, of which the table is otherwise the mean.

    Notes
    -----
    A pseudo-pair weighs as much as a pair of the same parents' levels does on average: 1 where all of them were
    counted, `scale` where all were sampled. O(n_patterns) per field.
    """

    def mean_weight(pairs: NDArray[np.float64], involved: tuple[int, ...]) -> NDArray[np.float64] | float:
        if sampled is None:
            return 1.0
        total = pairs.sum(axis=0, keepdims=True)
        drawn = counted(involved, gamma, sampled, n_levels, estimation_mask).sum(axis=0, keepdims=True)
        # Where no pair has these levels of the parents, one may have been missed by the sample.
        return np.where(total > 0, 1.0 + (scale - 1.0) * drawn / np.where(total > 0, total, 1.0), scale)

    def table(
        involved: tuple[int, ...], towards: NDArray[np.float64], rng: np.random.Generator | None = None
    ) -> NDArray[np.float64]:
        pairs = counted(involved, gamma, weight, n_levels, estimation_mask)
        smooth = pairs + pseudo_pairs * mean_weight(pairs, involved) * towards
        if rng is not None:
            smooth = np.where(smooth > 0, np.maximum(rng.standard_gamma(smooth), 1e-100), 0.0)
        total = smooth.sum(axis=0, keepdims=True)
        return np.asarray(np.where(total > 0, smooth / np.where(total > 0, total, 1.0), 1.0 / len(smooth)))

    tables = []
    for v, parents in structure.families:
        own = alone[v, : n_levels[v]]
        if not parents:
            tables.append(own)
            continue
        towards = own.reshape(-1, *[1] * len(parents))
        if len(parents) > 1:
            # Each parent separately supplies the estimate for levels that rarely occur together.
            for i, parent in enumerate(parents):
                single = table((v, parent), own[:, None])
                shape = [1] * len(parents)
                shape[i] = n_levels[parent]
                ratio = np.divide(single, own[:, None], out=np.zeros_like(single), where=own[:, None] > 0)
                towards = towards * ratio.reshape(-1, *shape)
            towards = towards / np.maximum(towards.sum(axis=0, keepdims=True), 1e-300)
        tables.append(table((v, *parents), towards, rng))
    return Distribution(structure, tuple(tables))
