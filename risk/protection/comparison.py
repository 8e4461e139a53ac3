"""Utility of a protected file: the same analyses of the original and of what is published, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from gemel.common.errors import GemelError, parameter
from gemel.risk.arrays import Codes, Floats, Integers, Mask
from gemel.risk.attribution.utility import hellinger
from gemel.risk.lattice_search import Node
from gemel.risk.models.queries import divergence_terms
from gemel.risk.protection.candidate import Candidate
from gemel.risk.protection.changes import numeric, without_missing_texts
from gemel.risk.protection.hierarchies import whole_numbers
from gemel.risk.protection.key_table import KeyTable
from gemel.risk.protection.request import Request

# What analyses of the protected file give beside those of the original.
#
# Analyses are of the values as published. A group of an integer key stands for the middle of its values; in tables a
# group is spread evenly over its values; records with a suppressed value are left out, as an analyst would.

_CELLS = 4_000_000  # of a two-way table


def moments(name: str, before: Floats, after: Floats) -> dict[str, Any]:
    """Means, standard deviations and records with a number, before and after, over the numbers there are."""
    both = [x[~np.isnan(x)] for x in (before, after)]
    return {
        "name": name,
        "mean": [float(x.mean()) if len(x) else float("nan") for x in both],
        "deviation": [float(x.std(ddof=1)) if len(x) > 1 else float("nan") for x in both],
        "records": [len(x) for x in both],
    }


def correlations(names: Sequence[str], before: Floats, after: Floats) -> list[dict[str, Any]]:
    """Correlation of every pair of columns before and after, over the records with both numbers."""
    found = []
    for pair in combinations(range(len(names)), 2):
        own = []
        for x in (before, after):
            a, b = x[~np.isnan(x[:, pair]).any(axis=1)][:, pair].T
            flat = len(a) < 2 or a.std() == 0 or b.std() == 0
            own.append(float("nan") if flat else float(np.corrcoef(a, b)[0, 1]))
        found.append({"names": [names[i] for i in pair], "before": own[0], "after": own[1]})
    return found


def two_way_distances(before: KeyTable, after: KeyTable, node: Node, suppressed: Mask) -> list[dict[str, Any]]:
    """Hellinger distance (0 to 1) and Jensen-Shannon divergence (bits) of the two-way table of every pair of keys.

    Pairs of more than four million cells are left out.
    """
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
        names = [h.name for h in own]
        found.append({"names": names, "hellinger": hellinger(true, given), "jensen_shannon": bits})
    return found


def linear_regression(design: Floats, outcome: Floats) -> tuple[Floats, Floats]:
    """Coefficients and standard errors, over the rows without a missing number."""
    there = ~(np.isnan(design).any(axis=1) | np.isnan(outcome))
    x, y = design[there], outcome[there]
    freedom = len(y) - x.shape[1]
    if freedom < 1 or np.linalg.matrix_rank(x) < x.shape[1]:
        what, got = "the regression has terms that the file does not identify", f"{x.shape[1]} terms, {len(y)} records"
        raise parameter("--model", what, got, "leave a term out, or give a key a coarser level")
    inverse = np.linalg.inv(x.T @ x)
    beta = inverse @ (x.T @ y)
    variance = float(((y - x @ beta) ** 2).sum()) / freedom
    return np.asarray(beta), np.asarray(np.sqrt(variance * np.diag(inverse)))


def compared(names: list[str], before: tuple[Floats, Floats], after: tuple[Floats, Floats]) -> list[dict[str, Any]]:
    """Coefficients and their standard errors beside each other, with the overlap of their intervals.

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
        value, error = [float(b), float(c)], [float(e), float(g)]
        found.append({"name": name, "value": value, "error": error, "overlap": float(overlap)})
    return found


def _table(rows: Codes, shape: list[int]) -> Floats:
    own = rows[(rows >= 0).all(axis=1)]
    return np.bincount(own[:, 0] * shape[1] + own[:, 1], minlength=shape[0] * shape[1]).reshape(shape).astype(float)


def _shares(table: Floats) -> Floats:
    total = table.sum()
    return np.asarray((table / total if total > 0 else np.full(table.shape, 1.0 / table.size)).ravel())


