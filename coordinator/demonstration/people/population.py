"""A population of households: who lives where, with whom, and how old they are.

People are drawn by household because that is what makes linkage hard: brothers and sisters share surname, address
and telephone, and differ in given name and date of birth only. A tenth of the couples keep two surnames, one
surname in fifty is double-barrelled, one person in twelve has no telephone.
"""

from __future__ import annotations

import math
from datetime import date

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.errors import parameter
from gemel.coordinator.demonstration.people.corruption import corrupt
from gemel.coordinator.demonstration.people.names import draw_addresses, name_tables

#: Columns of a generated person, all text, in order.
COLUMNS = (
    *("person_id", "given_name", "surname", "sex", "date_of_birth"),
    *("house_number", "street", "town", "postcode", "phone"),
)

#: The day on which the invented people are counted.
CENSUS_DAY = date(2024, 6, 30)

_DOUBLE_BARRELLED = 0.02
_OWN_SURNAME = 0.10
_SAME_SEX = 0.03
_NO_PHONE = 0.08
_OWN_PHONE = 0.6


def generate(n: int, rng: np.random.Generator, *, sampled: float = 1.0) -> pl.DataFrame:
    """Invent `n` people.

    Parameters
    ----------
    n : int
        How many.
    rng : numpy.random.Generator
        Decides everything: the same state gives the same people.
    sampled : float
        Share of the population that they are, in (0, 1]: with 1 they are whole households, with .1 a person's
        family is mostly absent, and as the share falls all fields but town and postcode become independent.

    Returns
    -------
    polars.DataFrame
        The columns `COLUMNS`, all text, in random order. ``person_id`` is ``P`` and a number; ``date_of_birth`` is
        ``YYYY-MM-DD``; ``phone`` is null for those without one; a postcode lies in one town.

    Raises
    ------
    GemelError
        If `sampled` is not in (0, 1].

    Notes
    -----
    O(n / sampled) in numbers, O(n) in text; about .3 s for 100,000 people.
    """
    if not 0.0 < sampled <= 1.0:
        raise parameter("generate", "sampled must be in (0, 1]", str(sampled))
    homes, ages, females, sharers = _members(math.ceil(n / sampled), rng)
    chosen = rng.choice(len(homes), size=n, replace=False)
    lived_in, home = np.unique(homes[chosen], return_inverse=True)
    age, female, shares_name = ages[chosen], females[chosen], sharers[chosen]
    n_homes = len(lived_in)
    surnames = _surnames(n_homes, rng)
    own = _surnames(n, rng)
    given = np.empty(n, dtype=object)
    for group, named in (("female", female), ("male", ~female)):
        given[named] = name_tables()[group].draw(int(named.sum()), rng)
    addresses, areas = draw_addresses(n_homes, rng)
    people = {
        "given_name": given,
        "surname": np.where(shares_name, surnames[home], own),
        "sex": np.where(female, "F", "M").astype(object),
        "date_of_birth": _birthdays(age, rng),
        **{name: column[home] for name, column in addresses.items()},
        "phone": _phones(home, age, areas, rng),
    }
    width = max(6, len(str(n)))
    frame = {"person_id": [f"P{i:0{width}d}" for i in range(1, n + 1)]}
    frame |= {name: values.tolist() for name, values in people.items()}
    return pl.DataFrame(frame, schema=dict.fromkeys(COLUMNS, pl.String))


