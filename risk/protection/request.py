"""What is to be done to a file, checked against its columns, and its keys with their levels."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gemel.common.durable import whole_file
from gemel.common.errors import ErrorCode, GemelError, file_error, parameter
from gemel.common.yaml_document import DocumentKind, read_yaml
from gemel.records.registry import BY_ENDING
from gemel.risk.arrays import Integers
from gemel.risk.identification.coding import Missing, text_of
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.matching.bayesian_matching import bayesian_matching, fit_models
from gemel.risk.identification.matching.recoding_search import minimal_recoding
from gemel.risk.protection.changes import Levels, Methods
from gemel.risk.protection.hierarchies import (
    Hierarchy,
    default_hierarchy,
    hierarchy_of_groups,
    hierarchy_of_rows,
    number_hierarchy,
    quantile_hierarchy,
)
from gemel.risk.protection.key_table import KeyTable, value_codes
from gemel.risk.protection.policy import Policy


@dataclass(frozen=True)
class Request:
    keys: tuple[str, ...]
    fraction: float
    policy: Policy = field(default_factory=Policy)
    levels: Levels = field(default_factory=Levels)
    methods: Methods = field(default_factory=Methods)
    missing: Missing = "level"
    missing_values: tuple[str, ...] = ("", "NA")
    importance: Mapping[str, float] = field(default_factory=dict)
    weights: str | None = None
    numbers: tuple[str, ...] = ()
    model: tuple[str, tuple[str, ...]] | None = None
    dropped: tuple[str, ...] = ()

    def check(self, columns: Sequence[str]) -> None:
        """Refuse names that are no column, or that two parts of the request want differently."""
        levels, methods = self.levels, self.methods
        redrawn, swapped = (*methods.pram, *methods.pram_searched), (*methods.swap, *methods.swap_searched)
        of_columns = {
            "--keys": self.keys,
            "--within": methods.within,
            "--microaggregate": methods.microaggregate,
            "--noise": methods.noise,
            "--round": methods.rounding,
            "--weights": () if self.weights is None else (self.weights,),
            "--numbers": self.numbers,
            "--model": () if self.model is None else (self.model[0], *self.model[1]),
            "--drop": self.dropped,
        }
        of_keys = {
            "--hierarchy": levels.rows,
            "--intervals": levels.widths,
            "--bottom": levels.bottom,
            "--top": levels.top,
            "--quantiles": levels.quantiles,
            "--levels": levels.fixed,
            "--pram": redrawn,
            "--swap": swapped,
            "--importance": self.importance,
        }
        for code, noun, present, options in (
            (ErrorCode.FIELD_MISSING, "column", columns, of_columns),
            (ErrorCode.PARAMETER, "key", self.keys, of_keys),
        ):
            for option, names in options.items():
                if absent := [name for name in names if name not in present]:
                    what, remedy = f"there is no {noun} {', '.join(absent)}", f"the {noun}s are: {', '.join(present)}"
                    raise GemelError(code, what, where=option, remedy=remedy)
        if len(set(self.keys)) != len(self.keys) or not self.keys:
            raise parameter("--keys", "name at least one key, and each once")
        for what, first, second in (
            ("a key is recoded, and its numbers are not changed", self.keys, methods.numeric),
            ("a key cannot be dropped; its last level leaves it out", self.keys, self.dropped),
            ("a key has one kind of levels", levels.rows, (*levels.widths, *levels.bottom, *levels.top)),
            ("a key has one kind of levels", levels.quantiles, (*levels.rows, *levels.widths)),
            ("a key is redrawn or swapped, not both", redrawn, swapped),
            ("a column is dropped, and used otherwise", self.dropped, (*methods.numeric, *self.numbers)),
        ):
            if both := [n for n in first if n in second]:
                raise parameter("options", what, f"both for {', '.join(both)}")
        if not 0.0 < self.fraction <= 1.0:
            got = f"{self.fraction:g}"
            remedy = "give the share of the population that the file holds, 1 if an intruder knows who is in it"
            raise parameter("--fraction", "the sampling fraction must lie above 0 and be at most 1", got, remedy)

    def table(self, frame: pl.DataFrame, population: pl.DataFrame | None = None) -> KeyTable:
        """The keys of a file with their hierarchies, which have the values of its population too, where it is given."""
        columns = {k: frame[k] for k in self.keys} if population is None else self._with_population(frame, population)
        labels, codes = value_codes(columns, self.missing_values)
        codes = codes[: frame.height]
        found = self._recoding_found(frame, labels)
        hierarchies = []
        for q, (name, values) in enumerate(labels.items()):
            counts = np.bincount(codes[codes[:, q] >= 0, q], minlength=len(values))
            hierarchies.append(self._hierarchy(name, values, counts, found))
        return KeyTable(tuple(hierarchies), codes, self.missing)

    def fixed(self, table: KeyTable) -> dict[int, int]:
        """Levels that are given, by the number of the key."""
        found = {}
        for name, level in self.levels.fixed.items():
            q = table.names.index(name)
            if not 0 <= level <= table.heights[q]:
                remedy = f"levels go from 0 (as it is) to {table.heights[q]} (left out)"
                raise parameter(f"--levels, {name}", "the hierarchy has no such level", str(level), remedy)
            found[q] = level
        return found

    def _hierarchy(
        self, name: str, values: tuple[str, ...], counts: Integers, found: Mapping[str, Hierarchy]
    ) -> Hierarchy:
        levels = self.levels
        if len(values) < 2:
            return Hierarchy(name, (values,))  # the table refuses it
        if name in levels.rows:
            rows, source = levels.rows[name]
            return hierarchy_of_rows(name, rows, values, source)
        if name in levels.widths or name in levels.bottom or name in levels.top:
            ends = levels.bottom.get(name), levels.top.get(name)
            return number_hierarchy(name, values, levels.widths.get(name, ()), bottom=ends[0], top=ends[1])
        if name in levels.quantiles:
            return quantile_hierarchy(name, values, counts, levels.quantiles[name])
        return found.get(name) or default_hierarchy(name, values, counts)

    def _with_population(self, frame: pl.DataFrame, population: pl.DataFrame) -> dict[str, pl.Series]:
        absent = [k for k in self.keys if k not in population.columns]
        if absent:
            what = f"the population has no column {', '.join(absent)}"
            remedy = "give a file with all keys, called as in the records"
            raise GemelError(ErrorCode.FIELD_MISSING, what, where="--population", remedy=remedy)
        none = self.missing_values
        return {k: pl.concat([text_of(frame[k], none), text_of(population[k], none)]) for k in self.keys}

    def _recoding_found(self, frame: pl.DataFrame, values: Mapping[str, tuple[str, ...]]) -> dict[str, Hierarchy]:
        if self.levels.found is None:
            return {}
        file = KeyFile.from_columns({k: frame[k] for k in self.keys}, self.fraction, missing_values=self.missing_values)
        models = fit_models(file, rng=np.random.default_rng(1))  # a search alone: nothing random is published
        groups = minimal_recoding(bayesian_matching(file, models), self.levels.found).recoding.groups
        hierarchies = {}
        for name, labels, own in zip(file.names, file.labels, groups, strict=True):
            # A missing value is a level there, and stays missing here.
            number = len(value_codes({name: frame[name]}, self.missing_values)[0][name])
            if 1 < len(set(own[:number])) < number:
                if len(values[name]) > number:
                    what = "groups found for the records do not hold all values of the population"
                    got = f"{len(values[name]) - number} values that no record has"
                    raise parameter(f"--find-recoding, {name}", what, got, "give this key a hierarchy or intervals")
                hierarchies[name] = hierarchy_of_groups(name, labels[:number], own[:number])
        return hierarchies


def sampling_fraction(given: float | None, records: int, people: int | None) -> float:
    """The sampling fraction that is given, or that of the size of a population; PARAMETER for neither or both."""
    if (given is None) == (people is None):
        both = "the population says which fraction of it the file is"
        what = both if given is not None else "a sampling fraction or the population is needed"
        raise parameter("--fraction, --population", what, remedy="give one of the two")
    if given is not None:
        return given
    return min(1.0, records / people) if people else 1.0


# Files of a protection beside the records that come in: those that go out, hierarchies, a policy, a log.

PARQUET = (".parquet", ".pq")
_WRITTEN = ("csv", "parquet")
"""Kinds that are written as they are read; the others are as CSV or Parquet."""

_POLICY = DocumentKind("a policy of protection", ErrorCode.PARAMETER, 2**16, shows_values=True)


def written_as(records: Path) -> tuple[str, ...]:
    """Endings of the names that a file's protected records may have."""
    ending = records.suffix.lower()
    kind = BY_ENDING.get(ending)
    return (ending,) if kind is None or kind.name in _WRITTEN else (".csv", ".parquet")


