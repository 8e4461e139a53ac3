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


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_TOWN_FIRST = _words(
    "Alder Amber Ash Barrow Beck Birch Black Bram Brook Calder Carrow Cold Corn Dun East Elm Fal Fern Glen Grey Hal "
    "Hart Haver Heather Holm Kel Kirk Lang Lin Lock Mar Mill Nether North Oak Over Pen Raven Red Rock Ros Shel Silver "
    "South Stan Thorn Upper Wal West White Wim Win Wood Yar"
)
_TOWN_LAST = _words(
    "ford ham ton field bridge wick stead by dale mouth worth mere gate ley port bury combe haven minster thorpe "
    "burn hurst brook shaw cliffe"
)
_STREET_NAMES = _words(
    "Acacia Albert Alma Anchor Arthur Banksia Bay Beech Bell Bishop Bridge Broad Canal Castle Cedar Chapel Cherry "
    "Church Clarence College Creek Cross Dock Duke Elder Fairview Farm Ferry Forge Fountain Garden George Grange "
    "Granite Green Grove Harbour Hawthorn Hazel High Hill Hope Ivy Juniper King Lake Laurel Lavender Lilac Lime "
    "Long Magnolia Main Manor Maple Market Meadow Mercer Mill Mount Myrtle New Nelson Old Olive Orchard Park Pine "
    "Pond Poplar Prince Priory Quarry Queen Railway Rectory Ridge River Rose Rowan Sandy School Short South Spring "
    "Station Stone Sycamore Temple Tower Union Valley Vicarage Victoria View Walnut Water Well West Willow York"
)
_STREET_KINDS = ("Street", "Road", "Avenue", "Lane", "Close", "Drive", "Crescent", "Place", "Court", "Way")

_TOWNS = 1_200
_POSTCODES = 3_000
_FIRST_POSTCODE = 2_000


@dataclass(frozen=True)
class Country:
    """Towns with their postcodes, and streets.

    Parameters
    ----------
    towns, streets : ndarray of str objects
        Names, largest first.
    town_weights, street_weights : ndarray of float64
        Shares that sum to 1.
    first_postcode, postcodes : ndarray of int64, shape (n_towns,)
        A town has the codes ``first_postcode`` to ``first_postcode + postcodes - 1``.
    """

    towns: NDArray[np.object_]
    town_weights: NDArray[np.float64]
    first_postcode: NDArray[np.int64]
    postcodes: NDArray[np.int64]
    streets: NDArray[np.object_]
    street_weights: NDArray[np.float64]


@dataclass(frozen=True)
class Addresses:
    """Where households live; one element per household, phone area codes beside."""

    house_number: NDArray[np.object_]
    street: NDArray[np.object_]
    town: NDArray[np.object_]
    postcode: NDArray[np.object_]
    area: NDArray[np.int64]

    def at(self, rows: NDArray[np.int64]) -> dict[str, NDArray[np.object_]]:
        """Return the address columns of the given households."""
        return {
            "house_number": self.house_number[rows],
            "street": self.street[rows],
            "town": self.town[rows],
            "postcode": self.postcode[rows],
        }


@cache
def country() -> Country:
    towns = [first + last for last in _TOWN_LAST for first in _TOWN_FIRST]
    streets = [f"{name} {kind}" for kind in _STREET_KINDS for name in _STREET_NAMES]
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


def draw_addresses(n: int, rng: np.random.Generator) -> Addresses:
    """Draw `n` addresses, towns and streets by size and house numbers with low ones commoner. O(n log n_towns)."""
    land = country()
    town = _draw(land.town_weights, n, rng)
    street = _draw(land.street_weights, n, rng)
    code = land.first_postcode[town] + rng.integers(0, land.postcodes[town])
    number = np.minimum(1 + np.floor(rng.exponential(45.0, size=n)), 999).astype(np.int64)
    return Addresses(
        house_number=_as_text(number),
        street=land.streets[street],
        town=land.towns[town],
        postcode=_as_text(code),
        area=town % 89 + 10,
    )


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
