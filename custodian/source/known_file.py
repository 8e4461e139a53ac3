"""The files that a specification names by their digest: found among those of the configuration, read and cleaned."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from gemel.common.arrays import F64, Columns
from gemel.common.errors import ErrorCode, GemelError, file_error
from gemel.common.parties import Side
from gemel.common.signatures.layout import JOINT, TRAINING, KnownFile, known_files
from gemel.common.specification import Specification, VariableSpec, load_specification
from gemel.common.specification.model.blocking import WEIGHT_COLUMNS
from gemel.custodian.cleaning.source_values import raise_all, text_values
from gemel.custodian.cleaning.variables import placed
from gemel.records.registry import file_source, read_source
from gemel.records.table import Found, Positions

# Values are the public categories, whatever a custodian's own file calls them. As everywhere, a value outside the list
# is an error and never guessed, and errors have the column and the rows, never the value.

SUM_TOLERANCE = 1e-6
"""How far from 1 the shares of all cells may sum."""


@dataclass(frozen=True)
class KnownRecords:
    """The rows of such a file.

    `places` are Int32 by variable of the value model: the place in the public list, null where it is not known;
    `counts`, float64 of shape (n_rows,), are of the cells of a joint distribution, where every place is known.
    """

    places: Columns = field(repr=False)
    counts: F64 | None = field(default=None, repr=False)

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.places.values())))


def clean_training(frame: pl.DataFrame, spec: Specification, positions: Positions, where: str) -> KnownRecords:
    """The training records of a file, each value its place in the public list."""
    training = None if spec.latent is None else spec.latent.training
    assert training is not None  # noqa: S101 - requested only then
    _rows(frame.height, training.records, "training records", where)
    places = _cleaned(frame, spec, positions, where, missing=True)
    if all(column.null_count() == len(column) for column in places.values()):
        raise _source("no training record has a value", where, f"{frame.height} records", "name another file")
    return KnownRecords(places)


def clean_joint(frame: pl.DataFrame, spec: Specification, positions: Positions, where: str) -> KnownRecords:
    """The cells of a known joint distribution, and what each counts."""
    joint = None if spec.latent is None else spec.latent.joint
    assert joint is not None  # noqa: S101 - requested only then
    _rows(frame.height, joint.cells, "cells", where)
    places = _cleaned(frame, spec, positions, where, missing=False)
    again = ~pl.DataFrame(places).select(pl.struct(pl.all()).is_first_distinct()).to_series()
    remedy = "add up the rows of a cell; capitals and blanks make no other category"
    got = "rows of cells that were there already"
    _refuse(again, positions, "each cell of a joint distribution has one row", where, got, remedy)
    return KnownRecords(places, _counts(frame, positions, where))


def _rows(found: int, expected: int, what: str, where: str) -> None:
    if found != expected:
        remedy = "state the number of its rows in the specification, which all parties then approve"
        raise _source(f"the specification names a file of {expected:,} {what}", where, f"{found:,}", remedy)


def _cleaned(frame: pl.DataFrame, spec: Specification, positions: Positions, where: str, *, missing: bool) -> Columns:
    places, errors = {}, []
    for variable in spec.value_variables:
        try:
            places[variable.name] = _places(frame, variable, positions, where, missing=missing)
        except GemelError as error:
            errors.append(error)
    raise_all(errors)
    return places


def _places(
    frame: pl.DataFrame, variable: VariableSpec, positions: Positions, where: str, *, missing: bool
) -> pl.Series:
    name = variable.name
    if name not in frame.columns:
        what = f"there is no column {name!r}, which every variable of the value model has"
        remedy = "add it; of training records it may be empty"
        raise GemelError(ErrorCode.FIELD_MISSING, what, where=where, remedy=remedy)
    rows = placed(text_values(frame[name], f"variable {name}", f"{where}, column {name!r}"), variable)
    where = f"{where}, column {name!r}"
    what = f"variable {name} has values that are none of its {len(variable.categories)} categories"
    remedy = "write the specification's categories, or one of the variable's `missing` codes"
    _refuse(rows["outside"], positions, what, where, f"of {len(rows):,} rows", remedy)
    if not missing:
        what = "a cell of a joint distribution has a category of every variable"
        remedy = "give it, or bring the records themselves as `latent.training`, in which values may be missing"
        _refuse(rows["place"].is_null(), positions, what, where, f"of {len(rows):,} rows without", remedy)
    return rows["place"].alias(name)


def _refuse(wrong: pl.Series, positions: Positions, what: str, where: str, got: str, remedy: str) -> None:
    """Refuse a file of which some rows are wrong: as many, with the words of `got`, and where they are."""
    rows = Found()
    rows.add(positions, wrong.to_numpy())
    if rows.count:
        raise _source(what, where, f"{rows.count:,} {got} ({rows})", remedy)


def _counts(frame: pl.DataFrame, positions: Positions, where: str) -> F64:
    found = [name for name in WEIGHT_COLUMNS if name in frame.columns]
    if len(found) != 1:
        what = "a joint distribution has a column named count, or one named share"
        raise _source(what, where, "both" if found else "neither", "keep one of the two")
    (name,) = found
    numbers = frame[name].cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False).fill_null(np.nan)
    where, got = f"{where}, column {name!r}", f"of {len(numbers):,} rows that are not"
    _refuse(~numbers.is_finite(), positions, f"every {name} must be a number", where, got, "correct the file")
    _refuse(numbers < 0, positions, f"every {name} must be 0 or more", where, got, "correct the file")
    counts = numbers.to_numpy()
    with np.errstate(over="ignore"):
        total = float(counts.sum())
    if name == "share" and abs(total - 1) > SUM_TOLERANCE:
        what = f"the shares of a joint distribution must sum to 1, within {SUM_TOLERANCE:g}"
        remedy = "add the cells that are missing, or name the column count"
        raise _source(what, where, f"a sum of {total:.9g}", remedy)
    if not 0 < total < np.inf:
        raise _source("counts must have a sum above 0", where, f"{total:g}", "correct the file")
    return np.ascontiguousarray(counts, dtype=np.float64)


def _source(what: str, where: str, got: str, remedy: str) -> GemelError:
    return GemelError(ErrorCode.SOURCE, what, where=where, got=got, remedy=remedy)


MAX_BYTES = 256 << 20
"""A longer file is not read."""
_BLOCK = 1 << 20
_WORDS = {TRAINING: ("training records", "latent.training"), JOINT: ("a joint distribution", "latent.joint")}
_CLEANERS = {TRAINING: clean_training, JOINT: clean_joint}


def read_known_files(paths: Sequence[Path], spec: Specification, side: Side) -> tuple[KnownRecords, ...]:
    """The files that one custodian is to send, of those that the configuration has, in the order of their sets.

    Raises `GemelError`: CONFIGURATION if no file has the digest that the specification names; SOURCE for one that
    cannot be read, is too long or has changed while it was read; otherwise as `clean_training` and `clean_joint`.
    """
    return tuple(_read(paths, rule, file, spec) for rule, file in known_files(spec, side).items())


def named_file(spec: Specification, path: Path, by: str) -> str:
    """The line of a specification that names a file: training records, or with counts or shares a joint distribution.

    `by` is the custodian that will have it. Raises `GemelError`: SPECIFICATION if it has no latent step, or may name no
    file of this length; otherwise as `read_known_files`.
    """
    if spec.latent is None:
        what = "without a latent step no file is named"
        raise GemelError(ErrorCode.SPECIFICATION, what, where="latent", got="none", remedy="add the section `latent`")
    digest = _digest(path)
    table = read_source(file_source(path), None)
    joint = bool(set(WEIGHT_COLUMNS) & set(table.frame.columns))
    name, rows, rule = ("joint", "cells", JOINT) if joint else ("training", "records", TRAINING)
    file = {"by": by, "sha256": digest, rows: table.n_rows}
    content = spec.model_dump(mode="json")
    content["latent"] |= {"training": None, "joint": None, name: file}
    # JSON is YAML: what the reader refuses it refuses with a path and a reason.
    naming = load_specification(json.dumps(content), f"the specification, if it named {path.name}")
    _CLEANERS[rule](table.frame, naming, table.places, str(path))
    return f"{name}: {{by: {by}, sha256: {digest}, {rows}: {table.n_rows}}}"


def _read(paths: Sequence[Path], rule: str, file: KnownFile, spec: Specification) -> KnownRecords:
    what, option = _WORDS[rule]
    unread: GemelError | None = None
    for path in paths:
        try:
            digest = _digest(path)
        except GemelError as error:  # of another project, perhaps: it counts only where no file is the one
            unread = unread or error
            continue
        if digest != file.sha256:
            continue
        table = read_source(file_source(path), None)
        found = _CLEANERS[rule](table.frame, spec, table.places, str(path))
        if _digest(path) != file.sha256:
            raise GemelError(ErrorCode.SOURCE, "the file has changed while it was read", where=str(path))
        return found
    if unread is not None:
        raise unread
    what = f"the specification names a file of {what} of this custodian by its SHA-256, {file.sha256}"
    got = f"{len(paths)} files, none with this digest" if paths else "no files"
    remedy = "add the path of that very file to `known_files`, or ask the coordinator which file is meant"
    raise GemelError(ErrorCode.CONFIGURATION, what, where=f"known_files, {option}", got=got, remedy=remedy)


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            what = f"a file of known values has at most {MAX_BYTES >> 20} MiB"
            remedy = "leave out the columns that are no variable of the value model, or records"
            raise GemelError(ErrorCode.SOURCE, what, where=str(path), got=f"{size:,} bytes", remedy=remedy)
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                found.update(block)
    except OSError as error:
        remedy = "check `known_files` and the file's permissions"
        raise file_error(ErrorCode.SOURCE, "cannot be read", path, error, remedy, inline=True) from None
    return found.hexdigest()