def write_records(path: Path, frame: pl.DataFrame) -> None:
    """Write records as Parquet or CSV, by the name's ending; the file appears whole or not at all."""
    try:
        with whole_file(path) as file:
            if path.suffix.lower() in PARQUET:
                frame.write_parquet(file)
            else:
                frame.write_csv(file)
    except OSError as error:
        raise file_error(ErrorCode.SOURCE, "cannot be written", path, error) from error


def read_hierarchy(path: Path) -> Sequence[Sequence[str]]:
    """Rows of a hierarchy without their heading: CSV ``value,level1,level2,...``."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
    except OSError as error:
        raise file_error(ErrorCode.SOURCE, "the hierarchy cannot be read", path, error) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise GemelError(ErrorCode.SOURCE, "is no CSV in UTF-8", where=str(path)) from error
    if not rows or not rows[0] or rows[0][0].lower() != "value":
        what = "a hierarchy begins with a heading whose first column is `value`"
        remedy = "write value,level1,level2 in the first line, then a value and its groups in each"
        raise GemelError(ErrorCode.SOURCE, what, where=str(path), remedy=remedy)
    return rows[1:]


def read_policy(path: Path) -> Policy:
    """A policy: YAML of limits, or under the heading ``policy``."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise file_error(ErrorCode.SOURCE, "the policy cannot be read", path, error) from error
    except UnicodeDecodeError as error:
        raise GemelError(ErrorCode.SOURCE, "is no text in UTF-8", where=str(path)) from error
    given = read_yaml(text, str(path), _POLICY).value
    if isinstance(given, dict) and set(given) == {"policy"}:
        given = given["policy"]
    if not isinstance(given, dict):
        what = "a policy is names and limits"
        raise GemelError(ErrorCode.SOURCE, what, where=str(path), remedy="write `k: 3` for example")
    return Policy.read(given, str(path))


def read_log(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise file_error(ErrorCode.SOURCE, "the log cannot be read", path, error) from error
    except ValueError as error:
        raise GemelError(ErrorCode.MALFORMED, "the log is no JSON", where=str(path)) from error
    if not isinstance(found, dict):
        raise GemelError(ErrorCode.MALFORMED, "the log is no JSON object", where=str(path))
    return found
