"""What goes wrong with records: errors of one kind or of all, by themselves, in persons, or in clerks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.worlds.population import Lots, Numbers
from benchmarks.worlds.traits import CATEGORIES, Columns
from benchmarks.worlds.world import World
from gemel.coordinator.demonstration.people.corruption import ERRORS

_CLERKS = 20
_TRIED = 50  # values, for another code
_NAMES = ("given_name", "middle_name", "surname")
_WORDS = (*_NAMES, "street", "town", "birthplace", "school", "hospital", "country")
_NUMBERS = ("house_number", "postcode", "telephone", "policy_number", "email", "birth_weight")
_CODES = ("sex", "county", *CATEGORIES)

#: Of each kind: the errors of the demonstration that it makes, and the columns that it may befall.
_KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "typing": (("insert", "delete", "substitute", "substitute", "transpose"), (*_WORDS, *_NUMBERS)),
    "hearing": (("mishear",), _WORDS),
    "scanning": (("misread",), (*_WORDS, *_NUMBERS)),
    "dates": (("swap_day_and_month", "misdate", "near", "near"), ("born",)),
    "codes": (("miscode",), _CODES),
}
#: How often each kind occurs where all do.
_ALL = {"typing": 0.45, "hearing": 0.15, "scanning": 0.1, "dates": 0.15, "codes": 0.15}
_SHORT = (("Street", "St"), ("Road", "Rd"), ("Avenue", "Ave"), ("Lane", "Ln"), ("Close", "Cl"), ("Drive", "Dr"))


def sufferers(world: World, prone: Lots, share: float, rng: np.random.Generator) -> Numbers:
    """The rows with errors, round(share * n) of them: any, those of the most prone persons, or mostly a few clerks'."""
    n = len(prone)
    key = {"no": rng.random(n), "persons": prone}.get(world.clustered)
    if key is None:
        care = rng.gamma(0.6, size=_CLERKS)[np.arange(n) * _CLERKS // n]
        key = rng.exponential(size=n) / care
    found: Numbers = np.argsort(key, kind="stable")[: round(share * n)]
    return found


def befall(world: World, columns: Columns, rows: Numbers, rng: np.random.Generator) -> None:
    """Put one error into each of the rows, and more into some; columns are changed in place. O(errors)."""
    more = 1.5 if world.clustered == "persons" else 0.4
    again = np.repeat(rows, 1 + rng.poisson(more, size=len(rows)))
    possible = {kind: [name for name in names if name in columns] for kind, (_, names) in _KINDS.items()}
    kinds = _ALL if world.error_kind == "all" else {world.error_kind: 1.0}
    if world.error_kind in ("typing", "scanning"):
        # Who types or scans a form of codes gets codes wrong, less often than words.
        kinds = {world.error_kind: len(possible[world.error_kind]), "codes": len(possible["codes"]) / 2}
    kinds = {kind: weight for kind, weight in kinds.items() if possible[kind]}
    if not kinds:
        # Nothing can be misheard, say: whatever there is is miscoded.
        kinds, possible = {"codes": 1.0}, {"codes": [name for name in columns if name != "born"]}
    weights = np.array(list(kinds.values()))
    which = rng.choice(len(kinds), size=len(again), p=weights / weights.sum())
    for kind, names in ((list(kinds)[k], possible[list(kinds)[k]]) for k in range(len(kinds))):
        here = again[which == list(kinds).index(kind)]
        field = rng.integers(len(names), size=len(here))
        error = rng.integers(len(_KINDS[kind][0]), size=len(here))
        at, choice = rng.random(len(here)), rng.random(len(here))
        for row, f, e, a, c in zip(*(x.tolist() for x in (here, field, error, at, choice)), strict=True):
            values = columns[names[f]]
            if values[row] is not None:
                values[row] = _wrong(values, row, _KINDS[kind][0][e], a, c, world.birth)


def _wrong(values: NDArray[np.object_], row: int, error: str, at: float, choice: float, birth: str) -> str:
    """A value with an error; another error, where this one does not change it."""
    value: str = values[row]
    if error == "miscode":
        others = values[int(choice * len(values)) :][:_TRIED].tolist()
        return next((other for other in others if other not in (None, value)), value)
    if error in ("near", "swap_day_and_month", "misdate"):
        if error == "near" or birth in ("year", "age"):
            return _near(value, at, choice, birth)
        changed = ERRORS[error](value, at, choice)
        return changed if changed != value else ERRORS["misdate"](value, at, choice)
    changed = ERRORS[error](value, at, choice)
    return changed if changed.strip() and changed != value else ERRORS["substitute"](value, at, choice)


def _near(value: str, at: float, choice: float, birth: str) -> str:
    """A date one off, by a year, or by a day where the day is held."""
    year, month, day = value.split("-")
    step = 1 if choice < 0.5 else -1
    if (at < 0.5 or birth in ("year", "age")) and year.isdigit():
        return f"{int(year) + step:04d}-{month}-{day}"
    return f"{year}-{month}-{(int(day) - 1 + step) % 28 + 1:02d}" if day.isdigit() else value


def habits(columns: Columns, rng: np.random.Generator) -> None:
    """Two of the clerks have a way of their own with all that they write: three records in ten are theirs."""
    n = len(next(iter(columns.values())))
    possible = [habit for name, habit in _HABITS if name in columns]
    for _ in range(2 if possible else 0):
        start, habit = int(rng.integers(0, max(1, n - n * 15 // 100))), possible[rng.integers(len(possible))]
        habit(columns, slice(start, start + n * 15 // 100))


def _abbreviate(columns: Columns, rows: slice) -> None:
    def short(street: str) -> str:
        for long, brief in _SHORT:
            street = street.replace(f" {long}", f" {brief}")
        return street

    columns["street"][rows] = [None if street is None else short(street) for street in columns["street"][rows]]


def _initial(columns: Columns, rows: slice) -> None:
    columns["given_name"][rows] = [None if name is None else name[0] for name in columns["given_name"][rows]]


def _capitals(columns: Columns, rows: slice) -> None:
    columns["surname"][rows] = [None if name is None else name.upper() for name in columns["surname"][rows]]


def _without_middle(columns: Columns, rows: slice) -> None:
    columns["middle_name"][rows] = None


_HABITS = (
    ("street", _abbreviate),
    ("given_name", _initial),
    ("surname", _capitals),
    ("middle_name", _without_middle),
)
