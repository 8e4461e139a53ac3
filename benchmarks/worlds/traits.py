"""What is true of a person beside the names, at Alice's date and at Bob's: address, telephone, and what surveys ask.

Places and streets are those of the demonstration's invented country, whatever the custom of the people.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.worlds.naming import CUSTOMS, Names, Texts
from benchmarks.worlds.population import ALICES_DATE, Dwellings, Lots, Numbers, People
from benchmarks.worlds.writing import plain, written
from gemel.coordinator.demonstration.people.names import country

Columns = dict[str, Texts]

#: A category variable: its codes, whether a household has one in common, and how many have another at Bob's date.
CATEGORIES: dict[str, tuple[int, bool, float]] = {
    "schooling": (6, False, 0.03),
    "occupation": (30, False, 0.1),
    "income": (8, True, 0.3),
    "household_size": (6, True, 0.1),
    "religion": (7, True, 0.02),
    "tenure": (4, True, 0.05),
    "marital_status": (5, False, 0.05),
    "children": (5, False, 0.05),
}
#: Those of which children are in a class of their own.
_OF_ADULTS = ("schooling", "occupation", "marital_status", "children")
_HOMELANDS = {
    **{"english": "England", "german": "Germany", "turkish": "Turkey", "spanish": "Mexico", "portuguese": "Brazil"},
    **{"slavic": "Russia", "arabic": "Syria", "icelandic": "Iceland", "chinese": "China", "vietnamese": "Vietnam"},
    **{"indian": "India"},
}
_OTHER_COUNTRIES = ("Poland", "Italy", "Turkey", "India", "China", "Morocco", "Nigeria", "Romania")
_DOMAINS = ("example.com", "example.org", "example.net", "mail.example", "post.example")


@dataclass(frozen=True)
class _Drawn:
    """What does not change by itself: lots of persons and of households."""

    person: Callable[[], Lots]
    household: Callable[[], Lots]


def traits(
    wanted: set[str], people: People, dwellings: Dwellings, names: Names, rng: np.random.Generator
) -> tuple[Columns, Columns]:
    """The wanted columns at Alice's date and at Bob's, None where a person has none; O(people) for each."""
    n = len(people.home)
    _, home = np.unique(people.home, return_inverse=True)
    drawn = _Drawn(lambda: rng.random(n), lambda: rng.random(int(home.max()) + 1)[home])
    both: Columns = {"sex": np.where(people.female, "F", "M").astype(object)}
    both["born"] = np.datetime_as_string(people.born, unit="D").astype(object)
    land = country()
    towns = _towns(people, dwellings, drawn)
    both["birthplace"] = land.towns[towns]
    both["hospital"] = both["birthplace"] + " Hospital"
    both["country"] = _countries(names, drawn)
    weight = np.clip(3_400 + 500 * rng.standard_normal(n), 600, 5_500)
    both["birth_weight"] = _texts(10 * np.rint(weight / 10))
    first, then = dict(both), dict(both)
    mobile, landline, none = rng.integers(10_000_000, 100_000_000, size=n), drawn.person() < 0.4, drawn.person() < 0.08
    young = people.born > ALICES_DATE - np.timedelta64(15 * 365, "D")
    landline |= young
    # Numbers given out one after the other, with gaps.
    policy = _texts(10_000_000 + rng.permutation(np.cumsum(rng.integers(1, 300, size=n))))
    email = _emails(people, names, rng) if "email" in wanted else None
    for columns, where in ((first, people.dwelling), (then, people.dwelling_then)):
        columns |= _address(dwellings, where)
        line = _telephones(dwellings, where, np.where(landline, 0, mobile))
        line[none] = None
        columns["telephone"] = line
        columns["policy_number"] = policy.copy()
        columns["policy_number"][drawn.person() < 0.15] = None
        if email is not None:
            columns["email"] = email
    for name in sorted(wanted & CATEGORIES.keys()):
        first[name], then[name] = _categories(name, drawn)
        if name in _OF_ADULTS:
            first[name][young], then[name][young] = "0", "0"
    return first, then


def _texts(numbers: Numbers | Lots) -> Texts:
    return np.array([str(int(number)) for number in numbers.tolist()], dtype=object)


def _towns(people: People, dwellings: Dwellings, drawn: _Drawn) -> Numbers:
    """Where everyone was born: in the town where he lives, mostly with his household, or in somebody else's."""
    here = dwellings.town[people.dwelling]
    elsewhere = here[np.floor(drawn.person() * len(here)).astype(np.int64)]
    town: Numbers = np.where((drawn.household() < 0.55) & (drawn.person() < 0.85), here, elsewhere)
    return town


def _countries(names: Names, drawn: _Drawn) -> Texts:
    """Of birth: the custom's where customs are mixed, and for one in twelve some other."""
    homelands = np.array([_HOMELANDS[custom] for custom in CUSTOMS], dtype=object)
    own = homelands[names.custom]
    others = np.array(_OTHER_COUNTRIES, dtype=object)
    other = others[np.floor(drawn.household() ** 2 * len(others)).astype(np.int64)]
    found: Texts = np.where(drawn.household() < 0.08, other, own)
    return found


def _address(dwellings: Dwellings, where: Numbers) -> Columns:
    land = country()
    town = dwellings.town[where]
    code = dwellings.postcode[where]
    made = {
        "street": land.streets[dwellings.street[where]],
        "house_number": _texts(dwellings.house_number[where]),
        "postcode": _texts(code),
        "town": land.towns[town],
        "county": land.towns[town // 20 * 20] + "shire",
    }
    return made | {"school": made["town"] + " School " + _texts(code % 3)}


def _telephones(dwellings: Dwellings, where: Numbers, mobile: Numbers) -> Texts:
    listed = zip(dwellings.town[where].tolist(), dwellings.line[where].tolist(), mobile.tolist(), strict=True)
    made = [f"07{own:08d}" if own else f"0{town % 89 + 10} {line:06d}" for town, line, own in listed]
    return np.array(made, dtype=object)


def _emails(people: People, names: Names, rng: np.random.Generator) -> Texts:
    n = len(people.home)
    given, surname = (
        [plain(name or "x").lower().replace(" ", "") for name in _latin(column, names)]
        for column in (names.given, names.surname)
    )
    domain = np.array(_DOMAINS, dtype=object)[rng.integers(len(_DOMAINS), size=n)]
    number = rng.integers(1, 100, size=n)
    made = [f"{a}.{b}{k}@{d}" for a, b, k, d in zip(given, surname, number, domain, strict=True)]
    emails = np.array(made, dtype=object)
    emails[rng.random(n) < 0.15] = None
    return emails


def _latin(column: Texts, names: Names) -> list[str | None]:
    romanised: list[str | None] = written(column, names.custom, np.zeros(len(column), dtype=np.bool_), False).tolist()
    return romanised


def _categories(name: str, drawn: _Drawn) -> tuple[Texts, Texts]:
    """Codes with Zipf's weights, at both dates."""
    levels, shared, changed = CATEGORIES[name]
    codes = np.array([str(code) for code in range(1, levels + 1)], dtype=object)
    cumulative = np.cumsum(1.0 / (np.arange(levels) + 1.5))

    def draw(lots: Lots) -> Texts:
        found: Texts = codes[np.minimum(np.searchsorted(cumulative, lots * cumulative[-1]), levels - 1)]
        return found

    lot = drawn.household if shared else drawn.person
    first = draw(lot())
    return first, np.where(lot() < changed, draw(lot()), first)
