"""The people of a world: households, kin, where they live at Alice's date and at Bob's, and who is in which file.

Names are left open: a person has lots, numbers in [0, 1) which `naming` turns into names, equal where people of one
custom share the name. Households are much as censuses find them, by our rates: 62 % of the heads have a partner,
children are at home until 23.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from benchmarks.worlds.world import World
from gemel.coordinator.demonstration.people.names import country

Numbers = NDArray[np.int64]
Lots = NDArray[np.float64]

ALICES_DATE = np.datetime64("2016-04-01", "D")
_YEAR = 365.2425
_STREETS_OF_A_POSTCODE = 40


@dataclass(frozen=True)
class People:
    """One entry a person; the lots of names, and dwellings at the two dates.

    `middle` is a second given name, `father` the father's given name, `paternal` and `maternal` the surnames of father
    and mother at birth, `family` the surname in customs in which a household has one, `family_then` it at Bob's date.
    `nation` is a lot for what a household has in common: custom, country.
    """

    home: Numbers
    born: NDArray[np.datetime64]
    female: NDArray[np.bool_]
    twin: Numbers  # the other twin, or the person
    given: Lots
    middle: Lots
    father: Lots
    paternal: Lots
    maternal: Lots
    family: Lots
    family_then: Lots
    nation: Lots
    dwelling: Numbers
    dwelling_then: Numbers

    def of(self, chosen: Numbers) -> People:
        """Those of the given numbers; `twin` is renumbered, and is the person where the other is not chosen."""
        place = np.full(len(self.home), -1)
        place[chosen] = np.arange(len(chosen))
        picked = {each.name: getattr(self, each.name)[chosen] for each in fields(self)}
        other = place[picked["twin"]]
        picked["twin"] = np.where(other >= 0, other, np.arange(len(chosen)))
        return People(**picked)


@dataclass(frozen=True)
class Dwellings:
    """One entry a dwelling: numbers of its town and street in the country, postcode, house number, telephone."""

    town: Numbers
    street: Numbers
    postcode: Numbers
    house_number: Numbers
    line: Numbers


@dataclass(frozen=True)
class _Kin:
    """Household, sex and role of people (0 head, 1 partner, 2 child); head and partner of each household, or -1."""

    home: Numbers
    female: NDArray[np.bool_]
    role: NDArray[np.int8]
    head: Numbers
    partner: Numbers

    def parent(self, children: Numbers, sex: NDArray[np.bool_]) -> Numbers:
        """The member of the couple at home who has the sex, or -1."""
        first, second = self.head[self.home[children]], self.partner[self.home[children]]
        of_second = np.where((second >= 0) & sex[second], second, -1)
        return np.where((first >= 0) & sex[first], first, of_second)


def populated(
    world: World, in_alice: int, in_bob: int, both: int, rng: np.random.Generator
) -> tuple[People, Dwellings]:
    """The people of both files: first those in Alice's alone, then those in both, then those in Bob's alone."""
    needed = in_alice + in_bob - both
    everyone, tied = _everyone(world, needed * 10 if world.kin == "persons" else needed, rng)
    # Twins, and a namesake and his father, come into a sample together, or a small sample would have none.
    key = rng.random(len(tied))[tied] if world.kin == "persons" else everyone.home
    order = np.argsort(key, kind="stable")
    people = everyone.of(order[:needed])
    _, unit = np.unique(people.home, return_inverse=True)
    if world.kin != "households":
        unit = np.arange(needed)
    seat = np.argsort(rng.random(needed)[unit], kind="stable")
    if world.twins_apart:
        _part_twins(seat, people.twin, in_alice - both, both)
    return _housed(world, people.of(seat), rng)


def _part_twins(seat: Numbers, twin: Numbers, alone: int, both: int) -> None:
    """Exchange one twin of each pair that is in one file alone for somebody with no twin who is in the other alone."""
    place = np.empty_like(seat)
    place[seat] = np.arange(len(seat))
    file = np.where(place < alone, 0, np.where(place < alone + both, 1, 2))
    paired = twin != np.arange(len(twin))
    for own, other in ((0, 2), (2, 0)):
        going = np.flatnonzero(paired & (file == own) & (file[twin] == own) & (twin > np.arange(len(twin))))
        coming = np.flatnonzero(~paired & (file == other))[: len(going)]
        going = going[: len(coming)]
        seat[place[going]], seat[place[coming]] = coming, going


def _everyone(world: World, wanted: int, rng: np.random.Generator) -> tuple[People, Numbers]:
    """At least `wanted` people, and for each the number of the one with whom he comes into a sample.

    O(wanted).
    """
    home, age, female, role = _members(world.ages, wanted, rng)
    children = np.flatnonzero(role == 2)
    first = children[rng.random(len(children)) < world.twins]
    home, age, female, role = (np.concatenate([column, column[first]]) for column in (home, age, female, role))
    n, homes = len(home), int(home.max()) + 1
    second = np.arange(n - len(first), n)
    heads = rng.permutation(np.flatnonzero(role == 0))
    pairs = heads[: 2 * round(len(heads) * world.twins / 2)].reshape(-1, 2)
    line = np.arange(homes)  # the household whose surname a household has
    line[home[pairs[:, 1]]] = home[pairs[:, 0]]
    first, second = np.concatenate([first, pairs[:, 0]]), np.concatenate([second, pairs[:, 1]])
    born = ALICES_DATE - np.floor(age * _YEAR).astype("timedelta64[D]")
    born[second] = born[first]
    female[second] = np.where(rng.random(len(second)) < 0.65, female[first], ~female[first])
    tied, twin = np.arange(n), np.arange(n)
    twin[first], twin[second], tied[second] = second, first, first

    given, middle, father, paternal, maternal, family = rng.random((6, n))
    kin = _Kin(home, female, role, *(_of_homes(role == each, home, homes) for each in (0, 1)))
    sons, fathers = _namesakes(world.namesakes, kin, born, twin, rng)
    grown = role[sons] == 0
    line[home[sons[grown]]] = line[home[fathers[grown]]]
    line = line[line]
    tied[sons] = tied[fathers]

    at_home, mothers = rng.random(homes), rng.random(homes)
    paternal[role == 0] = at_home[line[home[role == 0]]]
    father[pairs[:, 1]], maternal[pairs[:, 1]] = father[pairs[:, 0]], maternal[pairs[:, 0]]
    family[role == 0] = paternal[role == 0]
    given[sons] = given[fathers]
    married = (role == 1) & (rng.random(n) < 0.9)
    family[married] = family[kin.head[home[married]]]
    by_home = (at_home, mothers, rng.random(homes))
    _descend(kin, given, father, paternal, maternal, family, by_home)
    father[sons] = given[fathers]
    step = (role == 2) & (twin == np.arange(n)) & (rng.random(n) < 0.04)
    family[step] = rng.random(int(step.sum()))
    nation = rng.random(homes)[line[home]]

    then = family.copy()
    grown_women = np.flatnonzero(female & (born < ALICES_DATE - np.timedelta64(round(18 * _YEAR), "D")))
    wed = grown_women[rng.random(len(grown_women)) < world.married]
    then[wed] = rng.random(len(wed))
    still = np.zeros(n, dtype=np.int64)
    lots = (given, middle, father, paternal, maternal, family, then, nation)
    return People(home, born, female, twin, *lots, still, still), tied


def _members(
    ages: str, wanted: int, rng: np.random.Generator
) -> tuple[Numbers, Lots, NDArray[np.bool_], NDArray[np.int8]]:
    """Household, age, whether female, and role (head, partner, child) of at least `wanted` people."""
    n = wanted if ages in ("cohort", "school") else round(wanted / 1.4) + 20
    parts: list[tuple[Numbers, Lots, NDArray[np.bool_], int]] = []
    if ages in ("cohort", "school"):
        youngest, oldest = (0.0, 2.0) if ages == "cohort" else (6.0, 18.0)
        more = rng.random(n) < (0.02 if ages == "cohort" else 0.35)
        for present in (np.ones(n, dtype=np.bool_), more):
            k = int(present.sum())
            parts.append((np.flatnonzero(present), rng.uniform(youngest, oldest, k), rng.random(k) < 0.49, 2))
    else:
        head_age = 65 + 35 * rng.beta(1.1, 2.5, n) if ages == "elderly" else 20 + 80 * rng.beta(1.25, 2.0, n)
        head_female = rng.random(n) < 0.45
        couple = rng.random(n) < (0.5 if ages == "elderly" else 0.62)
        partner_age = np.clip(head_age + rng.normal(-1.0, 4.0, n), 65.0 if ages == "elderly" else 18.0, 104.0)
        partner_female = np.where(rng.random(n) < 0.03, head_female, ~head_female)
        parts += [(np.arange(n), head_age, head_female, 0)]
        parts += [(np.flatnonzero(couple), partner_age[couple], partner_female[couple], 1)]
        wish = rng.poisson(np.where(couple, 1.7, 0.7)) if ages == "everyone" else np.zeros(n, dtype=np.int64)
        for child in range(4):
            child_age = np.where(couple, np.minimum(head_age, partner_age), head_age) - rng.uniform(20.0, 40.0, n)
            present = (wish > child) & (child_age >= 0) & (child_age < 23)
            k = int(present.sum())
            parts.append((np.flatnonzero(present), child_age[present], rng.random(k) < 0.49, 2))
    home, age, female = (np.concatenate([part[k] for part in parts]) for k in range(3))
    role = np.concatenate([np.full(len(part[0]), part[3], dtype=np.int8) for part in parts])
    return home, age, female, role


def _of_homes(chosen: NDArray[np.bool_], home: Numbers, homes: int) -> Numbers:
    """The chosen member of each household, or -1."""
    member = np.full(homes, -1)
    member[home[chosen]] = np.flatnonzero(chosen)
    return member


def _namesakes(
    share: float, kin: _Kin, born: NDArray[np.datetime64], twin: Numbers, rng: np.random.Generator
) -> tuple[Numbers, Numbers]:
    """Sons who have their father's name, at home or with a household of their own, and their fathers."""
    if share == 0.0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    single = ~kin.female & (twin == np.arange(len(twin)))
    boys = np.flatnonzero(single & (kin.role == 2))
    boys_father = kin.parent(boys, ~kin.female)
    men = np.flatnonzero(single & (kin.role == 0))
    men = men[np.argsort(born[men])]
    years = (born[men] - born[men].min()).astype(np.int64) / _YEAR
    older = np.searchsorted(years, years - rng.uniform(20.0, 38.0, len(men)))
    apart = years - years[older] > 18
    sons, fathers = np.concatenate([boys, men[apart]]), np.concatenate([boys_father, men[older[apart]]])
    # A name goes down one generation, to one son: half of the grown men can be namesakes, the others have them.
    can_be = (rng.random(len(twin)) < 0.5) | (kin.role == 2)
    pairs = rng.permutation(np.flatnonzero((fathers >= 0) & can_be[sons] & ~can_be[fathers]))
    _, once = np.unique(fathers[pairs], return_index=True)
    chosen = pairs[rng.permutation(once)[: round(share * int((~kin.female).sum()))]]
    return sons[chosen], fathers[chosen]


