"""Protection of a file of records: `gemel.risk.protect`."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gemel.common.records.frames import Records
from gemel.risk.identification.coding import Missing
from gemel.risk.library.results import ProtectedFile, RiskAssessment
from gemel.risk.protection.methods import Levels, Methods
from gemel.risk.protection.policy import Policy
from gemel.risk.protection.protected_file import protect as protect_file
from gemel.risk.protection.request import Request, sampling_fraction
from gemel.risk.record_table import record_table


def protect(
    records: Records,
    keys: Sequence[str],
    fraction: float | None = None,
    *,
    population: Records | None = None,
    policy: Policy | None = None,
    levels: Levels | None = None,
    methods: Methods | None = None,
    missing: Missing = "level",
    missing_values: Sequence[str] = ("", "NA"),
    importance: Mapping[str, float] | None = None,
    weights: str | None = None,
    numbers: Sequence[str] = (),
    drop: Sequence[str] = (),
    frontier: bool = True,
    seed: int | None = None,
) -> ProtectedFile:
    """The smallest change of records that meets a policy; as `gemel risk protect`.

    Parameters
    ----------
    records, keys
        As for `key_file`.
    fraction
        Sampling fraction, 1 if an intruder may know who is in the file; not with a population.
    population
        The keys of the whole population: risk is then exact, and the policy by that.
    policy
        Limits: ``gemel.risk.Policy(k=3, max_correct_matches=0.02)``.
    levels, methods
        How keys are coarsened, and what else changes: `gemel.risk.Levels`, `gemel.risk.Methods`.
    missing, missing_values
        What a missing or suppressed value agrees with: ``any`` value, or a ``level`` of its own; texts that mean it.
    importance
        What a key is worth, 1 if it is not named.
    weights
        Column of survey weights.
    numbers
        Numeric columns to compare before and after.
    drop
        Columns that are not published.
    frontier
        Try other limits too, to show what they would cost.
    seed
        Of random methods, for trials: whoever knows it can undo them.

    Raises
    ------
    GemelError
        PARAMETER where no candidate meets the policy, or neither or both of `fraction` and `population` are given.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"sex": ["f", "f", "m", "m"], "town": ["Ely", "Ely", "Ely", "Bath"]})
    >>> everyone = pl.concat([people, people])
    >>> made = protect(people, ["sex", "town"], population=everyone, policy=Policy(k=2), frontier=False)
    >>> made.risk.filter(pl.col("measure") == "exact_correct_matches").row(0)
    ('exact_correct_matches', 0.375, 0.25)
    """
    table = record_table(records, "records").columns()
    whole = None if population is None else record_table(population, "population").columns(keys)
    request = Request(
        tuple(keys),
        sampling_fraction(fraction, table.height, None if whole is None else whole.height),
        policy or Policy(),
        levels or Levels(),
        methods or Methods(),
        missing=missing,
        missing_values=tuple(missing_values),
        importance=importance or {},
        weights=weights,
        numbers=tuple(numbers),
        dropped=tuple(drop),
    )
    generator = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
    made = protect_file(table, request, generator, population=whole, frontier=frontier)
    return ProtectedFile(made.frame, made.log, RiskAssessment(made.report, "Protection", _protection_report))


def _protection_report() -> Callable[[Mapping[str, Any]], str]:
    from gemel.risk.protection.report import render

    return render
