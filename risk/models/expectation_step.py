"""The expectation step of EM on a junction tree, with everything that an iteration does not change prepared once.

Which cells of a clique agree with which record, and which of them meet in a separator, depends on the tree and on what
is known of the records. Probabilities change from step to step: a step multiplies and sums them by prepared numbers of
rows, where message passing with `Factor` would join and sort the rows again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import parameter
from gemel.risk.arrays import Codes, Integers
from gemel.risk.models.counts import distinct_rows
from gemel.risk.models.factors import Factor, matching_rows
from gemel.risk.models.graphs import members
from gemel.risk.models.inference import patterns
from gemel.risk.models.junction_trees import JunctionTree

BATCH_ROWS = 2**22

Values = NDArray[np.float64]


@dataclass(frozen=True)
class AgreeingCells:
    """The cells of a clique that agree with each record.

    `cell`, `record` (int64, shape (n_rows,)): numbers of the clique's cells and of the records, a row for each pair of
    them.
    """

    cell: Integers
    record: Integers


class ExpectationStep:
    """Distributions of cliques given what is known of some records.

    `cliques`: each clique's cells, among which are all that may have a probability; `records` (int32, shape (n_records,
    n_variables)): -1 is missing.

    Memory and a step's cost are proportional to the cells of cliques that agree with each record, summed over cliques
    and records. Of more than `BATCH_ROWS` in a clique, part after part is prepared again in every step.
    """

    def __init__(self, tree: JunctionTree, cliques: Sequence[Factor], records: Codes) -> None:
        self._tree, self._cliques, self._records = tree, cliques, records
        self._order = list(tree.walk(0))
        # A clique's cells by those of the separator above it.
        self._above = [np.zeros(0, dtype=np.int64)] * len(cliques)
        for c, parent in self._order:
            columns = self._shared(c, c, parent)
            self._above[c] = distinct_rows(cliques[c].cells[:, columns], [cliques[c].levels[i] for i in columns])[1]
        self._batches = _batches(cliques, records)
        self._prepared = [self._part(batch) for batch in self._batches] if len(self._batches) == 1 else []

    def expected(self, values: Sequence[Values], weights: Values) -> tuple[list[Values], float]:
        """Each clique's expected counts given what is known of the records, and the log likelihood of that.

        `values`: probabilities of each clique's cells; `weights` (float64, shape (n_records,)).
        """
        counts = [np.zeros(len(value)) for value in values]
        log_likelihood = 0.0
        for batch, cells, given, probability in self.given(values):
            if (probability <= 0).any():
                raise parameter(
                    "records",
                    "the model excludes a record",
                    f"{int((probability <= 0).sum())} with probability 0",
                    "use a positive prior precision",
                )
            log_likelihood += float(weights[batch] @ np.log(probability))
            for c, rows in enumerate(cells):
                weighted = given[c] * weights[batch][rows.record]
                counts[c] += _sums(rows.cell, weighted, len(counts[c]))
        return counts, log_likelihood

    def given(self, values: Sequence[Values]) -> Iterator[tuple[slice, list[AgreeingCells], list[Values], Values]]:
        """Each clique's distribution given what is known of each record, some records at a time.

        Yields their slice; of each clique the agreeing cells, whose records are numbered from the slice's first; the
        probabilities of these, 0 for a record of probability 0; the probability of what is known of each record.
        """
        potentials = [
            _over(value, _sums(above, value, len(value))[above])
            for value, above in zip(values, self._above, strict=True)
        ]
        for batch, part in self._parts():
            held, probability = part.passed(potentials)
            given = [_over(value, probability[rows.record]) for value, rows in zip(held, part.cells, strict=True)]
            yield batch, part.cells, given, probability

    def _shared(self, of: int, c: int, parent: int) -> list[int]:
        """Which columns of a clique are in the separator between a clique and its parent."""
        separator = self._tree.cliques[c] & self._tree.cliques[parent] if parent >= 0 else 0
        return self._cliques[of].columns(list(members(separator)))

    def _parts(self) -> Iterator[tuple[slice, _Part]]:
        if self._prepared:
            yield from zip(self._batches, self._prepared, strict=True)
        else:
            for batch in self._batches:
                yield batch, self._part(batch)

    def _part(self, batch: slice) -> _Part:
        records = self._records[batch]
        cells = [_agreeing(factor, records) for factor in self._cliques]
        edges = []
        for c, parent in reversed(self._order):
            if parent < 0:
                continue
            ends = [
                np.column_stack(
                    [self._cliques[at].cells[:, self._shared(at, c, parent)][cells[at].cell], cells[at].record]
                )
                for at in (c, parent)
            ]
            levels = [self._cliques[c].levels[i] for i in self._shared(c, c, parent)]
            first, number = distinct_rows(np.concatenate(ends), [*levels, len(records)])
            edges.append(_Edge(c, parent, number[: len(ends[0])], number[len(ends[0]) :], len(first)))
        return _Part(cells, edges, len(records))


@dataclass(frozen=True)
class _Edge:
    """For each row of a clique and of its parent, which of the separator's cells with which record it holds."""

    clique: int
    parent: int
    below: Integers
    above: Integers
    size: int


