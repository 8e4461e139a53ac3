"""Names with their natural frequencies, from the table that the package ships.

`tests.coordinator.demonstration.people.make_names` makes the table.
"""

from __future__ import annotations

import csv
import lzma
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

TABLE = "names.csv.xz"

_CODED = re.compile(r"(\d)([a-z]*)")


@dataclass(frozen=True)
class NameTable:
    """Names of one group and the weight of each.

    Parameters
    ----------
    names : ndarray of str objects, shape (n_names,)
        Capitalised, commonest first.
    weights : ndarray of int64, shape (n_names,)
        People in ten million.
    """

    names: NDArray[np.object_]
    weights: NDArray[np.int64]

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[np.object_]:
        """Draw `n` names with replacement, by weight. O(n log n_names)."""
        cumulative = np.cumsum(self.weights)
        places = np.searchsorted(cumulative, rng.integers(0, cumulative[-1], size=n), side="right")
        drawn: NDArray[np.object_] = self.names[places]
        return drawn


def decode(text: str) -> dict[str, NameTable]:
    """Read the uncompressed table, by group; the inverse of what `make_names` writes."""
    collected: dict[str, tuple[list[str], list[int]]] = {}
    for row in csv.DictReader(text.splitlines()):
        names, weights = collected.setdefault(row["group"], ([], []))
        name = ""
        for shared, rest in _CODED.findall(row["names"]):
            name = name[: int(shared)] + rest
            names.append(_capitalised(name))
            weights.append(int(row["weight"]))
    return {
        group: NameTable(np.array(names, dtype=object), np.array(weights, dtype=np.int64))
        for group, (names, weights) in collected.items()
    }


def _capitalised(name: str) -> str:
    if name.startswith("mc") and len(name) > 3:
        return "Mc" + name[2:].capitalize()
    return name.capitalize()


@cache
def name_tables() -> dict[str, NameTable]:
    """Return the shipped tables: ``surname``, ``female`` and ``male``."""
    packed = files(__package__).joinpath(TABLE).read_bytes()
    return decode(lzma.decompress(packed).decode("ascii"))