def _members(
    n: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Household, age in years, whether female, and whether named as the household is, of each of `n` people.

    `n` households are always enough, since each has a head; those drawn in excess are cut off at the end.
    """
    head_age = 20 + 80 * rng.beta(1.25, 2.0, n)
    head_female = rng.random(n) < 0.45
    couple = rng.random(n) < 0.62
    partner_age = np.clip(head_age + rng.normal(-1.0, 4.0, n), 18.0, 104.0)
    partner_female = np.where(rng.random(n) < _SAME_SEX, head_female, ~head_female)
    partner_named = rng.random(n) >= _OWN_SURNAME

    home = [np.arange(n), np.flatnonzero(couple)]
    age = [head_age, partner_age[couple]]
    female = [head_female, partner_female[couple]]
    named = [np.ones(n, dtype=np.bool_), partner_named[couple]]
    parent_age = np.where(couple, np.minimum(head_age, partner_age), head_age)
    selected = rng.poisson(np.where(couple, 1.7, 0.7))
    for child in range(4):
        # Children of a household are born to parents of 20 to 40, and leave home at 23.
        child_age = parent_age - rng.uniform(20.0, 40.0, n)
        present = (selected > child) & (child_age >= 0) & (child_age < 23)
        home.append(np.flatnonzero(present))
        age.append(child_age[present])
        female.append(rng.random(int(present.sum())) < 0.49)
        named.append(np.ones(int(present.sum()), dtype=np.bool_))
    everyone = np.concatenate(home)
    kept = np.argsort(everyone, kind="stable")[:n]
    return everyone[kept], np.concatenate(age)[kept], np.concatenate(female)[kept], np.concatenate(named)[kept]


def _surnames(n: int, rng: np.random.Generator) -> NDArray[np.object_]:
    table = name_tables()["surname"]
    names = table.draw(n, rng)
    double = np.flatnonzero(rng.random(n) < _DOUBLE_BARRELLED)
    names[double] = names[double] + "-" + table.draw(len(double), rng)
    return names


def _birthdays(age: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.object_]:
    # The day within the year is drawn again: an age is known to the year only.
    days = np.floor(np.floor(age) * 365.2425 + rng.uniform(0.0, 365.2425, len(age))).astype(np.int64)
    born = np.datetime64(CENSUS_DAY, "D") - days.astype("timedelta64[D]")
    return np.datetime_as_string(born, unit="D").astype(object)


def _phones(
    home: NDArray[np.int64], age: NDArray[np.float64], area: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.object_]:
    n = len(home)
    line = rng.integers(200_000, 1_000_000, size=len(area))
    mobile = rng.integers(10_000_000, 100_000_000, size=n)
    own = (rng.random(n) < _OWN_PHONE) & (age >= 14)
    none = rng.random(n) < _NO_PHONE
    shared = [f"0{code} {number:06d}" for code, number in zip(area.tolist(), line.tolist(), strict=True)]
    phones = np.array(shared, dtype=object)[home]
    phones[own] = [f"07{number:08d}" for number in mobile[own].tolist()]
    phones[none] = None
    return phones


IDENTIFIER = "record_id"  #: each file's own identifier
TRUTH = "person_id"  #: who the person is: equal in both files for one person, for evaluation only


def two_files(
    n_alice: int,
    n_bob: int,
    n_common: int,
    corrupted: float | tuple[float, float],
    rng: np.random.Generator,
    *,
    sampled: float = 0.05,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Invent two files that have people in common.

    Parameters
    ----------
    n_alice, n_bob : int
        Records in each file; no person is twice in one file.
    n_common : int
        People who are in both.
    corrupted : float or pair of float
        Share of the records with errors, in each file or in Alice's and in Bob's; errors in one file know nothing
        of those in the other.
    rng : numpy.random.Generator
        Decides everything.
    sampled : float
        Share of the population that is in either file, in (0, 1]. Families share surname, address and telephone, so
        with 1 two records in three have kin in the other file, and a model with independent fields takes kin for
        the same person; with .05, as between two registers of patients, one record in twenty has.

    Returns
    -------
    alice, bob : polars.DataFrame
        Column `IDENTIFIER` (``A...`` and ``B...``, in an order that carries no information), column `TRUTH`, and the
        columns that ``generate`` makes; rows in random order.

    Raises
    ------
    GemelError
        If there are more people in common than records in a file.

    Notes
    -----
    O((n_alice + n_bob) / sampled); two files of 100,000 take about two seconds.
    """
    if not 0 <= n_common <= min(n_alice, n_bob):
        raise parameter("two_files", "n_common must be from 0 to the size of the smaller file", str(n_common))
    shares = corrupted if isinstance(corrupted, tuple) else (corrupted, corrupted)
    people = generate(n_alice + n_bob - n_common, rng, sampled=sampled)
    alice = people.head(n_alice)
    bob = people.tail(n_bob)
    return _file(alice, "A", shares[0], rng), _file(bob, "B", shares[1], rng)


def _file(people: pl.DataFrame, message: str, share: float, rng: np.random.Generator) -> pl.DataFrame:
    n = people.height
    frame = corrupt(people, rng, share)[rng.permutation(n)]
    width = max(6, len(str(n)))
    numbers = rng.permutation(n) + 1
    own = pl.Series(IDENTIFIER, [f"{message}{number:0{width}d}" for number in numbers.tolist()], dtype=pl.String)
    return frame.select(own, *frame.columns)
