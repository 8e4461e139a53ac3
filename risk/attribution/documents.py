"""Releases as documents: the JSON that `gemel risk` reads, as plain dictionaries, checked as a whole.

    {"name": "...", "population": 18,
     "variables": [{"name": "sex", "levels": ["f", "m"]}, ...],
     "truth": [[3, 1], ...],                                    the data holder's, optional
     "tables": [
       {"name": "...", "variables": ["sex", {"name": "age", "groups": {"young": ["0-9", "10-19"], ...}}],
        "protection": {"kind": "random", "base": 5},            the law the counts are under; exact by default
        "counts": [...]},                                       null for a withheld count, [low, high] for a range
       {"name": "...", "variables": [...], "seed": 1,           no counts: made from the truth
        "protection": [{"kind": "recoding", ...}, {"kind": "controlled", "base": 3}]}]}

Every issue is reported in one go, each with its path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from gemel.common.errors import ErrorCode, GemelError, GemelErrors, parameter
from gemel.risk.arrays import Integers
from gemel.risk.attribution import laws
from gemel.risk.attribution.laws import UNPUBLISHED, Law, Sampled
from gemel.risk.attribution.protections import KINDS
from gemel.risk.attribution.protections.records import Chain, Protection
from gemel.risk.attribution.release import Axis, Published, Release, Table, Variable, publish

Document = Mapping[str, Any]
Made = TypeVar("Made")


def _tuples(value: Any) -> Any:
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value


LAWS: dict[str, type[Law]] = {
    "exact": laws.Exact,
    "conventional": laws.Conventional,
    "random": laws.Random,
    "controlled": laws.Adjacent,
    "unbiased_controlled": laws.Random,
    "barnardisation": laws.Barnardised,
    "record_suppression": laws.BelowThreshold,
    "adjustment": laws.Within,
    "sample": laws.Sampled,
}
"""By the kinds that documents have for them; of two kinds of one law the first is written."""


def protection_of(document: Any) -> Protection:
    """A protection, or a list of them in order, from its document: ``{"kind": "random", "base": 5}``."""
    if isinstance(document, list):
        return Chain(tuple(protection_of(d) for d in document))
    return _made(document, KINDS)


def law_of(document: Any, population: int | None, size: int) -> Law:
    """The law of counts that are given; a sample's sizes come from the release and from the counts."""
    given = dict(document or {"kind": "exact"}) if not isinstance(document, list) else {"kind": "a list"}
    if given.get("kind") == "sample":
        total = given.get("population", population)
        if total is None:
            raise parameter("", "a sample needs the population's size", remedy="give `population` in the release")
        return Sampled(int(total), int(given.get("size", size)))
    if given.get("kind") == "adjustment":
        reach = given.get("reach", 2)
        return laws.Within(int(reach), int(reach))
    return _made(given, LAWS)


def _made(document: Any, known: Mapping[str, Callable[..., Made]]) -> Made:
    kind = str(document.get("kind")) if isinstance(document, Mapping) else ""
    if kind not in known:
        raise parameter("", "there is no such protection", repr(kind), f"use one of: {', '.join(known)}")
    settings = {k: _tuples(v) for k, v in document.items() if k != "kind"}
    try:
        return known[kind](**settings)
    except TypeError as error:
        raise parameter("", f"protection {kind!r} has other settings", ", ".join(sorted(settings)) or "none") from error


def release_of(document: Document) -> Release:
    known = ("name", "population", "variables", "truth", "tables", "keys", "sensitive", "samples")
    issues = [parameter(key, "is not known here") for key in document if key not in known]
    variables: list[Variable] = []
    for i, entry in enumerate(document.get("variables", [])):
        with _gathered(issues, f"variables[{i}]", "needs a `name` and a list `levels`"):
            variables.append(Variable(str(entry["name"]), tuple(str(x) for x in entry["levels"])))
    if issues:
        raise _together(document, issues)
    truth: Table | None = None
    if document.get("truth") is not None:
        with _gathered(issues, "truth", "needs whole numbers, nested as the variables"):
            truth = Table(tuple(variables), _array(document["truth"]))
    tables: list[Published] = []
    population = document.get("population")
    for i, entry in enumerate(document.get("tables", [])):
        name = entry.get("name") if isinstance(entry, Mapping) else None
        where = f"tables[{i}]" + (f" ({name})" if name else "")
        with _gathered(issues, where, "needs `variables` and `counts`"):
            tables.extend(_tables(entry, variables, truth, population, f"table {i + 1}"))
    if not tables and not issues:
        issues.append(parameter("tables", "a release needs at least one table"))
    if population is not None and not issues:
        tables.append(Published("population", (), np.asarray(int(population))))
    if issues:
        raise _together(document, issues)
    return Release(tuple(variables), tuple(tables), truth, str(document.get("name", "release")))


