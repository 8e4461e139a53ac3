"""A custodian's records, from whatever its configuration names, read and cleaned in one way for every use."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import polars as pl

from gemel.common.parties import Side
from gemel.common.records.registry import read_source
from gemel.common.records.sources import Source
from gemel.common.records.table import SourceTable, check_identifiers
from gemel.common.specification import Specification
from gemel.custodian.cleaning import Cleaned, clean


def _unobserved(stage: str) -> AbstractContextManager[None]:
    return nullcontext()


@dataclass(frozen=True)
class CleanedSource:
    """A custodian's records as they are signed.

    Attributes
    ----------
    cleaned
        The compared fields, the variables, and what cleaning did in counts.
    identifiers
        The custodian's own identifiers, String of shape (n_rows,): each there, and each once.
    """

    cleaned: Cleaned
    identifiers: pl.Series = field(repr=False)


def read_cleaned(
    source: Source, spec: Specification, side: Side, stage: Callable[[str], AbstractContextManager[None]] = _unobserved
) -> CleanedSource:
    """Read the columns that a specification names from a custodian's source, and clean them.

    Parameters
    ----------
    source, spec, side
        Whose records, and for what.
    stage
        Entered around ``read`` and around ``clean``, for progress and timings.

    Raises
    ------
    GemelError
        As `read_source`, `check_identifiers` and `custodian.cleaning.clean`.
    """
    with stage("read"):
        identifier = spec.custodians.of(side).identifier
        table = read_source(source, [identifier, *compared_columns(spec, side)])
        identifiers = check_identifiers(table, identifier)
    with stage("clean"):
        return CleanedSource(_cleaned(table, spec, side), identifiers)


def clean_file(source: Source, spec: Specification, side: Side) -> Cleaned:
    """Read and clean a file for a trial, in which rows need no identifiers.

    Raises
    ------
    GemelError
        As `read_source` and `custodian.cleaning.clean`.
    """
    return _cleaned(read_source(source, compared_columns(spec, side)), spec, side)


def _cleaned(table: SourceTable, spec: Specification, side: Side) -> Cleaned:
    return clean(table.frame, spec, side, table.places)


def compared_columns(spec: Specification, side: Side) -> list[str]:
    """The columns that become fields and variables of a custodian, each once."""
    names = [name for field in spec.fields for name in field.columns_of(side)]
    return list(dict.fromkeys([*names, *(variable.column_of(side) for variable in spec.variables_of(side))]))
