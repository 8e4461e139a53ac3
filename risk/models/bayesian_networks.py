"""Bayesian networks of categorical variables: read from the text of a .bif file, pruned, sampled, made decomposable."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tryst.common.errors import ErrorCode, TrystError
from tryst.risk.models.factors import Factor
from tryst.risk.models.fitted import FittedModel, calibrated
from tryst.risk.models.graphs import Graph
from tryst.risk.models.triangulation import moralise, triangulated

SUM_TOLERANCE = 1e-4


@dataclass(frozen=True)
class BayesianNetwork:
    """A directed acyclic graph with a conditional distribution for each variable.

    Parameters
    ----------
    names
        The variables.
    categories
        For each variable the names of its levels.
    parents
        For each variable the columns of its parents.
    tables
        For each variable its distribution: one axis for each parent in order, the last for the variable itself.
    """

    names: tuple[Hashable, ...]
    categories: tuple[tuple[str, ...], ...]
    parents: tuple[tuple[int, ...], ...]
    tables: tuple[NDArray[np.float64], ...] = field(repr=False)

    def __post_init__(self) -> None:
        for v, table in enumerate(self.tables):
            shape = tuple(len(self.categories[w]) for w in (*self.parents[v], v))
            if table.shape != shape or not np.isfinite(table).all() or (table < 0).any():
                raise TrystError(
                    ErrorCode.PARAMETER,
                    "a table needs a probability for each combination of parents and level",
                    where=f"variable {self.names[v]}",
                    got=f"shape {table.shape} for {shape}",
                )
            if (abs(table.sum(axis=-1) - 1) > SUM_TOLERANCE).any():
                raise TrystError(
                    ErrorCode.PARAMETER,
                    "probabilities must sum to 1",
                    where=f"variable {self.names[v]}",
                    got=f"a row with sum {float(table.sum(axis=-1).flat[np.argmax(abs(table.sum(axis=-1) - 1))]):.6g}",
                )
        # Printed probabilities such as .3333333 sum to 1 only nearly.
        object.__setattr__(self, "tables", tuple(table / table.sum(axis=-1, keepdims=True) for table in self.tables))
        _ = self.ordering

    @property
    def levels(self) -> tuple[int, ...]:
        """Levels of each variable."""
        return tuple(len(names) for names in self.categories)

    @property
    def edges(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """Pairs (parent, child)."""
        return tuple((self.names[p], self.names[v]) for v, above in enumerate(self.parents) for p in above)

    @property
    def parameters(self) -> int:
        """Free parameters."""
        return sum(table.size // table.shape[-1] * (table.shape[-1] - 1) for table in self.tables)

    @property
    def states(self) -> int:
        """Cells of the joint table."""
        return math.prod(self.levels)

    @property
    def ordering(self) -> tuple[int, ...]:
        """Parents before children; an error if there is a cycle."""
        order: list[int] = []
        while len(order) < len(self.names):
            ready = [v for v in range(len(self.names)) if v not in order and set(self.parents[v]) <= set(order)]
            if not ready:
                raise TrystError(ErrorCode.PARAMETER, "a Bayesian network must have no cycle", where="parents")
            order += ready
        return tuple(order)

    def pruned(self, kept: Iterable[Hashable]) -> BayesianNetwork:
        """The network without barren nodes: childless variables that are not to be kept, taken away again and again.

        The distribution of what is left is unchanged. Ancestors of a kept variable stay.
        """
        wanted = set(kept)
        unknown = wanted - set(self.names)
        if unknown:
            raise TrystError(
                ErrorCode.PARAMETER, "unknown variable", where="kept", got=repr(sorted(map(str, unknown))[0])
            )
        left = set(range(len(self.names)))
        while True:
            with_children = {p for v in left for p in self.parents[v]}
            barren = {v for v in left if v not in with_children and self.names[v] not in wanted}
            if not barren:
                break
            left -= barren
        order = sorted(left)
        return BayesianNetwork(
            tuple(self.names[v] for v in order),
            tuple(self.categories[v] for v in order),
            tuple(tuple(order.index(p) for p in self.parents[v]) for v in order),
            tuple(self.tables[v] for v in order),
        )

    def moral_graph(self) -> Graph:
        """The Markov graph: parents of a common child joined, directions dropped."""
        return moralise({name: [self.names[p] for p in self.parents[v]] for v, name in enumerate(self.names)})

    def model(self, graph: Graph | None = None) -> FittedModel:
        """The same distribution as a decomposable model, of a triangulation of the moral graph (minimal by default)."""
        graph = triangulated(self.moral_graph()) if graph is None else graph
        potentials = [Factor.from_table((*self.parents[v], v), table) for v, table in enumerate(self.tables)]
        return calibrated(graph, self.levels, potentials)

    def log_probability(self, cells: ArrayLike) -> NDArray[np.float64]:
        """Log joint probability of each given cell, shape (n_cells,)."""
        codes = np.asarray(cells)
        result = np.zeros(len(codes))
        with np.errstate(divide="ignore"):
            for v, table in enumerate(self.tables):
                result += np.log(table[tuple(codes[:, w] for w in (*self.parents[v], v))])
        return result

    def sample(self, size: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Independent records, parents drawn before their children, shape (size, n_variables)."""
        records = np.zeros((size, len(self.names)), dtype=np.int32)
        for v in self.ordering:
            given = self.tables[v][tuple(records[:, p] for p in self.parents[v])]
            cumulative = np.broadcast_to(given, (size, self.levels[v])).cumsum(axis=1)
            drawn = (rng.random(size)[:, None] * cumulative[:, -1:] >= cumulative).sum(axis=1)
            records[:, v] = np.minimum(drawn, self.levels[v] - 1)
        return records