@contextmanager
def _gathered(issues: list[GemelError], path: str, need: str) -> Iterator[None]:
    """Add what is wrong with a part of a document, at its path, to the issues."""
    try:
        yield
    except GemelErrors as error:
        issues.append(GemelError(error.code, error.what, where=path))
    except GemelError as error:
        where = f"{path}, {error.where}" if error.where else path
        issues.append(GemelError(error.code, error.what, where=where, got=error.got, remedy=error.remedy))
    except (KeyError, ValueError, TypeError):
        issues.append(parameter(path, need))


def _tables(
    entry: Document, variables: list[Variable], truth: Table | None, population: int | None, default: str
) -> list[Published]:
    by_name = {v.name: v for v in variables}
    axes: list[Axis] = []
    for selected in entry["variables"]:
        name = selected["name"] if isinstance(selected, Mapping) else selected
        if name not in by_name:
            raise parameter("", f"there is no variable {name!r}", remedy=f"the variables are: {', '.join(by_name)}")
        variable = by_name[name]
        if isinstance(selected, Mapping) and "groups" in selected:
            axes.append(Axis.recoded(variable, selected["groups"]))
        elif isinstance(selected, Mapping) and "levels" in selected:
            axes.append(_reordered(variable, [str(x) for x in selected["levels"]]))
        else:
            axes.append(Axis.full(variable))
    name = str(entry.get("name", default))
    if "counts" in entry:
        counts, intervals = _counts(entry["counts"])
        shown = int(counts[counts >= 0].sum())
        law = law_of(entry.get("protection"), population, shown)
        return [Published(name, tuple(axes), counts, law, intervals)]
    if truth is None:
        raise parameter("", "a table without counts is made from the truth, which is absent", remedy="give `truth`")
    own = truth.over([a.variable for a in axes])
    given = publish(name, own)
    if not all(a.simple for a in axes):
        raise parameter("", "recode a table that is made by a protection of kind 'recoding'")
    protection = entry.get("protection")
    if protection in (None, {"kind": "exact"}):
        return [given]
    outcome = protection_of(protection).protect(given, np.random.default_rng(int(entry.get("seed", 0))))
    return [outcome.table, *outcome.also]


def _reordered(variable: Variable, levels: list[str]) -> Axis:
    """A table may list a variable's levels in its own order, but they must be the same ones."""
    if sorted(levels) != sorted(variable.levels):
        what = f"tables that share variable {variable.name!r} must have its {variable.size} levels"
        remedy = f"the levels are: {', '.join(variable.levels)}; use `groups` for a recoding or a part of them"
        raise parameter("", what, f"{len(levels)}: {', '.join(levels)}", remedy)
    return Axis.recoded(variable, {level: [level] for level in levels})


def _array(value: Any) -> Integers:
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind not in "iuf":
        raise ValueError
    return array


def _counts(value: Any) -> tuple[Integers, tuple[Integers, Integers] | None]:
    """Counts with null for withheld ones; ``{"low": 0, "high": 2}`` for a range."""
    cells = np.array(value, dtype=object)
    counts, low, high = (np.full(cells.shape, fill, dtype=np.int64) for fill in (UNPUBLISHED, 0, laws.INFINITE))
    ranges = False
    for index in np.ndindex(cells.shape):
        item: Any = cells[index]
        if isinstance(item, Mapping):
            ranges = True
            low[index], high[index] = int(item["low"]), int(item["high"])
        elif item is not None:
            if isinstance(item, bool) or not isinstance(item, int | float) or item != int(item):
                raise ValueError
            if item < 0:
                raise parameter("", "counts must not be negative", remedy="use null for a withheld count")
            counts[index] = int(item)
    return counts, (low, high) if ranges else None


def _together(document: Document, issues: list[GemelError]) -> GemelError:
    if len(issues) == 1:
        return issues[0]
    return GemelErrors(ErrorCode.PARAMETER, issues, where=str(document.get("name", "release")))
