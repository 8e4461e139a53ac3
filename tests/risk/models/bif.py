"""Bayesian networks from the text of a .bif file, without the variables that are left out, and figures of them."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from gemel.risk.models.bayesian_networks import BayesianNetwork

_VARIABLE = re.compile(r"variable\s+(\S+)\s*\{\s*type\s+discrete\s*\[\s*\d+\s*\]\s*\{([^}]*)\}")
_PROBABILITY = re.compile(r"probability\s*\(([^)|]*)(?:\|([^)]*))?\)\s*\{(.*?)\}", re.DOTALL)
INSURANCE = {
    "SeniorTrain", "RiskAversion", "VehicleYear", "GoodStudent", "DrivingSkill", "SocioEcon", "DrivQuality", "HomeBase",
    "Age", "MakeModel", "OtherCar",
}  # fmt: skip
"""The nodes of the insurance network that are not barren in Smith and Elliot's use of it."""

_ROW = re.compile(r"(?:table|\(([^)]*)\))\s*([^;]*);")


def read_bif(text: str) -> BayesianNetwork:
    """Read a network from the text of a sound .bif file (interchange format 0.15, discrete variables)."""
    categories = {name: tuple(_words(levels)) for name, levels in _VARIABLE.findall(text)}
    place = {name: v for v, name in enumerate(categories)}
    parents, tables = {}, {}
    for child, above, payload in _PROBABILITY.findall(text):
        name, given = child.strip(), _words(above)
        table = np.full([len(categories[variable]) for variable in (*given, name)], np.nan)
        for levels, numbers in _ROW.findall(payload):
            at = tuple(categories[variable].index(level) for variable, level in zip(given, _words(levels), strict=True))
            table[at] = [float(number) for number in _words(numbers)]
        parents[name], tables[name] = tuple(place[variable] for variable in given), table
    return BayesianNetwork(
        tuple(categories),
        tuple(categories.values()),
        tuple(parents[name] for name in categories),
        tuple(tables[name] for name in categories),
    )


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def pruned(network: BayesianNetwork, kept: Iterable[Hashable]) -> BayesianNetwork:
    """The network without barren nodes: childless variables that are not to be kept, taken away again and again.

    The distribution of what is left is unchanged. Ancestors of a kept variable stay.
    """
    selected = set(kept)
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


def edges(network: BayesianNetwork) -> tuple[tuple[Hashable, Hashable], ...]:
    """Pairs (parent, child)."""
    return tuple((network.names[p], network.names[v]) for v, above in enumerate(network.parents) for p in above)


def parameters(network: BayesianNetwork) -> int:
    """Free parameters."""
    return sum(table.size // table.shape[-1] * (table.shape[-1] - 1) for table in network.tables)


def log_probability(network: BayesianNetwork, cells: NDArray[np.integer]) -> NDArray[np.float64]:
    """Log joint probability of each given cell, shape (n_cells,)."""
    result = np.zeros(len(cells))
    with np.errstate(divide="ignore"):
        for v, table in enumerate(network.tables):
            result += np.log(table[tuple(cells[:, w] for w in (*network.parents[v], v))])
    return result
