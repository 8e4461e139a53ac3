"""Cleaning of files of known values: training records, and the cells of a known joint distribution.

Values are the public categories, whatever a custodian's own file calls them. As everywhere, a value outside the list is
an error and never guessed, and errors have the column and the rows, never the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError, GemelErrors
from gemel.common.records.positions import Found, Positions
from gemel.common.specification import Specification, VariableSpec
from gemel.common.specification.model.blocking import WEIGHT_COLUMNS
from gemel.custodian.cleaning.source_values import text_values
from gemel.custodian.cleaning.variables import placed

SUM_TOLERANCE = 1e-6
"""How far from 1 the shares of all cells may sum."""


@dataclass(frozen=True)
class KnownRecords:
    """The rows of such a file.

    Attributes
    ----------
    places
        By variable of the value model, Int32: the place in the public list, null where it is not known.
    counts : ndarray of float64, shape (n_rows,), optional
        What each row counts: of the cells of a joint distribution, where every place is known.
    """

    places: dict[str, pl.Series] = field(repr=False)
    counts: NDArray[np.float64] | None = field(default=None, repr=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.places.values())))


def clean_training(frame: pl.DataFrame, spec: Specification, positions: Positions, where: str) -> KnownRecords:
    """The training records of a file, each value its place in the public list.

    Parameters
    ----------
    frame
        The file: a column of text for each variable of the value model, under the variable's name. Others are ignored.
    spec
        With a section `latent.training`.
    positions
        Where the rows are, for errors.
    where
        The file, for errors.

    Raises
    ------
    GemelError
        FIELD_MISSING for a missing column, SOURCE for values that are no categories, for another number of records than
        the specification states, and for a file without any value; one error for each column.
    """
    training = None if spec.latent is None else spec.latent.training
    assert training is not None  # noqa: S101 - requested only then
    _rows(frame.height, training.records, "training records", where)
    places = _cleaned(frame, spec, positions, where, missing=True)
    if all(column.null_count() == len(column) for column in places.values()):
        raise _source("no training record has a value", where, f"{frame.height} records", "name another file")
    return KnownRecords(places)


def clean_joint(frame: pl.DataFrame, spec: Specification, positions: Positions, where: str) -> KnownRecords:
    """The cells of a known joint distribution, and what each counts.

    Parameters
    ----------
    frame, positions, where
        As for `clean_training`; the file has a column named ``count`` or one named ``share`` too.
    spec
        With a section `latent.joint`.

    Raises
    ------
    GemelError
        As `clean_training`; SOURCE too for a missing value, a cell in several rows, a count that is no number or is
        negative, counts without any, and shares that do not sum to 1.
    """
    joint = None if spec.latent is None else spec.latent.joint
    assert joint is not None  # noqa: S101 - requested only then
    _rows(frame.height, joint.cells, "cells", where)
    places = _cleaned(frame, spec, positions, where, missing=False)
    _distinct(pl.DataFrame(places), positions, where)
    return KnownRecords(places, _counts(frame, positions, where))


def _rows(found: int, expected: int, what: str, where: str) -> None:
    if found != expected:
        remedy = "state the number of its rows in the specification, which all parties then approve"
        raise _source(f"the specification names a file of {expected:,} {what}", where, f"{found:,}", remedy)


def _cleaned(
    frame: pl.DataFrame, spec: Specification, positions: Positions, where: str, *, missing: bool
) -> dict[str, pl.Series]:
    places, errors = {}, []
    for variable in spec.value_variables:
        try:
            places[variable.name] = _places(frame, variable, positions, where, missing=missing)
        except GemelError as error:
            errors.append(error)
    if errors:
        raise errors[0] if len(errors) == 1 else GemelErrors(errors[0].code, errors)
    return places


def _places(
    frame: pl.DataFrame, variable: VariableSpec, positions: Positions, where: str, *, missing: bool
) -> pl.Series:
    name = variable.name
    if name not in frame.columns:
        raise GemelError(
            ErrorCode.FIELD_MISSING,
            f"there is no column {name!r}, which every variable of the value model has",
            where=where,
            remedy="add it; of training records it may be empty",
        )
    rows = placed(text_values(frame[name], f"variable {name}", f"{where}, column {name!r}"), variable)
    outside = Found()
    outside.add(positions, rows["outside"].to_numpy())
    if outside.count:
        raise _source(
            f"variable {name} has values that are none of its {len(variable.categories)} categories",
            f"{where}, column {name!r}",
            f"{outside.count:,} of {len(rows):,} rows ({outside})",
            "write the specification's categories, or one of the variable's `missing` codes",
        )
    unknown = Found()
    unknown.add(positions, rows["place"].is_null().to_numpy())
    if unknown.count and not missing:
        raise _source(
            "a cell of a joint distribution has a category of every variable",
            f"{where}, column {name!r}",
            f"{unknown.count:,} of {len(rows):,} rows without ({unknown})",
            "give it, or bring the records themselves as `latent.training`, in which values may be missing",
        )
    return rows["place"].alias(name)


def _distinct(cells: pl.DataFrame, positions: Positions, where: str) -> None:
    repeated = Found()
    repeated.add(positions, ~cells.select(pl.struct(pl.all()).is_first_distinct()).to_series().to_numpy())
    if repeated.count:
        raise _source(
            "each cell of a joint distribution has one row",
            where,
            f"{repeated.count:,} rows of cells that were there already ({repeated})",
            "add up the rows of a cell; capitals and blanks make no other category",
        )


def _counts(frame: pl.DataFrame, positions: Positions, where: str) -> NDArray[np.float64]:
    found = [name for name in WEIGHT_COLUMNS if name in frame.columns]
    if len(found) != 1:
        what = "a joint distribution has a column named count, or one named share"
        raise _source(what, where, "both" if found else "neither", "keep one of the two")
    (name,) = found
    numbers = frame[name].cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    counts = numbers.fill_null(np.nan).to_numpy()
    for what, wrong in _wrong_counts(counts):
        rows = Found()
        rows.add(positions, wrong)
        if rows.count:
            got = f"{rows.count:,} of {len(counts):,} rows that are not ({rows})"
            raise _source(f"every {name} must be {what}", f"{where}, column {name!r}", got, "correct the file")
    with np.errstate(over="ignore"):
        total = float(counts.sum())
    if name == "share" and abs(total - 1) > SUM_TOLERANCE:
        raise _source(
            f"the shares of a joint distribution must sum to 1, within {SUM_TOLERANCE:g}",
            f"{where}, column 'share'",
            f"a sum of {total:.9g}",
            "add the cells that are missing, or name the column count",
        )
    if not 0 < total < np.inf:
        raise _source("counts must have a sum above 0", f"{where}, column {name!r}", f"{total:g}", "correct the file")
    return np.ascontiguousarray(counts, dtype=np.float64)


def _wrong_counts(counts: NDArray[np.float64]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    yield "a number", ~np.isfinite(counts)
    yield "0 or more", counts < 0


def _source(what: str, where: str, got: str, remedy: str) -> GemelError:
    return GemelError(ErrorCode.SOURCE, what, where=where, got=got, remedy=remedy)
