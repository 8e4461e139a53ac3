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
from benchmarks.worlds.files import ID, files
from benchmarks.worlds.population import Numbers
from benchmarks.worlds.world import quiet
from gemel.coordinator.demonstration.people import TRUTH, corrupt, generate, two_files
from gemel.coordinator.demonstration.people.population import CENSUS_DAY, IDENTIFIER

Files = tuple[pl.DataFrame, ...]
"""Alice's and Bob's, or one file; each has a column `TRUTH`."""

ERRORS = 0.2
"""Share of the records with errors, where a description states none."""

_ADDRESS = ("house_number", "street", "town", "postcode")
_REGISTER = ("given_name", "surname", "sex", "date_of_birth", *_ADDRESS, "telephone")
#: A voters' list has no sex, of the birth the year alone, and a birthplace that is mostly the same.
_VOTERS = ("given_name", "surname", "birth_year", "country", *_ADDRESS[:3], "county")
_CENSUS = ("given_name", "surname", "sex", "birth_year", "marital_status", "birthplace", *_ADDRESS[:3])
_CUSTOMS = ("slavic", "arabic", "chinese", "vietnamese", "indian")
_GERMAN_LISTS = ("given_name", "middle_name", "surname", "birth_year", "birth_month", "birth_day")


def rows(small: bool = False) -> dict[str, Callable[[int], Files]]:
    """What makes the files of each row from a seed, by the row's name; `small`: a tenth of 5,000 records and more."""
    less = 10 if small else 1
    large = 10_000 // less
    return {
        "moved": partial(_world, records=1_500, common=0.1, fields=_REGISTER, kin="persons", moved_households=0.15),
        "foreigners": partial(_foreigners, large),
        "voters": partial(_voters, large, 0.1, 0.1),
        "voters-20": partial(_voters, large, 0.2, 0.0),
        "voters-40": partial(_voters, large, 0.4, 0.0),
        "fathers-and-sons": _fathers_and_sons,
        "siblings-and-twins": _siblings_and_twins,
        "copies-of-columns": _copies_of_columns,
        "kin": partial(_invented, 20_000 // less, 20_000 // less, 2_000 // less, sampled=1.0),
        "four-poor-fields": _four_poor_fields,
        "dates-missing": partial(_dates, 0.3, None),
        "placeholders-10": partial(_dates, 0.1, "1900-01-01"),
        "placeholders-15": partial(_dates, 0.15, "1900-01-01"),
        "500-against-20000": partial(_invented, 500 // less, 20_000 // less, 50 // less, sampled=1.0),
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


def _voters(records: int, errors: float, missing: float, seed: int) -> Files:
    """Two snapshots of whole households, some years apart."""
    happened: dict[str, Any] = {"moved_households": 0.12, "moved_persons": 0.05, "married": 0.04, "missing": missing}
    wrong = {"errors": errors, "error_kind": "all", "kin": "households", "geography": "region"}
    made = _world(seed, records=records, common=0.7, fields=_VOTERS, **happened, **wrong)
    return tuple(table.rename({"country": "birthplace"}) for table in made)


def _foreigners(records: int, seed: int) -> Files:
    """Names of five customs, romanised otherwise in Bob's file, and a column `date`, most of it off there."""
    changes: dict[str, Any] = {"records": records // 5, "common": 0.3, "spelling": "all otherwise"}
    changes |= {"errors": 0.8, "error_kind": "dates", "fields": ("given_name", "surname", "date_of_birth")}
    parts = [_world(10 * seed + k, custom=custom, **changes) for k, custom in enumerate(_CUSTOMS)]
    made = []
    for tables in zip(*parts, strict=True):
        told = (
            table.with_columns((pl.lit(str(k)) + pl.col(name)).alias(name) for name in (ID, TRUTH))
            for k, table in enumerate(tables)
        )
        made.append(pl.concat(told).rename({"date_of_birth": "date"}))
    return tuple(made)


def _copies_of_columns(seed: int) -> Files:
    """Beside the names there is the full name, and beside the date of birth the age; a tenth in common."""
    age = CENSUS_DAY.year - pl.col("date_of_birth").str.head(4).cast(pl.Int32, strict=False)
    full = pl.concat_str("given_name", "surname", separator=" ", ignore_nulls=True)
    made = _invented(3_000, 3_000, 300, seed)
    return tuple(table.with_columns(full_name=full, age=age.cast(pl.String)) for table in made)


def _four_poor_fields(seed: int) -> Files:
    """Whole households, of which the fields hardly tell a member; a tenth in common."""
    fields = ("surname", "postcode", "household_size", "sex")
    return _world(
        seed, common=0.1, errors=ERRORS, error_kind="all", fields=fields, kin="households", geography="region"
    )


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
    """Of both files a share of the dates of birth is a placeholder or missing; whole families, 30 people in common."""
    rng = np.random.default_rng([seed, 1])
    born = "date_of_birth"

    def placed(table: pl.DataFrame) -> pl.DataFrame:
        here = pl.Series(rng.random(table.height) < share)
        return table.with_columns(pl.when(here).then(pl.lit(value, pl.String)).otherwise(pl.col(born)).alias(born))

    alice, bob = _invented(3_000, 3_000, 30, seed, sampled=1.0)
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
    """In Bob's file are siblings of 600 and twins of 300 of Alice's people; 30 in common."""
    rng = np.random.default_rng(seed)
    alice, bob = _people(30, rng)
    bob = _related(bob, 30, alice.head(600), ("surname",), (-8, 8), rng)
    bob = _related(bob, 630, alice[600:900], ("surname", "date_of_birth"), None, rng)
    return _finished(alice, bob, rng)


def _twins_apart(seed: int) -> Files:
    """In Bob's file are twins of 300 of Alice's 3,000 people; a tenth in common."""
    rng = np.random.default_rng(seed)
    alice, bob = _people(300, rng)
    bob = _related(bob, 300, alice.head(300), ("surname", "date_of_birth"), None, rng)
    return _finished(alice, bob, rng)


def _homes(seed: int) -> Files:
    """Whole families, 30 people in common; a tenth of all live in homes of 20 to 200 with one telephone."""
    rng = np.random.default_rng(seed)
    people = generate(5_970, rng)
    sizes = rng.integers(20, 201, size=597 // 20 + 1)
    inmates = rng.permutation(people.height)[:597]
    where = np.arange(people.height)
    where[inmates] = inmates[np.repeat(np.cumsum(sizes) - sizes, sizes)[:597]]
    people = people.with_columns(people[name][where] for name in (*_ADDRESS, "phone"))
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
