"""Utility of a protected file: the same analyses of the original and of what is published, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.errors import GemelError, parameter
from gemel.risk.protection.candidate import Candidate
from gemel.risk.protection.changes import numeric, without_missing_texts
from gemel.risk.protection.hierarchies import whole_numbers
from gemel.risk.protection.key_table import KeyTable, Node
from gemel.risk.protection.request import Request
from gemel.risk.protection.utility import compared, correlations, linear_regression, moments, two_way_distances


def utility_of(
    frame: pl.DataFrame,
    changed: pl.DataFrame,
    request: Request,
    original: KeyTable,
    table: KeyTable,
    chosen: Candidate,
) -> dict[str, Any]:
    """Moments, correlations, two-way tables and regression coefficients before and after.

    Parameters
    ----------
    frame, changed
        The records, and the records with changed numbers.
    request
        Which numbers and which regression.
    original, table
        The keys, and the keys after values were redrawn or swapped.
    chosen
        What is recoded and suppressed.

    Raises
    ------
    GemelError
        The regression cannot be made, or a column holds no numbers.
    """
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
        "moments": [asdict(moments(name, both[0][:, i], both[1][:, i])) for i, name in enumerate(names)],
        "correlations": [
            {"names": [names[i], names[j]], "before": a, "after": b} for i, j, a, b in correlations(both[0], both[1])
        ],
        "tables": [asdict(t) for t in two_way_distances(original, table, chosen.node, chosen.suppressed)],
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
            found["coefficients"] = [asdict(row) for row in compared(labels, (b, s), (c, t))]
    return found


def _absent(designs: list[NDArray[np.float64]]) -> NDArray[np.bool_]:
    """Terms that no complete record of one file has: their records are left out of both."""
    absent = np.zeros(designs[0].shape[1], dtype=bool)
    for x in designs:
        absent |= ~(x[~np.isnan(x).any(axis=1)] != 0).any(axis=0)
    for x in designs:
        x[(np.nan_to_num(x[:, absent]) != 0).any(axis=1)] = np.nan
    return absent


def _number(
    frame: pl.DataFrame,
    name: str,
    keys: dict[str, int],
    table: KeyTable,
    node: Node,
    hidden: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """A numeric column; of an integer key the middles of its groups, NaN where missing or suppressed."""
    if name not in keys:
        return numeric(frame, [name], "--numbers")[:, 0]
    q = keys[name]
    h = table.hierarchies[q]
    middles = h.numbers(node[q])
    assert middles is not None  # noqa: S101 - `keys` holds those that have numbers
    own = np.where(hidden[:, q] | (table.codes[:, q] < 0), -1, h.groups[node[q]][table.codes[:, q]])
    return np.append(middles, np.nan)[own]


def _outcome(
    frame: pl.DataFrame, name: str, keys: dict[str, int], table: KeyTable, node: Node, hidden: NDArray[np.bool_]
) -> NDArray[np.float64]:
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
    hidden: NDArray[np.bool_],
    exact: bool,
    bases: dict[str, NDArray[np.int64]],
) -> tuple[list[str], NDArray[np.float64]]:
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
