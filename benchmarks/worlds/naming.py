"""What the people of a world are called, by their custom.

English names come with the weights of the census table of the demonstration. Those of the other customs are lists: our
own in ``naming.yaml``, the commonest first, and after them those of ``names.csv.xz``, which
`tests.benchmarks.worlds.make_names` made from the lists of the package Faker (MIT licence, Daniele Faraglia and
contributors). They have weights by rank, of a Zipf law with a flattened head, which `World.skew` raises to a power.
What custom makes of the names is put together by rules of ours, which know the common case only.
"""

from __future__ import annotations

import csv
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from benchmarks.worlds.population import Lots, Numbers, People
from benchmarks.worlds.world import World
from gemel.coordinator.demonstration.people.names import name_tables

Texts = NDArray[np.object_]

CUSTOMS = (
    *("english", "german", "turkish", "spanish", "portuguese", "slavic"),
    *("arabic", "icelandic", "chinese", "vietnamese", "indian"),
)
#: Of a mixture: what the households are, and their shares.
_MIXTURE = {"english": 0.4, "spanish": 0.2, "slavic": 0.15, "arabic": 0.15, "vietnamese": 0.1}
#: The share of people with a middle name where it is a second given name.
_SECOND = {"english": 0.75, "german": 0.3, "turkish": 0.2, "portuguese": 0.35, "icelandic": 0.4}


@dataclass(frozen=True)
class Names:
    """Names in the script of their custom, by person; None where there is none. `surname_then` is at Bob's date."""

    custom: Numbers
    given: Texts
    middle: Texts
    surname: Texts
    surname_then: Texts


@cache
def lists() -> dict[str, Any]:
    """The lists of ``naming.yaml``."""
    found: dict[str, Any] = yaml.safe_load(files(__package__).joinpath("naming.yaml").read_text("utf-8"))
    return found


@cache
def _table(custom: str, kind: str) -> tuple[Texts, Lots]:
    """Names of a kind, and their weights at usual skew."""
    if custom == "english":
        english = name_tables()[kind]
        return english.names, english.weights.astype(np.float64)
    packed = files(__package__).joinpath("names.csv.xz").read_bytes()
    rows = csv.DictReader(lzma.decompress(packed).decode("utf-8").splitlines())
    more = [row["names"].split() for row in rows if row["custom"] == custom and row["kind"] == kind]
    listed = [*lists()[custom].get(kind, "").split(), *(name for names in more for name in names)]
    unique = [name.partition("/")[0] for name in dict.fromkeys(listed)]
    flat, power = (5.0 if kind != "surname" or custom == "chinese" else 8.0), 1.0
    if (custom, kind) == ("vietnamese", "surname"):
        # Two Vietnamese in five are called Nguyễn.
        flat, power = 1.0, 1.3
    weights: Lots = np.power(np.arange(len(unique)) + flat, -power, dtype=np.float64)
    return np.array(unique, dtype=object), weights


def _again(lots: Lots, times: int) -> Lots:
    """Other lots that follow from these."""
    return lots * (1_000 + times) % 1.0


def named(world: World, people: People) -> Names:
    """Call everyone something; equal lots, equal names."""
    n = len(people.home)
    if world.custom == "mixture":
        shares = np.cumsum(list(_MIXTURE.values()))
        among = np.array([CUSTOMS.index(name) for name in _MIXTURE])
        custom = among[np.minimum(np.searchsorted(shares, people.nation), len(among) - 1)]
    else:
        custom = np.full(n, CUSTOMS.index(world.custom))
    columns = [np.full(n, None, dtype=object) for _ in range(4)]
    for k, name in enumerate(CUSTOMS):
        who = np.flatnonzero(custom == k)
        if len(who):
            for column, values in zip(columns, _called(name, people.of(who), world.skew), strict=True):
                column[who] = values
    return Names(custom, *columns)