@dataclass(frozen=True, eq=False)
class _File:
    """A file as it is analysed: its columns, and of its keys those that have numbers, the codes, and which are hidden;
    keys stand at a node, as numbers in tables at another one in the original."""

    frame: pl.DataFrame
    table: KeyTable
    numbered: Mapping[str, int]
    node: Node
    hidden: Mask

    def number(self, name: str, node: Node | None = None) -> Floats:
        """A numeric column; of an integer key the middles of its groups, NaN where missing or suppressed."""
        if name not in self.numbered:
            return numeric(self.frame, [name], "--numbers")[:, 0]
        q = self.numbered[name]
        h, level = self.table.hierarchies[q], (self.node if node is None else node)[q]
        middles = h.numbers(level)
        assert middles is not None  # noqa: S101 - `numbered` holds those that have numbers
        own = np.where(self._gone(q), -1, h.groups[level][self.table.codes[:, q]])
        return np.append(middles, np.nan)[own]

    def outcome(self, name: str) -> Floats:
        if name in self.numbered:
            return self.number(name)
        if name in self.table.names:
            raise parameter(f"--model, {name}", "the outcome of the regression is a key of categories")
        text = self.frame[name].cast(pl.String)
        values = text.drop_nulls().unique().sort().to_list()
        if len(values) == 2 and whole_numbers(values) is None:
            second = (text == values[1]).cast(pl.Float64).fill_null(float("nan"))
            return np.asarray(second.to_numpy(), dtype=np.float64)
        return numeric(self.frame, [name], "--model")[:, 0]

    def design(self, terms: Sequence[str], numbers_at: Node, bases: Mapping[str, Integers]) -> tuple[list[str], Floats]:
        """Intercept, numbers, and an indicator of each published category but the original's commonest."""
        names, columns = ["(intercept)"], [np.ones(self.frame.height)]
        for term in terms:
            if term in self.numbered or term not in self.table.names:
                names.append(term)
                columns.append(self.number(term, numbers_at))
                continue
            q = self.table.names.index(term)
            h, level = self.table.hierarchies[q], self.node[q]
            own = h.groups[level][self.table.codes[:, q]]
            commonest = int(np.bincount(h.groups[level], weights=bases[term]).argmax())
            for g, label in enumerate(h.labels[level]):
                if g != commonest:
                    names.append(f"{term}: {label}")
                    columns.append(np.where(self._gone(q), np.nan, own == g))
        return names, np.stack(columns, axis=1)

    def _gone(self, q: int) -> Mask:
        return np.asarray(self.hidden[:, q] | (self.table.codes[:, q] < 0))


def utility_of(
    frame: pl.DataFrame, changed: pl.DataFrame, request: Request, original: KeyTable, table: KeyTable, chosen: Candidate
) -> dict[str, Any]:
    """Moments, correlations, two-way tables and regression coefficients before and after."""
    keys = {h.name: q for q, h in enumerate(original.hierarchies) if whole_numbers(h.levels[0]) is not None}
    nodes = (0,) * len(chosen.node), chosen.node  # the original is as it was; later a group is the middle of its values
    shown = np.zeros_like(chosen.suppressed)
    files = [
        _File(without_missing_texts(source, request.missing_values), own, keys, chosen.node, hidden)
        for source, own, hidden in ((frame, original, shown), (changed, table, chosen.suppressed))
    ]
    names = [*keys, *dict.fromkeys(n for n in (*request.methods.numeric, *request.numbers) if n not in keys)]
    before, after = (
        np.stack([own.number(name, node) for name in names], axis=1) if names else np.empty((frame.height, 0))
        for own, node in zip(files, nodes, strict=True)
    )
    found: dict[str, Any] = {
        "moments": [moments(name, before[:, i], after[:, i]) for i, name in enumerate(names)],
        "correlations": correlations(names, before, after),
        "tables": two_way_distances(original, table, chosen.node, chosen.suppressed),
        "coefficients": [],
        "terms_left_out": [],
    }
    if request.model is None:
        return found
    outcome, given = request.model
    gone = {h.name for h, level in zip(table.hierarchies, chosen.node, strict=True) if level == h.height}
    terms = [t for t in given if t not in gone]
    found["terms_left_out"] = [t for t in (outcome, *given) if t in gone]
    if outcome in gone or not terms:
        return found
    bases = dict(zip(original.names, original.value_counts, strict=True))
    ends = [own.outcome(outcome) for own in files]
    made = [own.design(terms, node, bases) for own, node in zip(files, nodes, strict=True)]
    labels, designs = made[1][0], [x for _, x in made]
    absent = _absent(designs)
    found["terms_left_out"] += [label for label, lacking in zip(labels, absent, strict=True) if lacking]
    labels = [label for label, lacking in zip(labels, absent, strict=True) if not lacking]
    try:
        first, last = (linear_regression(x[:, ~absent], y) for x, y in zip(designs, ends, strict=True))
    except GemelError:  # the file is protected all the same
        found["terms_left_out"] = [outcome, *given]
    else:
        found["coefficients"] = compared(labels, first, last)
    return found


def _absent(designs: list[Floats]) -> Mask:
    """Terms that no complete record of one file has: their records are left out of both."""
    absent = np.zeros(designs[0].shape[1], dtype=bool)
    for x in designs:
        absent |= ~(x[~np.isnan(x).any(axis=1)] != 0).any(axis=0)
    for x in designs:
        x[(np.nan_to_num(x[:, absent]) != 0).any(axis=1)] = np.nan
    return absent
