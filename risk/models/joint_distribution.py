"""The joint distribution of two files' variables as a linkage leaves it: in codes, to be kept, loaded and queried.

It is what attribution and identification risk of the combined output are computed from. Codes mean nothing by
themselves; the custodian's service puts the labels in before it writes the file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np

from gemel.common.errors import GemelError, parameter
from gemel.risk.arrays import Codes, Floats
from gemel.risk.models.counts import distinct_rows
from gemel.risk.models.factors import Factor
from gemel.risk.models.fitted import FittedModel
from gemel.risk.models.graphs import Graph, mask_of
from gemel.risk.models.junction_trees import JunctionTree

FORMAT = 1
MAX_VARIABLES = 128
MAX_ROWS = 2**22  # rows of all cliques together

_NO_COUNT = 1e-6  # number of people in a cell below which it is taken for empty: what the arithmetic leaves of 0

_AGREE = 1e-6  # how far cliques may differ on a separator, or from sum 1

Holder = Literal["alice", "bob", "both"]


@dataclass(frozen=True)
class JointVariable:
    """A variable of the joint distribution.

    `holder`: whose file has it; `levels`: codes it can take, 0 to ``levels - 1``; `coded`: whether the codes stand for
    the categories of a specification's variable; otherwise they are the distinct values of a compared field, which no
    one can name; `labels`: what the codes stand for, in their order, where that is known.
    """

    name: str
    holder: Holder
    levels: int
    coded: bool = True
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True)
class JointDistribution:
    """Probabilities of what both files' variables are in one person.

    `variables`: in the order of the model's columns; `model`: the decomposable model. Among people whom both files
    have: it was estimated from pairs weighted by their match probability; `records`: weight of the pairs (and training
    records) that it was estimated from: the number of observations behind it; `precision`: total prior precision of
    posterior means, in observations; None: not known, or the distribution was not estimated.
    """

    variables: tuple[JointVariable, ...]
    model: FittedModel = field(repr=False)
    records: float
    precision: float | None = None

    def __post_init__(self) -> None:
        reported = tuple((variable.name, variable.levels) for variable in self.variables)
        if reported != tuple(zip(map(str, self.model.names), self.model.levels, strict=True)):
            raise parameter("joint distribution", "the variables must be the model's, in its order")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(variable.name for variable in self.variables)

    def held_by(self, holder: Holder) -> tuple[str, ...]:
        """Names of the variables of one file, or of both."""
        return tuple(variable.name for variable in self.variables if variable.holder == holder)

    def table(self, names: Sequence[str], given: Mapping[Hashable, int] | None = None) -> Floats:
        """Joint probabilities of some variables, given the codes of others; an axis for each, in their order.

        By the junction tree: the full table is never made.
        """
        return self.model.marginal(list(names), given)

    def conditional(self, target: str, codes: Codes) -> Floats:
        """Distribution of a variable for many people, given what is known of each.

        `target`: name of the variable; its own column of `codes` is not looked at; `codes` (int32, shape (n_people,
        n_variables)): -1 where nothing is known. Returns float64, shape (n_people, n_levels): each row sums to 1, or is
        0 where the distribution excludes what is known.

        A pass of the distinct rows through the junction tree for each level of the variable.
        """
        (column,) = self.model.positions([target])
        known = self.model.checked(codes, missing=True)
        known[:, column] = -1
        levels = self.variables[column].levels
        if not len(known):
            return np.zeros((0, levels))
        first, inverse = distinct_rows(known + 1, [n + 1 for n in self.model.levels])
        distinct = known[first]
        logs = np.empty((len(distinct), levels))
        for level in range(levels):
            distinct[:, column] = level
            logs[:, level] = self.model.log_marginal(distinct)
        largest = logs.max(axis=1, keepdims=True)
        found = np.exp(logs - np.where(np.isfinite(largest), largest, 0.0))
        total = found.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(found, total, out=np.zeros_like(found), where=total > 0)[inverse])

    def without_prior(self) -> Self | None:
        """The relative frequencies behind posterior means: what anyone can compute who knows how they were smoothed.

        Returns None where nothing was smoothed as far as is known, or nothing is left.

        A cell of a clique of `size` cells has the probability (n + precision / size) / (records + precision).
        """
        precision = self.precision
        if self.model.estimate != "posterior mean" or not self.records > 0 or precision is None:
            return None
        whole = self.records + precision
        cliques = []
        for factor in self.model.cliques:
            size = math.prod(factor.levels)
            counts = factor.values * whole - precision / size
            held = counts > _NO_COUNT
            if not held.any():
                return None
            kept = counts[held] / counts[held].sum()
            cliques.append(Factor(factor.variables, factor.levels, factor.cells[held], kept))
        model = FittedModel(self.model.graph, self.model.levels, self.model.tree, tuple(cliques), "maximum likelihood")
        return replace(self, model=model, precision=None)

    def to_json(self) -> str:
        """The distribution as JSON; `from_json` reads it back exactly."""
        document = {
            "format": FORMAT,
            "records": self.records,
            **_stated({"precision": self.precision}),
            "estimate": self.model.estimate,
            "variables": [_stated(asdict(variable)) for variable in self.variables],
            "edges": [list(edge) for edge in self.model.graph.edges],
            "cliques": [
                {
                    "variables": list(factor.variables),
                    "cells": factor.cells.tolist(),
                    "probabilities": factor.values.tolist(),
                }
                for factor in self.model.cliques
            ],
        }
        return json.dumps(document, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        try:
            return cls._read(json.loads(text))
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError):
            raise _malformed("another structure") from None

    @classmethod
    def _read(cls, document: Any) -> Self:
        if document["format"] != FORMAT:
            raise _malformed(f"format {document['format']!r:.20}")
        variables = tuple(_variable(item) for item in document["variables"])
        if not 1 <= len(variables) <= MAX_VARIABLES or len({v.name for v in variables}) != len(variables):
            raise _malformed(f"{len(variables)} variables, or names that repeat")
        records = float(document["records"])
        if not (records >= 0 and math.isfinite(records)):
            raise _malformed("a number of records below 0")
        precision = document.get("precision")
        if precision is not None and not (float(precision) > 0 and math.isfinite(float(precision))):
            raise _malformed("a prior precision that is not above 0")
        names = [variable.name for variable in variables]
        edges = [(names[v], names[w]) for v, w in document["edges"] if 0 <= v < w]
        graph = Graph.from_edges(names, edges)
        graph.require_decomposable("joint distribution")
        tree = JunctionTree.of(graph)
        factors = {mask_of(map(int, item["variables"])): item for item in document["cliques"]}
        if set(factors) != set(tree.cliques) or len(document["cliques"]) != len(tree.cliques):
            raise _malformed("cliques that are not the graph's")
        if sum(len(item["probabilities"]) for item in factors.values()) > MAX_ROWS:
            raise _malformed(f"more than {MAX_ROWS} rows")
        levels = tuple(variable.levels for variable in variables)
        cliques = tuple(_factor(factors[clique], levels) for clique in tree.cliques)
        model = FittedModel(graph, levels, tree, cliques, str(document["estimate"])[:40])
        for (_, b), separator in zip(tree.edges, model.separators, strict=True):
            other = cliques[b].marginal(separator.variables)
            if np.abs(other.look_up(separator.cells) - separator.values).max(initial=0) > _AGREE:
                raise _malformed("cliques that disagree on what they share")
        return cls(variables, model, records, None if precision is None else float(precision))


def _stated(members: Mapping[str, Any]) -> dict[str, Any]:
    """What is known: a member that is None is left out."""
    return {name: value for name, value in members.items() if value is not None}


def _variable(item: Mapping[str, Any]) -> JointVariable:
    name, holder, levels = item["name"], item["holder"], item["levels"]
    labels = item.get("labels")
    sound = isinstance(name, str) and 0 < len(name) <= 64 and holder in ("alice", "bob", "both")
    if not sound or not isinstance(levels, int) or not 2 <= levels <= 2**31:
        raise _malformed("a variable without name, holder or levels")
    if labels is not None and (len(labels) != levels or not all(isinstance(label, str) for label in labels)):
        raise _malformed("labels of another number than the levels")
    return JointVariable(name, holder, levels, bool(item["coded"]), None if labels is None else tuple(labels))


def _factor(item: Mapping[str, Any], all_levels: tuple[int, ...]) -> Factor:
    variables = tuple(int(v) for v in item["variables"])
    if list(variables) != sorted(set(variables)) or not all(0 <= v < len(all_levels) for v in variables):
        raise _malformed("a clique of other variables")
    levels = tuple(all_levels[v] for v in variables)
    values = np.array(item["probabilities"], dtype=np.float64)
    cells = np.array(item["cells"], dtype=np.int64).reshape(len(values), len(variables))
    if ((cells < 0) | (cells >= np.array(levels))).any() or len(np.unique(cells, axis=0)) != len(cells):
        raise _malformed("cells outside the levels, or twice")
    if not (np.isfinite(values).all() and (values >= 0).all() and abs(values.sum() - 1) < _AGREE):
        raise _malformed("a clique whose probabilities do not sum to 1")
    return Factor(variables, levels, cells.astype(np.int32), values)


def _malformed(got: str) -> GemelError:
    return parameter(
        "joint distribution",
        "not a joint distribution as a run leaves it",
        got,
        "run the same version of Gemel on both sides",
    )