def _descend(
    kin: _Kin, given: Lots, father: Lots, paternal: Lots, maternal: Lots, family: Lots, by_home: tuple[Lots, Lots, Lots]
) -> None:
    """Give children the names of their parents, or of their household where a parent is not there."""
    children = np.flatnonzero(kin.role == 2)
    of_home, mothers, fathers = (lot[kin.home[children]] for lot in by_home)
    dad, mum = kin.parent(children, ~kin.female), kin.parent(children, kin.female)
    first = kin.head[kin.home[children]]
    father[children] = np.where(dad >= 0, given[dad], fathers)
    maternal[children] = np.where(mum >= 0, paternal[mum], mothers)
    paternal[children] = np.where(dad >= 0, paternal[dad], np.where(first >= 0, paternal[first], of_home))
    family[children] = np.where(first >= 0, family[first], of_home)


def _housed(world: World, people: People, rng: np.random.Generator) -> tuple[People, Dwellings]:
    """Give everyone a dwelling at both dates."""
    n = len(people.home)
    _, home = np.unique(people.home, return_inverse=True)
    homes = int(home.max()) + 1
    first = home.copy()
    inmates = rng.permutation(n)[: round(world.homes * n)]
    sizes = rng.integers(20, 201, size=len(inmates) // 20 + 1)
    first[inmates] = homes + np.repeat(np.arange(len(sizes)), sizes)[: len(inmates)]
    dwellings = homes + len(sizes)

    movers = rng.random(homes) < world.moved_households
    then = np.where(movers[home] & (first < homes), dwellings + home, first)
    alone = np.flatnonzero(rng.random(n) < world.moved_persons)
    then[alone] = dwellings + homes + np.arange(len(alone))
    origin = np.concatenate([np.arange(dwellings), np.arange(homes), first[alone]])
    made = _dwellings(world, origin, dwellings, rng)
    here = {each.name: getattr(people, each.name) for each in fields(people)}
    return People(**here | {"dwelling": first, "dwelling_then": then}), made


def _dwellings(world: World, origin: Numbers, old: int, rng: np.random.Generator) -> Dwellings:
    """The first `old` dwellings lie anywhere in the world's places, half of the others in the town of their origin."""
    land = country()
    reach = {"town": (1, 30), "region": (30, 300), "country": (len(land.towns), 1)}[world.geography]
    start = int(rng.integers(reach[1]))
    weights = land.town_weights[start : start + reach[0]]
    town = start + rng.choice(reach[0], size=len(origin), p=weights / weights.sum())
    near = np.flatnonzero(rng.random(len(origin) - old) < 0.5) + old
    town[near] = town[origin[near]]
    code = land.first_postcode[town] + rng.integers(0, land.postcodes[town])
    # A street lies in one postcode: each has some of the country's names of streets.
    within = np.floor(_STREETS_OF_A_POSTCODE * rng.random(len(origin)) ** 1.5).astype(np.int64)
    street = (code * 37 + within) % len(land.streets)
    number = np.minimum(1 + np.floor(rng.exponential(45.0, size=len(origin))), 999).astype(np.int64)
    line = rng.integers(200_000, 1_000_000, size=len(origin))
    return Dwellings(town, street, code, number, line)