_VARIABLE = re.compile(r"variable\s+(\S+)\s*\{(.*?)\}\s*;?[^{}]*\}", re.DOTALL)
_TYPE = re.compile(r"type\s+discrete\s*\[\s*(\d+)\s*\]\s*\{(.*)", re.DOTALL)
_PROBABILITY = re.compile(r"probability\s*\(([^)|]*)(?:\|([^)]*))?\)\s*\{(.*?)\}", re.DOTALL)
_ROW = re.compile(r"\(([^)]*)\)\s*([^;]*);")
_TABLE = re.compile(r"\btable\b\s*([^;]*);")


def read_bif(text: str) -> BayesianNetwork:
    """Read a network from the text of a .bif file (interchange format 0.15, discrete variables).

    Raises
    ------
    TrystError
        No variables; a distribution missing, incomplete or not summing to 1; an unknown variable or level.
    """
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    categories: dict[str, tuple[str, ...]] = {}
    for name, body in _VARIABLE.findall(text):
        found = _TYPE.search(body)
        levels = _words(found.group(2)) if found else []
        if found is None or len(levels) != int(found.group(1)) or len(levels) < 2:
            raise _mistake("a variable must be discrete with as many levels, two at least, as it declares", name)
        categories[name] = tuple(levels)
    if not categories:
        raise TrystError(ErrorCode.PARAMETER, "no variable is declared", where=".bif text")
    place = {name: v for v, name in enumerate(categories)}
    parents: dict[str, tuple[int, ...]] = {}
    tables: dict[str, NDArray[np.float64]] = {}
    for child, above, body in _PROBABILITY.findall(text):
        name = child.strip()
        given = _words(above)
        for variable in (name, *given):
            if variable not in place:
                raise _mistake("unknown variable", variable)
        parents[name] = tuple(place[variable] for variable in given)
        tables[name] = _read_table(name, given, categories, body)
    for name in categories:
        if name not in tables:
            raise _mistake("a variable has no distribution", name)
    return BayesianNetwork(
        tuple(categories),
        tuple(categories.values()),
        tuple(parents[name] for name in categories),
        tuple(tables[name] for name in categories),
    )


def _read_table(
    name: str, given: Sequence[str], categories: Mapping[str, tuple[str, ...]], body: str
) -> NDArray[np.float64]:
    shape = tuple(len(categories[variable]) for variable in (*given, name))
    table = np.full(shape, np.nan)
    if not given:
        found = _TABLE.search(body)
        if found:
            table[:] = _numbers(name, found.group(1), shape[-1])
    for levels, numbers in _ROW.findall(body):
        values = _words(levels)
        if len(values) != len(given) or any(x not in categories[v] for x, v in zip(values, given, strict=False)):
            raise _mistake("a row names levels that its parents do not have", name)
        at = tuple(categories[variable].index(x) for variable, x in zip(given, values, strict=True))
        table[at] = _numbers(name, numbers, shape[-1])
    if np.isnan(table).any():
        raise _mistake("a distribution must have one row for each combination of its parents' levels", name)
    return table


def _numbers(name: str, text: str, expected: int) -> list[float]:
    try:
        numbers = [float(word) for word in _words(text)]
    except ValueError:
        raise _mistake("a probability must be a number", name) from None
    if len(numbers) != expected:
        raise _mistake(f"a row must have {expected} probabilities", name)
    return numbers


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.strip().rstrip(",").split(",") if word.strip()]


def _mistake(what: str, name: str) -> TrystError:
    return TrystError(ErrorCode.PARAMETER, what, where=f".bif text, {name}")
