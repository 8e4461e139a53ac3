"""The populations of `benchmarks.rows`: made after descriptions of files for which claims or links were wrong.

Each is made from a seed: two files, or one where people are more than once in it. A description that states no size has
3,000 records in each file. The people are those of the drawn worlds, or the demonstration's where a description speaks
of relatives that no dimension of a world puts into the other file; a fifth of the records have errors where it states
nothing. A file of 10,000 that the descriptions speak of (RLdata10000) is another's, and is made anew after its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from benchmarks.survey import surveys
from benchmarks.worlds.files import files
from benchmarks.worlds.population import Numbers
from benchmarks.worlds.world import quiet
from gemel.coordinator.demonstration.people import corrupt, generate, two_files
from gemel.coordinator.demonstration.people.population import IDENTIFIER

Files = tuple[pl.DataFrame, ...]
"""Alice's and Bob's, or one file; each has a column `TRUTH`."""

ERRORS = 0.2
"""Share of the records with errors, where a description states none."""

_ADDRESS = ("house_number", "street", "town", "postcode")
_REGISTER = ("given_name", "surname", "sex", "date_of_birth", *_ADDRESS, "telephone")
#: A voters' list has no sex, and of the birth the year alone.
_VOTERS = ("given_name", "middle_name", "surname", "birth_year", "birthplace", *_ADDRESS[:3], "county")
_CENSUS = ("given_name", "surname", "sex", "birth_year", "marital_status", "birthplace", *_ADDRESS[:3])
_GERMAN_LISTS = ("given_name", "middle_name", "surname", "birth_year", "birth_month", "birth_day")


def rows(small: bool = False) -> dict[str, Callable[[int], Files]]:
    """What makes the files of each row from a seed, by the row's name; `small`: a tenth of 5,000 records and more."""
    less = 10 if small else 1
    large = 10_000 // less
    return {
        "moved": partial(_world, records=1_500, common=0.1, fields=_REGISTER, kin="persons", moved_households=0.15),
        "foreigners": partial(_foreigners, large),
        "voters": partial(_voters, large, 0.05),
        "voters-20": partial(_voters, large, 0.2),
        "voters-40": partial(_voters, large, 0.4),
        "fathers-and-sons": _fathers_and_sons,
        "siblings-and-twins": _siblings_and_twins,
        "copies-of-columns": partial(
            _world, common=0.1, errors=ERRORS, fields=(*_REGISTER, "full_name", "age"), kin="households"
        ),
        "kin": partial(_invented, 20_000 // less, 20_000 // less, 2_000 // less, sampled=1.0),
        "four-poor-fields": partial(
            _world, common=0.3, errors=ERRORS, fields=("given_name", "sex", "birth_year", "town"), kin="households"
        ),
        "dates-missing": partial(_dates, 0.3, None),
        "placeholders-10": partial(_dates, 0.1, "1900-01-01"),
        "placeholders-15": partial(_dates, 0.15, "1900-01-01"),
        "500-against-20000": partial(_invented, 500 // less, 20_000 // less, 250 // less),
        "homes": _homes,
        "twins-apart": _twins_apart,
        "parts-of-dates": partial(_parts_of_dates, large),
        "census-and-survey": _census_and_survey,
        "categories": lambda seed: surveys(3_000, 1_200, 0.1, np.random.default_rng(seed)),
        "duplicates": lambda seed: (pl.concat(_parts_of_dates(large, seed)),),
        "one-201-times": partial(_crowds, (201,)),
        "three-61-times": partial(_crowds, (61, 61, 61)),
    }


def _world(seed: int, **changes: Any) -> Files:
    """Two files from a whole country in which nothing happens but the changes."""
    return files(quiet(**{"seed": seed, "geography": "country"} | changes))


def _voters(records: int, errors: float, seed: int) -> Files:
    """Two snapshots of whole households, some years apart."""
    happened: dict[str, Any] = {"moved_households": 0.12, "moved_persons": 0.05, "married": 0.04}
    return _world(
        seed, records=records, common=0.7, errors=errors, error_kind="all", fields=_VOTERS, kin="households", **happened
    )


def _foreigners(records: int, seed: int) -> Files:
    """Names of five alphabets' countries, a third romanised otherwise, and a column `date` of which 4 in 10 are off."""
    spelt = {"custom": "mixture", "spelling": "some otherwise", "errors": 0.4, "error_kind": "dates"}
    fields = ("given_name", "surname", "country", "date_of_birth")
    made = _world(seed, records=records, common=0.3, fields=fields, kin="households", **spelt)
    return tuple(table.rename({"date_of_birth": "date"}) for table in made)


def _census_and_survey(seed: int) -> Files:
    """A census and the survey after it, with one to three in a hundred people twice in both."""
    happened = {"errors": 0.1, "moved_households": 0.05, "kin": "households"}
    copies = {"copies": "few", "copies_in": "both", "copies_alike": "changed"}
    return _world(seed, common=0.8, fields=_CENSUS, **happened, **copies)


def _parts_of_dates(records: int, seed: int) -> Files:
    """A file of so many, a tenth of them people who are there again with an error: these are dealt to two files."""
    fields = {"custom": "german", "fields": _GERMAN_LISTS, "kin": "persons"}
    return _world(seed, records=records // 2, common=0.2, errors=0.7, error_kind="all", **fields)


def _invented(n_alice: int, n_bob: int, common: int, seed: int, sampled: float = 0.05) -> Files:
    return two_files(n_alice, n_bob, common, ERRORS, np.random.default_rng(seed), sampled=sampled)


def _dates(share: float, value: str | None, seed: int) -> Files:
    """Of both files a share of the dates of birth is a placeholder or missing; a tenth in common."""
    rng = np.random.default_rng([seed, 1])
    born = "date_of_birth"

    def placed(table: pl.DataFrame) -> pl.DataFrame:
        here = pl.Series(rng.random(table.height) < share)
        return table.with_columns(pl.when(here).then(pl.lit(value, pl.String)).otherwise(pl.col(born)).alias(born))

    alice, bob = _invented(3_000, 3_000, 300, seed)
    return placed(alice), placed(bob)


def _fathers_and_sons(seed: int) -> Files:
    """Of 240 of Alice's men a son of his name and address is in Bob's file; 30 in common."""
    rng = np.random.default_rng(seed)
    alice, bob = _people(30, rng)
    men = pl.Series((alice["sex"] == "M") & (alice["date_of_birth"] < "1985")).arg_true().to_numpy()
    fathers = men[men < alice.height - 30][:240]
    bob = _related(bob, 30, alice[fathers], ("given_name", "surname", "sex"), (20, 38), rng)
    return _finished(alice, bob, rng)


def _siblings_and_twins(seed: int) -> Files:
    """In Bob's file are siblings of 300 and twins of 150 of Alice's people; 90 in common."""
    rng = np.random.default_rng(seed)
    alice, bob = _people(90, rng)
    bob = _related(bob, 90, alice.head(300), ("surname",), (-8, 8), rng)
    bob = _related(bob, 390, alice[300:450], ("surname", "date_of_birth"), None, rng)
    return _finished(alice, bob, rng)


def _twins_apart(seed: int) -> Files:
    """In Bob's file are twins of 300 of Alice's 3,000 people; a tenth in common."""
    rng = np.random.default_rng(seed)
    alice, bob = _people(300, rng)
    bob = _related(bob, 300, alice.head(300), ("surname", "date_of_birth"), None, rng)
    return _finished(alice, bob, rng)


def _homes(seed: int) -> Files:
    """A tenth of all people, of whom a tenth are in common, live in homes of 20 to 200 with one telephone."""
    rng = np.random.default_rng(seed)
    people = generate(5_700, rng, sampled=0.05)
    sizes = rng.integers(20, 201, size=570 // 20)
    inmates = rng.permutation(people.height)[:570]
    firsts = np.repeat(np.cumsum(sizes) - sizes, sizes)[:570]
    where = np.arange(people.height)
    where[inmates] = inmates[firsts]
    columns = (*_ADDRESS, "phone")
    people = people.with_columns(people[name][where] for name in columns)
    return _finished(people.head(3_000), people.tail(3_000), rng)


def _crowds(times: Sequence[int], seed: int) -> Files:
    """One file of 500, in which some people are so many times, three in ten of their further records with errors."""
    rng = np.random.default_rng(seed)
    table, _ = two_files(500 - sum(times) + len(times), 1, 0, ERRORS, rng)
    again = pl.concat([table[[row] * (k - 1)] for row, k in enumerate(times)])
    again = corrupt(again, rng, 0.3).with_columns(
        pl.col(IDENTIFIER) + pl.Series([f"-{number}" for number in range(again.height)])
    )
    return (pl.concat([table, again])[rng.permutation(500)],)


def _people(common: int, rng: np.random.Generator) -> Files:
    """3,000 of Alice's, the last of them the first of Bob's 3,000, without errors; families are mostly absent."""
    people = generate(6_000 - common, rng, sampled=0.05)
    return people.head(3_000), people.tail(3_000)


def _related(
    bob: pl.DataFrame,
    start: int,
    alices: pl.DataFrame,
    same: Sequence[str],
    younger: tuple[int, int] | None,
    rng: np.random.Generator,
) -> pl.DataFrame:
    """Bob's people from `start` become relatives of these of Alice's, at home with them.

    They get the columns `same`, the address, the telephone where it is no mobile, and a date of birth of their own by
    so many years later, drawn between two ends.
    """
    theirs = bob[start : start + alices.height]
    landline = alices["phone"].str.starts_with("07").not_().fill_null(value=False)
    changed = {name: alices[name] for name in (*same, *_ADDRESS)}
    changed["phone"] = alices["phone"].zip_with(landline, theirs["phone"])
    if younger is not None:
        days = rng.integers(365 * younger[0], 365 * younger[1], alices.height)
        changed["date_of_birth"] = _later(alices["date_of_birth"], days)
    related = theirs.with_columns(values.alias(name) for name, values in changed.items())
    return pl.concat([bob.head(start), related, bob[start + alices.height :]])


def _later(dates: pl.Series, days: Numbers) -> pl.Series:
    return pl.Series((dates.to_numpy().astype("datetime64[D]") + days.astype("timedelta64[D]")).astype(str))


def _finished(alice: pl.DataFrame, bob: pl.DataFrame, rng: np.random.Generator) -> Files:
    """Both files with errors, in random order, with identifiers."""
    made = []
    for letter, table in (("A", alice), ("B", bob)):
        wrong = corrupt(table, rng, ERRORS)[rng.permutation(table.height)]
        made.append(wrong.select(pl.Series(IDENTIFIER, [f"{letter}{k}" for k in range(table.height)]), pl.all()))
    return tuple(made)
