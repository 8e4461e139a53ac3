"""What is to be done to a file: its keys and their levels, the policy, the methods for values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tryst.common.errors import ErrorCode, TrystError
from tryst.risk.identification.coding import Missing
from tryst.risk.identification.key_file import KeyFile
from tryst.risk.identification.matching.bayesian_matching import bayesian_matching, fit_models
from tryst.risk.identification.matching.recoding_search import minimal_recoding
from tryst.risk.protection.hierarchies import (
    Hierarchy,
    default_hierarchy,
    hierarchy_of_groups,
    hierarchy_of_rows,
    number_hierarchy,
    quantile_hierarchy,
)
from tryst.risk.protection.key_table import KeyTable, value_codes
from tryst.risk.protection.policy import Policy


@dataclass(frozen=True)
class Levels:
    """How the levels of keys are made; a key that is not named has those of `default_hierarchy`.

    Parameters
    ----------
    rows
        By key: rows of a hierarchy, and what errors call its source.
    widths, bottom, top
        By key: widths of intervals, and coded ends.
    quantiles
        By key: numbers of intervals with about as many records each.
    fixed
        By key: the level at which it is published; others are searched.
    found
        Expected correct matches with sample uniques, as a share of the records, for which `minimal_recoding` looks for
        a recoding; its groups are the one level of the keys that have none by the other ways.
    """

    rows: Mapping[str, tuple[Sequence[Sequence[str]], str]] = field(default_factory=dict)
    widths: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    bottom: Mapping[str, int] = field(default_factory=dict)
    top: Mapping[str, int] = field(default_factory=dict)
    quantiles: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    fixed: Mapping[str, int] = field(default_factory=dict)
    found: float | None = None


@dataclass(frozen=True)
class Methods:
    """Methods that change values.

    Parameters
    ----------
    pram, swap
        By key: the share of records that take part.
    within
        Columns that make the strata of swapping.
    microaggregate
        Numeric columns that are averaged together, and the smallest group; none for none.
    group
        The smallest group.
    noise
        By column, its share of the variance; columns of one share are changed together, and keep their correlations.
    rounding
        By column, its base.
    """

    pram: Mapping[str, float] = field(default_factory=dict)
    swap: Mapping[str, float] = field(default_factory=dict)
    within: tuple[str, ...] = ()
    microaggregate: tuple[str, ...] = ()
    group: int = 3
    noise: Mapping[str, float] = field(default_factory=dict)
    rounding: Mapping[str, float] = field(default_factory=dict)

    @property
    def numeric(self) -> tuple[str, ...]:
        """Columns whose numbers are changed."""
        return tuple(dict.fromkeys((*self.microaggregate, *self.noise, *self.rounding)))


@dataclass(frozen=True)
class Request:
    """Everything that is to be done.

    Parameters
    ----------
    keys
        What an intruder may know.
    fraction
        Sampling fraction.
    policy
        Limits.
    levels, methods
        How.
    missing, missing_values
        As in `KeyFile`.
    importance
        Of keys, 1 by default.
    weights
        Column of survey weights.
    numbers
        Numeric columns whose moments and correlations are compared, beside those that are changed.
    model
        Outcome and terms of a regression that is compared.
    dropped
        Columns that are not published.
    """

    keys: tuple[str, ...]
    fraction: float
    policy: Policy = field(default_factory=Policy)
    levels: Levels = field(default_factory=Levels)
    methods: Methods = field(default_factory=Methods)
    missing: Missing = "any"
    missing_values: tuple[str, ...] = ("", "NA")
    importance: Mapping[str, float] = field(default_factory=dict)
    weights: str | None = None
    numbers: tuple[str, ...] = ()
    model: tuple[str, tuple[str, ...]] | None = None
    dropped: tuple[str, ...] = ()

    def check(self, columns: Sequence[str]) -> None:
        """Refuse names that are no column, or that two parts of the request want differently.

        Raises
        ------
        TrystError
            FIELD_MISSING or PARAMETER.
        """
        levels, methods = self.levels, self.methods
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
        for option, names in of_columns.items():
            absent = [n for n in names if n not in columns]
            if absent:
                raise TrystError(
                    ErrorCode.FIELD_MISSING,
                    f"there is no column {', '.join(absent)}",
                    where=option,
                    remedy=f"the columns are: {', '.join(columns)}",
                )
        of_keys = {
            "--hierarchy": levels.rows,
            "--intervals": levels.widths,
            "--bottom": levels.bottom,
            "--top": levels.top,
            "--quantiles": levels.quantiles,
            "--levels": levels.fixed,
            "--pram": methods.pram,
            "--swap": methods.swap,
            "--importance": self.importance,
        }
        for option, names in of_keys.items():
            unknown = [n for n in names if n not in self.keys]
            if unknown:
                raise TrystError(
                    ErrorCode.PARAMETER,
                    f"there is no key {', '.join(unknown)}",
                    where=option,
                    remedy=f"the keys are: {', '.join(self.keys)}",
                )
        if len(set(self.keys)) != len(self.keys) or not self.keys:
            raise TrystError(ErrorCode.PARAMETER, "name at least one key, and each once", where="--keys")
        for what, first, second in (
            ("a key is recoded, and its numbers are not changed", self.keys, methods.numeric),
            ("a key cannot be dropped; its last level leaves it out", self.keys, self.dropped),
            ("a key has one kind of levels", levels.rows, (*levels.widths, *levels.bottom, *levels.top)),
            ("a key has one kind of levels", levels.quantiles, (*levels.rows, *levels.widths)),
            ("a key is redrawn or swapped, not both", methods.pram, methods.swap),
            ("a column is dropped, and used otherwise", self.dropped, (*methods.numeric, *self.numbers)),
        ):
            both = [n for n in first if n in second]
            if both:
                raise TrystError(ErrorCode.PARAMETER, what, where="options", got=f"both for {', '.join(both)}")
        if not 0.0 < self.fraction <= 1.0:
            raise TrystError(
                ErrorCode.PARAMETER,
                "the sampling fraction must lie above 0 and be at most 1",
                where="--fraction",
                got=f"{self.fraction:g}",
                remedy="give the share of the population that the file holds, 1 if an intruder knows who is in it",
            )

    def table(self, frame: pl.DataFrame) -> KeyTable:
        """The keys of a file with their hierarchies."""
        labels, codes = value_codes({k: frame[k] for k in self.keys}, self.missing_values)
        found = self._recoding_found(frame)
        hierarchies = []
        for q, (name, values) in enumerate(labels.items()):
            counts = np.bincount(codes[codes[:, q] >= 0, q], minlength=len(values))
            hierarchies.append(self._hierarchy(name, values, counts, found))
        return KeyTable(tuple(hierarchies), codes, self.missing)

    def fixed(self, table: KeyTable) -> dict[int, int]:
        """Levels that are given, by the number of the key.

        Raises
        ------
        TrystError
            PARAMETER for a level that the hierarchy does not have.
        """
        found = {}
        for name, level in self.levels.fixed.items():
            q = table.names.index(name)
            if not 0 <= level <= table.heights[q]:
                raise TrystError(
                    ErrorCode.PARAMETER,
                    "the hierarchy has no such level",
                    where=f"--levels, {name}",
                    got=str(level),
                    remedy=f"levels go from 0 (as it is) to {table.heights[q]} (left out)",
                )
            found[q] = level
        return found

    def _hierarchy(
        self, name: str, values: tuple[str, ...], counts: NDArray[np.int64], found: Mapping[str, Hierarchy]
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

    def _recoding_found(self, frame: pl.DataFrame) -> dict[str, Hierarchy]:
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
                hierarchies[name] = hierarchy_of_groups(name, labels[:number], own[:number])
        return hierarchies
