r"""A Markov chain over one-to-one linkages: the reference for belief propagation, and the source of draws.

A linkage Z has probability proportional to ``exp(prior[n]) * product of the weights of its n links``. One kind of move
does what adding, removing, swapping and exchanging along paths and cycles do. A record of A, drawn at random, lets go
of its partner and chooses among its candidates and none, with probabilities proportional to weight times `pull` of the
candidate. If the candidate is taken, whoever had it is put out and chooses in turn, until one chooses a free
candidate, none, or the partner that the first let go; a chain that comes to a record it has passed is given up.

The reverse of a chain puts the same records of A back, each choosing with the same total weight, so weights and totals
cancel and what is left of the Metropolis-Hastings ratio is

.. math:: \exp(prior[n'] - prior[n]) \, c(\text{let go}) / c(\text{taken last}),

with c the pull, 1 for none. A cycle is therefore always accepted. Any pull is right; that of belief propagation, one
over a candidate's summed claims, makes choices likely where they belong.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from gemel.common.arrays import F64, I64

MAX_CHAIN = 100
"""Records in a chain of exchanges before it is given up."""


class Choices(NamedTuple):
    """What each record of A can choose, arranged for the sampler."""

    first: I64  # (n_rows + 1,): edges of each record of A, which are consecutive
    column: I64  # (n_edges,)
    weight: F64  # (n_edges,): of a link, beside 1 for no link
    pull: F64  # (n_columns,)
    reach: F64  # (n_edges,): summed weight times pull of a record's edges up to this one
    prior: F64  # logarithm at 0, 1, ... links, apart from what the weights contain; its length bounds the links


def choices(first: I64, column: I64, weight: F64, pull: F64, prior: F64) -> Choices:
    reach = np.empty(len(weight))
    _sum_up(first, weight * pull[column], reach)
    return Choices(first, column, weight, pull, reach, prior)


@njit(nogil=True, cache=True)
def _sum_up(first: I64, weight: F64, reach: F64) -> None:
    for i in range(len(first) - 1):
        total = 0.0
        for e in range(first[i], first[i + 1]):
            total += weight[e]
            reach[e] = total


@njit(nogil=True, cache=True)
def chain_move(
    c: Choices, edge_of_row: I64, row_of_column: I64, n: int, rng: np.random.Generator, rows: I64, edges: I64
) -> int:
    """One chain of exchanges; returns the number of links after it.

    `edge_of_row` (int64, shape (n_rows,)): edge by which each record of A is linked, or -1. Changed in place.
    `row_of_column` (int64, shape (n_columns,)): the record of A that has each record of B, or -1. Changed in place.
    `rows`, `edges` (int64, shape (MAX_CHAIN,)): working space.
    """
    start = rng.integers(0, len(edge_of_row))
    let_go = -1 if edge_of_row[start] < 0 else c.column[edge_of_row[start]]
    row, length, taken = start, 0, -1
    while True:
        if length == MAX_CHAIN:
            return n
        begin, end = c.first[row], c.first[row + 1]
        total = 1.0 if end == begin else 1.0 + c.reach[end - 1]
        x = rng.random() * total - 1.0
        rows[length] = row
        if x < 0.0 or end == begin:
            edges[length] = -1
            length += 1
            break
        e = begin + np.searchsorted(c.reach[begin:end], x, side="right")
        e = min(e, end - 1)
        edges[length] = e
        length += 1
        column = c.column[e]
        if column == let_go:
            taken = column
            break
        holder = row_of_column[column]
        if holder < 0:
            taken = column
            break
        for k in range(length):
            if rows[k] == holder:
                return n
        row = holder
    after = n
    if let_go != taken:
        after = n + (1 if taken >= 0 else 0) - (1 if let_go >= 0 else 0)
        if after >= len(c.prior):
            return n
        log_ratio = c.prior[after] - c.prior[n]
        if let_go >= 0:
            log_ratio += np.log(c.pull[let_go])
        if taken >= 0:
            log_ratio -= np.log(c.pull[taken])
        if log_ratio < 0.0 and rng.random() >= np.exp(log_ratio):
            return n
        if let_go >= 0:
            row_of_column[let_go] = -1
    for k in range(length):
        edge_of_row[rows[k]] = edges[k]
        if edges[k] >= 0:
            row_of_column[c.column[edges[k]]] = rows[k]
    return after


@njit(nogil=True, cache=True)
def sweep(c: Choices, edge_of_row: I64, row_of_column: I64, n: int, rng: np.random.Generator) -> int:
    """As many chains as there are records of A; returns the number of links."""
    rows, edges = np.empty(MAX_CHAIN, dtype=np.int64), np.empty(MAX_CHAIN, dtype=np.int64)
    for _ in range(len(edge_of_row)):
        n = chain_move(c, edge_of_row, row_of_column, n, rng, rows, edges)
    return n


@njit(nogil=True, cache=True)
def add_conditionals(c: Choices, edge_of_row: I64, row_of_column: I64, n: int, total: F64) -> None:
    """Add to `total` the probability of each link given the links of all other records of A.

    Averaged over a chain these have the same mean as the links themselves and less variance.
    """
    for i in range(len(edge_of_row)):
        others = n - 1 if edge_of_row[i] >= 0 else n
        if others + 1 >= len(c.prior):
            continue
        more = np.exp(c.prior[others + 1] - c.prior[others])
        free = 1.0
        for e in range(c.first[i], c.first[i + 1]):
            holder = row_of_column[c.column[e]]
            if holder < 0 or holder == i:
                free += c.weight[e] * more
        for e in range(c.first[i], c.first[i + 1]):
            holder = row_of_column[c.column[e]]
            if holder < 0 or holder == i:
                total[e] += c.weight[e] * more / free


@njit(nogil=True, cache=True)
def average_links(c: Choices, likely: F64, sweeps: int, rng: np.random.Generator) -> F64:
    """Probability of each link, averaged over a chain; a quarter more sweeps come first.

    `likely` (float64, shape (n_edges,)): the chain starts with each record's edge above one half, as far as it is free.

    O(sweeps * n_edges).
    """
    edge_of_row = np.full(len(c.first) - 1, -1, dtype=np.int64)
    row_of_column = np.full(len(c.pull), -1, dtype=np.int64)
    n = 0
    for i in range(len(edge_of_row)):
        for e in range(c.first[i], c.first[i + 1]):
            if likely[e] > 0.5 and edge_of_row[i] < 0 and row_of_column[c.column[e]] < 0:
                edge_of_row[i] = e
                row_of_column[c.column[e]] = i
                n += 1
    total = np.zeros(len(c.weight))
    for k in range(sweeps + sweeps // 4):
        n = sweep(c, edge_of_row, row_of_column, n, rng)
        if k >= sweeps // 4:
            add_conditionals(c, edge_of_row, row_of_column, n, total)
    return total / sweeps
