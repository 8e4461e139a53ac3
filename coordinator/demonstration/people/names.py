"""Names with their natural frequencies, from the table that the package ships.

`tests.coordinator.demonstration.people.make_names` makes the table. Beside it an invented country: towns, their
postcodes and their streets. It is put together from syllables and is the same at every call: it needs no seed. Sizes
follow a Zipf law with a flattened head, so that the largest of the 1,200 towns holds some two per cent of the people. A
town of that size has some sixty postcodes, a small one a single code, and no postcode belongs to two towns.
"""

from __future__ import annotations

import csv
import lzma
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import yaml
from numpy.typing import NDArray

TABLE = "names.csv.xz"

_CODED = re.compile(r"(\d)([a-z]*)")


@dataclass(frozen=True)
class NameTable:
    """Names of one group, capitalised, the commonest first, and the weight of each: people in ten million."""

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
    packed = files(__package__).joinpath(TABLE).read_bytes()
    return decode(lzma.decompress(packed).decode("ascii"))


@cache
def words() -> dict[str, str]:
    """What places are called, and given names with their short forms, as lists in one text."""
    found: dict[str, str] = yaml.safe_load(files(__package__).joinpath("words.yaml").read_text("utf-8"))
    return found


_TOWNS = 1_200
_POSTCODES = 3_000
_FIRST_POSTCODE = 2_000


@dataclass(frozen=True)
class Country:
    """Towns and streets by name, the largest first, with shares that sum to 1.

    A town has the postcodes ``first_postcode`` to ``first_postcode + postcodes - 1``.
    """

    towns: NDArray[np.object_]
    town_weights: NDArray[np.float64]
    first_postcode: NDArray[np.int64]
    postcodes: NDArray[np.int64]
    streets: NDArray[np.object_]
    street_weights: NDArray[np.float64]


@cache
def country() -> Country:
    called = {name: text.split() for name, text in words().items()}
    towns = [first + last for last in called["town_last"] for first in called["town_first"]]
    streets = [f"{name} {kind}" for kind in called["street_kinds"] for name in called["street_names"]]
    town_weights = _zipf(_TOWNS, 12.0)
    postcodes = np.maximum(1, np.rint(town_weights * _POSTCODES)).astype(np.int64)
    return Country(
        towns=_spread(towns)[:_TOWNS],
        town_weights=town_weights,
        first_postcode=_FIRST_POSTCODE + np.concatenate([[0], np.cumsum(postcodes)[:-1]]),
        postcodes=postcodes,
        streets=_spread(streets),
        street_weights=_zipf(len(streets), 40.0),
    )


def draw_addresses(n: int, rng: np.random.Generator) -> tuple[dict[str, NDArray[np.object_]], NDArray[np.int64]]:
    """Draw `n` addresses, towns and streets by size and house numbers with low ones commoner. O(n log n_towns).

    Their columns by name, and beside them the areas of their telephones.
    """
    land = country()
    town = _draw(land.town_weights, n, rng)
    street = _draw(land.street_weights, n, rng)
    code = land.first_postcode[town] + rng.integers(0, land.postcodes[town])
    number = np.minimum(1 + np.floor(rng.exponential(45.0, size=n)), 999).astype(np.int64)
    place = {"street": land.streets[street], "town": land.towns[town], "postcode": _as_text(code)}
    return {"house_number": _as_text(number), **place}, town % 89 + 10


def _zipf(n: int, flat: float) -> NDArray[np.float64]:
    weights = 1.0 / (np.arange(n) + flat)
    share: NDArray[np.float64] = weights / weights.sum()
    return share


def _spread(names: list[str]) -> NDArray[np.object_]:
    # A stride coprime to the length visits every name once, and keeps namesakes apart in rank.
    n = len(names)
    stride = next(s for s in range(int(n * 0.618), n) if np.gcd(s, n) == 1)
    spread: NDArray[np.object_] = np.array(names, dtype=object)[np.arange(n) * stride % n]
    return spread


def _draw(weights: NDArray[np.float64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    cumulative = np.cumsum(weights)
    return np.minimum(np.searchsorted(cumulative, rng.random(n), side="right"), len(weights) - 1).astype(np.int64)


def _as_text(numbers: NDArray[np.int64]) -> NDArray[np.object_]:
    return np.array([str(number) for number in numbers.tolist()], dtype=object)
