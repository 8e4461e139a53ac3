"""Utility of a protected file: the same analyses of the original and of what is published, side by side."""

from __future__ import annotations

from collections.abc import Sequence
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


def correlations(before: Floats, after: Floats) -> list[tuple[int, int, float, float]]:
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


def utility_of(
    frame: pl.DataFrame, changed: pl.DataFrame, request: Request, original: KeyTable, table: KeyTable, chosen: Candidate
) -> dict[str, Any]:
    """Moments, correlations, two-way tables and regression coefficients before and after."""
    frame, changed = (without_missing_texts(own, request.missing_values) for own in (frame, changed))
    keys = {h.name: q for q, h in enumerate(original.hierarchies) if whole_numbers(h.levels[0]) is not None}
    names = [*keys, *dict.fromkeys(n for n in (*request.methods.numeric, *request.numbers) if n not in keys)]
    both = [
        np.stack([_number(source, name, keys, own, node, hidden) for name in names], axis=1)
        if names
        else np.empty((frame.height, 0))
        for source, own, node, hidden in (
            (frame, original, (0,) * len(chosen.node), np.zeros_like(chosen.suppressed)),
            (changed, table, chosen.node, chosen.suppressed),
        )
    ]
    found: dict[str, Any] = {
        "moments": [moments(name, both[0][:, i], both[1][:, i]) for i, name in enumerate(names)],
        "correlations": [
            {"names": [names[i], names[j]], "before": a, "after": b} for i, j, a, b in correlations(both[0], both[1])
        ],
        "tables": two_way_distances(original, table, chosen.node, chosen.suppressed),
        "coefficients": [],
        "terms_left_out": [],
    }
    if request.model is not None:
        outcome, given = request.model
        gone = {h.name for h, level in zip(table.hierarchies, chosen.node, strict=True) if level == h.height}
        terms = [t for t in given if t not in gone]
        found["terms_left_out"] = [t for t in (outcome, *given) if t in gone]
    if request.model is not None and outcome not in gone and terms:
        ends, designs, labels = [], [], list[str]()
        bases = dict(zip(original.names, original.value_counts, strict=True))
        for source, own, node, hidden in (
            (frame, original, chosen.node, np.zeros_like(chosen.suppressed)),
            (changed, table, chosen.node, chosen.suppressed),
        ):
            ends.append(_outcome(source, outcome, keys, own, node, hidden))
            labels, x = _design(source, terms, keys, own, node, hidden, source is frame, bases)
            designs.append(x)
        absent = _absent(designs)
        found["terms_left_out"] += [label for label, gone_too in zip(labels, absent, strict=True) if gone_too]
        labels = [label for label, gone_too in zip(labels, absent, strict=True) if not gone_too]
        try:
            (b, s), (c, t) = (linear_regression(x[:, ~absent], y) for x, y in zip(designs, ends, strict=True))
        except GemelError:  # the file is protected all the same
            found["terms_left_out"] = [outcome, *given]
        else:
            found["coefficients"] = compared(labels, (b, s), (c, t))
    return found


def _absent(designs: list[Floats]) -> Mask:
    """Terms that no complete record of one file has: their records are left out of both."""
    absent = np.zeros(designs[0].shape[1], dtype=bool)
    for x in designs:
        absent |= ~(x[~np.isnan(x).any(axis=1)] != 0).any(axis=0)
    for x in designs:
        x[(np.nan_to_num(x[:, absent]) != 0).any(axis=1)] = np.nan
    return absent


def _number(frame: pl.DataFrame, name: str, keys: dict[str, int], table: KeyTable, node: Node, hidden: Mask) -> Floats:
    """A numeric column; of an integer key the middles of its groups, NaN where missing or suppressed."""
    if name not in keys:
        return numeric(frame, [name], "--numbers")[:, 0]
    q = keys[name]
    h = table.hierarchies[q]
    middles = h.numbers(node[q])
    assert middles is not None  # noqa: S101 - `keys` holds those that have numbers
    own = np.where(hidden[:, q] | (table.codes[:, q] < 0), -1, h.groups[node[q]][table.codes[:, q]])
    return np.append(middles, np.nan)[own]


def _outcome(frame: pl.DataFrame, name: str, keys: dict[str, int], table: KeyTable, node: Node, hidden: Mask) -> Floats:
    if name in keys:
        return _number(frame, name, keys, table, node, hidden)
    if name in table.names:
        raise parameter(f"--model, {name}", "the outcome of the regression is a key of categories")
    values = frame[name].cast(pl.String).drop_nulls().unique().sort().to_list()
    if len(values) == 2 and whole_numbers(values) is None:
        second = (frame[name].cast(pl.String) == values[1]).cast(pl.Float64).fill_null(float("nan"))
        return np.asarray(second.to_numpy(), dtype=np.float64)
    return numeric(frame, [name], "--model")[:, 0]


def _design(
    frame: pl.DataFrame,
    terms: Sequence[str],
    keys: dict[str, int],
    table: KeyTable,
    node: Node,
    hidden: Mask,
    exact: bool,
    bases: dict[str, Integers],
) -> tuple[list[str], Floats]:
    """Intercept, numbers, and an indicator of each published category but the original's commonest."""
    names, columns = ["(intercept)"], [np.ones(frame.height)]
    for term in terms:
        q = table.names.index(term) if term in table.names else None
        if q is None or term in keys:
            # The original is as it was; of the protected file a group is the middle of its values.
            own_node = (0,) * len(node) if exact else node
            names.append(term)
            columns.append(_number(frame, term, keys, table, own_node, hidden))
            continue
        h = table.hierarchies[q]
        gone = hidden[:, q] | (table.codes[:, q] < 0)
        own = h.groups[node[q]][table.codes[:, q]]
        commonest = int(np.bincount(h.groups[node[q]], weights=bases[term]).argmax())
        for g, label in enumerate(h.labels[node[q]]):
            if g == commonest:
                continue
            names.append(f"{term}: {label}")
            columns.append(np.where(gone, np.nan, own == g))
    return names, np.stack(columns, axis=1)
