"""What a file holds of its people: how names are written, errors, what is missing, placeholders, and the form of dates.

Values are changed in this order, and columns that repeat others are made last: a copy of an erroneous value is
erroneous.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.worlds.errors import befall, habits, sufferers
from benchmarks.worlds.naming import CUSTOMS, Names, Texts, lists
from benchmarks.worlds.population import ALICES_DATE, Lots, Numbers
from benchmarks.worlds.traits import Columns
from benchmarks.worlds.world import World
from benchmarks.worlds.writing import one_surname, written
from gemel.coordinator.demonstration.people.corruption import NICKNAMES

#: Of which columns a column of a file is made, where it is not of one of the same name.
_MADE_OF = {
    "full_name": ("given_name", "middle_name", "surname"),
    **dict.fromkeys(("date_of_birth", "birth_day", "birth_month", "birth_year", "age"), ("born",)),
    "gender": ("sex",),
    "area": ("postcode",),
}
_NAMES = ("given_name", "middle_name", "surname", "full_name")
_SURNAME_FIRST = tuple(CUSTOMS.index(custom) for custom in ("chinese", "vietnamese"))
_TWO_SURNAMES = tuple(CUSTOMS.index(custom) for custom in ("spanish", "portuguese"))
_PLACEHOLDERS = {
    "given_name": ("BABY", "UNKNOWN", "n/a"),
    "surname": ("UNKNOWN", "n/a"),
    "born": ("1900-01-01", "1901-01-01"),
    "telephone": ("0000000000",),
    "postcode": ("99999", "0000"),
    "email": ("none@example.com",),
    "street": ("UNKNOWN", "NO FIXED ABODE"),
    "policy_number": ("00000000",),
}
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def needed(world: World) -> set[str]:
    """The columns of which those of the files are made."""
    return {source for name in world.fields for source in _MADE_OF.get(name, (name,))}


def spelt(world: World, columns: Columns, people: Numbers, names: Names, bobs: bool, rng: np.random.Generator) -> None:
    """Write the names of a record's person into its columns, as Alice does or as Bob does."""
    n = len(people)
    custom = names.custom[people]
    share = {"same": 0.0, "some otherwise": 0.35, "all otherwise": 1.0}[world.spelling] if bobs else 0.0
    otherwise = rng.random(n) < share
    # Whoever reads Cyrillic need not romanise it; a second way of doing so has a first.
    native = world.custom == "slavic" and world.spelling == "same"
    given = names.given[people]
    middle = names.middle[people]
    surname = (names.surname_then if bobs else names.surname)[people]
    if bobs:
        short = np.flatnonzero(rng.random(n) < world.nicknames)
        for row in short.tolist():
            first, _, rest = given[row].partition(" ")
            forms = _short_forms().get(first, ())
            if forms:
                given[row] = forms[row % len(forms)] + (f" {rest}" if rest else "")
        less = rng.random(n) < world.shortened
        middle[less] = None
        for row in np.flatnonzero(less & np.isin(custom, _TWO_SURNAMES)).tolist():
            surname[row] = one_surname(surname[row])
    given, middle, surname = (written(column, custom, otherwise, native) for column in (given, middle, surname))
    has_both = np.array([name is not None for name in surname.tolist()])
    exchanged = has_both & (rng.random(n) < (world.exchanged if bobs else 0.0))
    columns["given_name"] = np.where(exchanged, surname, given)
    columns["surname"] = np.where(exchanged, given, surname)
    columns["middle_name"] = middle


@cache
def _short_forms() -> dict[str, tuple[str, ...]]:
    own = {name: tuple(short) for name, *short in (entry.split() for entry in lists()["short"].split(";"))}
    return NICKNAMES | own


def spoilt(
    world: World, columns: Columns, prone: Lots, again: NDArray[np.bool_], bobs: bool, rng: np.random.Generator
) -> None:
    """Put errors, gaps and placeholders into a file's columns, in place.

    `prone` is how near every record's person is to errors, and `again` says which records are a person's second and
    further ones: half of these have an error more where copies are changed.
    """
    n = len(prone)
    share = world.errors * (1.0 if bobs else 0.5)
    befall(world, columns, sufferers(world, prone, share, rng), rng)
    if world.copies_alike == "changed":
        befall(world, columns, np.flatnonzero(again & (rng.random(n) < 0.5)), rng)
    if world.clustered == "clerks" and share:
        habits(columns, rng)

    names = list(columns)
    often = rng.permutation(len(names)) < (len(names) + 1) // 2
    for k, name in enumerate(names):
        columns[name][rng.random(n) < (world.missing if often[k] else world.missing / 5)] = None
    bare = rng.random(n) < world.bare
    kept = [name for name in names if name in _NAMES] or names[:2]
    for name in names:
        if name not in kept:
            columns[name][bare] = None
    if bobs and world.lacking and len(names) > 3:
        # Not the first, without which some profiles have nothing.
        columns[names[int(rng.integers(1, len(names)))]][: round(world.lacking * n)] = None
    possible = [name for name in names if name in _PLACEHOLDERS]
    if possible and (bobs or rng.random() < 0.5):
        for name in rng.permutation(possible)[: 1 if world.placed == "one field" else 2].tolist():
            here = np.flatnonzero(rng.random(n) < world.placeholders)
            columns[name][here] = _PLACEHOLDERS[name][int(rng.integers(len(_PLACEHOLDERS[name])))]


def held(world: World, columns: Columns, custom: Numbers, date_form: str) -> Columns:
    """The columns of the file, made of these."""
    made: Columns = {}
    for name in world.fields:
        if name == "full_name":
            made[name] = _full_names(columns, custom)
        elif name == "gender":
            made[name] = columns["sex"].copy()
        elif name == "area":
            made[name] = _each(columns["postcode"], lambda code: code[:-1] or code)
        elif name in _MADE_OF:
            made[name] = _each(columns["born"], partial(_of_date, name, date_form))
        else:
            made[name] = columns[name]
    return made


def _each(values: Texts, rule: Callable[[str], str | None]) -> Texts:
    return np.array([None if value is None else rule(value) for value in values.tolist()], dtype=object)


def _full_names(columns: Columns, custom: Numbers) -> Texts:
    """The names in the order of the custom; None without any."""
    parts = zip(*(columns[name].tolist() for name in _NAMES[:3]), custom.tolist(), strict=True)
    joined = []
    for given, middle, surname, k in parts:
        order = (surname, middle, given) if k in _SURNAME_FIRST else (given, middle, surname)
        joined.append(" ".join(part for part in order if part) or None)
    return np.array(joined, dtype=object)


def _of_date(column: str, form: str, born: str) -> str | None:
    """A column made of a date of birth; an erroneous date is written as it is."""
    year, month, day = born.split("-")
    if column == "date_of_birth":
        if form == "words":
            return f"{int(day)} {_MONTHS[int(month) - 1] if 1 <= int(month) <= 12 else month} {year}"
        return {
            "iso": born,
            "day first": f"{day}/{month}/{year}",
            "month first": f"{month}/{day}/{year}",
            "short year": f"{day}.{month}.{year[2:]}",
        }[form]
    if column == "age":
        today = str(ALICES_DATE)
        return str(int(today[:4]) - int(year) - (today[5:] < f"{month}-{day}"))
    return {"birth_year": year, "birth_month": month, "birth_day": day}[column]