def _called(custom: str, people: People, skew: float) -> tuple[Texts, Texts, Texts, Texts]:
    """Given name, middle name, and surname at both dates, of people of one custom."""
    female = people.female

    def draw(kind: str, lots: Lots) -> Texts:
        names, weights = _table(custom, kind)
        cumulative = np.cumsum(weights**skew)
        found: Texts = names[
            np.minimum(np.searchsorted(cumulative, lots * cumulative[-1], side="right"), len(names) - 1)
        ]
        return found

    def by_sex(lots: Lots, prefix: str = "") -> Texts:
        drawn: Texts = np.where(female, draw(f"{prefix}female", lots), draw(f"{prefix}male", lots))
        return drawn

    def where(chosen: NDArray[np.bool_], names: Texts) -> Texts:
        kept = names.copy()
        kept[~chosen] = None
        return kept

    given = by_sex(people.given)
    middle = where(people.middle < _SECOND.get(custom, 0.0), by_sex(_again(people.middle, 1)))
    if custom in ("english", "german", "turkish"):
        return given, middle, draw("surname", people.family), draw("surname", people.family_then)
    if custom == "slavic":
        middle = _each(_patronymic, draw("male", people.father), female)
        surnames = (draw("surname", lots) for lots in (people.family, people.family_then))
        before, then = (_each(_gendered, names, female) for names in surnames)
        return given, middle, before, then
    if custom in ("spanish", "portuguese"):
        compound = _again(people.given, 2) < 0.25
        second = by_sex(_again(people.given, 3))
        given = np.where(compound & (second != given), given + " " + second, given)
        paternal, maternal = draw("surname", people.paternal), draw("surname", people.maternal)
        if custom == "spanish":
            return given, middle, paternal + " " + maternal, paternal + " " + maternal
        own = maternal + np.where(_again(people.maternal, 4) < 0.3, " da ", " ") + paternal
        husbands = paternal + " " + draw("surname", people.family_then)
        return given, middle, own, np.where(people.family_then == people.family, own, husbands)
    if custom == "arabic":
        grandfather = _again(people.paternal, 5) < 0.25
        surname = np.where(grandfather, draw("male", people.paternal), draw("surname", people.paternal))
        return given, draw("male", people.father), surname, surname
    if custom == "icelandic":
        surname = _each(_child_of, draw("male", people.father), female)
        return given, middle, surname, surname
    if custom == "chinese":
        second = np.where(_again(people.given, 6) < 0.7, by_sex(_again(people.given, 7)), "")
        given = np.array([name.capitalize() for name in (given + second).tolist()], dtype=object)
        surname = draw("surname", people.paternal)
        return given, middle, surname, surname
    if custom == "vietnamese":
        surname = draw("surname", people.paternal)
        usual = np.where(female, "Thị", "Văn").astype(object)
        return given, np.where(people.middle < 0.4, usual, by_sex(people.middle, "middle_")), surname, surname
    # Indian: some have no surname, and some the initial of their father's name.
    fathers = draw("male", people.father)
    initial = np.array([name[0] for name in fathers.tolist()], dtype=object)
    kind = _again(people.paternal, 8)
    before, then = (
        where(kind > 0.15, np.where(kind < 0.35, initial, draw("surname", lots)))
        for lots in (people.family, people.family_then)
    )
    return given, where(people.middle < 0.4, fathers), before, then


def _each(rule: Callable[[str, bool], str], names: Texts, female: NDArray[np.bool_]) -> Texts:
    ruled = cache(rule)
    made: list[str] = [ruled(name, woman) for name, woman in zip(names.tolist(), female.tolist(), strict=True)]
    return np.array(made, dtype=object)


def _patronymic(father: str, woman: bool) -> str:
    """Of a Russian name: Ivan's are Ivanovich and Ivanovna."""
    if father.endswith(("й", "ь")):
        return father[:-1] + ("евна" if woman else "евич")
    if father.endswith(("а", "я")):
        return father[:-1] + ("ична" if woman else "ич")
    return father + ("овна" if woman else "ович")


def _gendered(surname: str, woman: bool) -> str:
    if woman and surname.endswith(("ий", "ый")):
        return surname[:-2] + "ая"
    return surname + "а" if woman and surname.endswith(("ов", "ев", "ёв", "ин", "ын")) else surname


def _child_of(father: str, woman: bool) -> str:
    """Of an Icelandic name in the genitive: Helgi's are Helgason and Helgadóttir."""
    if father.endswith("i"):
        stem = father[:-1] + "a"
    elif father.endswith("a"):
        stem = father[:-1] + "u"
    elif father.endswith(("ur", "nn", "ll")):
        stem = father[:-2] + {"ur": "s", "nn": "ns", "ll": "ls"}[father[-2:]]
    else:
        stem = father if father.endswith("s") else father + "s"
    return stem + ("dóttir" if woman else "son")