@dataclass(frozen=True)
class _Part:
    """The agreeing cells of all cliques, and the edges from the leaves to the root, which is the first clique."""

    cells: list[AgreeingCells]
    edges: list[_Edge]
    n_records: int

    def passed(self, potentials: Sequence[Values]) -> tuple[list[Values], Values]:
        """The joint probability of each row and what is known of its record, and that of the latter alone."""
        held = [value[rows.cell] for value, rows in zip(potentials, self.cells, strict=True)]
        upward = []
        for edge in self.edges:
            message = _sums(edge.below, held[edge.clique], edge.size)
            held[edge.parent] *= message[edge.above]
            upward.append(message)
        for edge, message in zip(reversed(self.edges), reversed(upward), strict=True):
            downward = _over(_sums(edge.above, held[edge.parent], edge.size), message)
            held[edge.clique] *= downward[edge.below]
        return held, _sums(self.cells[0].record, held[0], self.n_records)


def _sums(number: Integers, values: Values, size: int) -> Values:
    """The sum of the values that have each number from 0 to `size` - 1."""
    return np.bincount(number, values, minlength=size).astype(np.float64, copy=False)


def _over(above: Values, below: Values) -> Values:
    """A quotient, 0/0 being 0."""
    return np.divide(above, below, out=np.zeros_like(above), where=below != 0)


def _agreeing(factor: Factor, records: Codes) -> AgreeingCells:
    """Records are joined with cells by which of the clique's variables they have."""
    own = records[:, factor.variables]
    cells, numbers = [], []
    for rows, observed in patterns(own):
        columns = list(members(observed))
        levels = [factor.levels[q] for q in columns]
        left, right = matching_rows(factor.cells[:, columns], own[rows][:, columns], levels)
        cells.append(left)
        numbers.append(rows[right])
    return AgreeingCells(np.concatenate(cells), np.concatenate(numbers))


def completions(records: Codes, levels: Sequence[int]) -> Values:
    """How many complete cells agree with each record."""
    return np.asarray(np.where(records < 0, np.array(levels), 1).astype(np.float64).prod(axis=1))


def _batches(cliques: Sequence[Factor], records: Codes) -> list[slice]:
    """Parts of the records, in their order, so small that no clique's rows outgrow `BATCH_ROWS`."""
    rows = np.zeros(len(records))
    for factor in cliques:
        rows = np.maximum(
            rows, np.minimum(completions(records[:, factor.variables], factor.levels), len(factor.values))
        )
    part = (np.cumsum(rows) // BATCH_ROWS).astype(np.int64)
    edges = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(records)]
    return [slice(a, b) for a, b in pairwise(edges) if b > a]
