"""Bayesian networks from the text of a .bif file, and without the variables that are left out."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.models.bayesian_networks import BayesianNetwork

_VARIABLE = re.compile(r"variable\s+(\S+)\s*\{(.*?)\}\s*;?[^{}]*\}", re.DOTALL)
_TYPE = re.compile(r"type\s+discrete\s*\[\s*(\d+)\s*\]\s*\{(.*)", re.DOTALL)
_PROBABILITY = re.compile(r"probability\s*\(([^)|]*)(?:\|([^)]*))?\)\s*\{(.*?)\}", re.DOTALL)
_ROW = re.compile(r"\(([^)]*)\)\s*([^;]*);")
_TABLE = re.compile(r"\btable\b\s*([^;]*);")


def read_bif(text: str) -> BayesianNetwork:
    """Read a network from the text of a .bif file (interchange format 0.15, discrete variables).

    Raises
    ------
    GemelError
        No variables; a distribution missing, incomplete or not summing to 1; an unknown variable or level.
    """
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    categories: dict[str, tuple[str, ...]] = {}
    for name, payload in _VARIABLE.findall(text):
        found = _TYPE.search(payload)
        levels = _words(found.group(2)) if found else []
        if found is None or len(levels) != int(found.group(1)) or len(levels) < 2:
            raise _issue("a variable must be discrete with as many levels, two at least, as it declares", name)
        categories[name] = tuple(levels)
    if not categories:
        raise GemelError(ErrorCode.PARAMETER, "no variable is declared", where=".bif text")
    place = {name: v for v, name in enumerate(categories)}
    parents: dict[str, tuple[int, ...]] = {}
    tables: dict[str, NDArray[np.float64]] = {}
    for child, above, payload in _PROBABILITY.findall(text):
        name = child.strip()
        given = _words(above)
        for variable in (name, *given):
            if variable not in place:
                raise _issue("unknown variable", variable)
        parents[name] = tuple(place[variable] for variable in given)
        tables[name] = _read_table(name, given, categories, payload)
    for name in categories:
        if name not in tables:
            raise _issue("a variable has no distribution", name)
    return BayesianNetwork(
        tuple(categories),
        tuple(categories.values()),
        tuple(parents[name] for name in categories),
        tuple(tables[name] for name in categories),
    )


def _read_table(
    name: str, given: Sequence[str], categories: Mapping[str, tuple[str, ...]], payload: str
) -> NDArray[np.float64]:
    shape = tuple(len(categories[variable]) for variable in (*given, name))
    table = np.full(shape, np.nan)
    if not given:
        found = _TABLE.search(payload)
        if found:
            table[:] = _numbers(name, found.group(1), shape[-1])
    for levels, numbers in _ROW.findall(payload):
        values = _words(levels)
        if len(values) != len(given) or any(x not in categories[v] for x, v in zip(values, given, strict=False)):
            raise _issue("a row names levels that its parents do not have", name)
        at = tuple(categories[variable].index(x) for variable, x in zip(given, values, strict=True))
        table[at] = _numbers(name, numbers, shape[-1])
    if np.isnan(table).any():
        raise _issue("a distribution must have one row for each combination of its parents' levels", name)
    return table


def _numbers(name: str, text: str, expected: int) -> list[float]:
    try:
        numbers = [float(word) for word in _words(text)]
    except ValueError:
        raise _issue("a probability must be a number", name) from None
    if len(numbers) != expected:
        raise _issue(f"a row must have {expected} probabilities", name)
    return numbers


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.strip().rstrip(",").split(",") if word.strip()]


def _issue(what: str, name: str) -> GemelError:
    return GemelError(ErrorCode.PARAMETER, what, where=f".bif text, {name}")


def pruned(network: BayesianNetwork, kept: Iterable[Hashable]) -> BayesianNetwork:
    """The network without barren nodes: childless variables that are not to be kept, taken away again and again.

    The distribution of what is left is unchanged. Ancestors of a kept variable stay.
    """
    selected = set(kept)
    unknown = selected - set(network.names)
    if unknown:
        raise GemelError(ErrorCode.PARAMETER, "unknown variable", where="kept", got=repr(sorted(map(str, unknown))[0]))
    left = set(range(len(network.names)))
    while True:
        with_children = {p for v in left for p in network.parents[v]}
        barren = {v for v in left if v not in with_children and network.names[v] not in selected}
        if not barren:
            break
        left -= barren
    order = sorted(left)
    return BayesianNetwork(
        tuple(network.names[v] for v in order),
        tuple(network.categories[v] for v in order),
        tuple(tuple(order.index(p) for p in network.parents[v]) for v in order),
        tuple(network.tables[v] for v in order),
    )
