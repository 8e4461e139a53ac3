"""What an intruder knows about people, and the records of a release, with the same codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from gemel.common.arrays import I32, I64, Flags, Ints
from gemel.common.errors import ErrorCode, GemelError, parameter

NO_PERSON = -1


@dataclass(frozen=True, eq=False, repr=False)
class AttackedFiles:
    """Both files as level numbers, -1 where a value is missing or the file does not have the variable.

    `known`, `released` (int32, shape (n_people, n_variables), (n_records, n_variables)); `keys`: positions of the
    variables that are compared, those that both files have; `record_of` (int64, shape (n_people,)): the truth: the
    record of each person, or `NO_PERSON`; only the owner of the release has it; `training` (int32, shape (n_training,
    n_variables)): records of other people whom the intruder knows with all variables.
    """

    names: tuple[str, ...]
    levels: tuple[int, ...]
    known: I32
    released: I32
    keys: tuple[int, ...]
    record_of: I64 | None = None
    training: I32 | None = None

    def __post_init__(self) -> None:
        given = [("known people", self.known), ("released records", self.released)]
        for what, codes in (*given, *([] if self.training is None else [("training records", self.training)])):
            if codes.ndim != 2 or codes.shape[1] != len(self.names) or len(self.levels) != len(self.names):
                raise _wrong("expected one column and one number of levels for each variable", what, str(codes.shape))
            if not len(codes):
                raise GemelError(ErrorCode.EMPTY_SOURCE, "expected at least one record", where=what)
            if codes.min() < -1 or (codes >= np.array(self.levels)).any():
                raise _wrong("expected codes from -1 (missing) to one less than the number of levels", what, "others")
        if not self.keys:
            remedy = "give columns the same names in both files"
            raise parameter("keys", "the files have no variable in common", remedy=remedy)
        if self.record_of is not None and (
            len(self.record_of) != len(self.known)
            or self.record_of.min() < NO_PERSON
            or self.record_of.max() >= len(self.released)
        ):
            raise _wrong("expected the record of each person, or -1", "truth", "others")

    @classmethod
    def from_columns(
        cls,
        known: Mapping[str, Any],
        released: Mapping[str, Any],
        keys: Sequence[str] | None = None,
        *,
        ids: tuple[Any, Any] | None = None,
        training: Mapping[str, Any] | None = None,
        missing_values: Sequence[str] = ("", "NA"),
    ) -> AttackedFiles:
        """Code columns of values, which are compared as text.

        `keys`: the variables compared; by default all that both files have; `ids`: the person of each row of both
        files, where the attack is to be compared with the truth; `training`: columns of records of other people, by the
        names that they have in the files; further columns are ignored, and what a record lacks is missing.
        """
        shared = [name for name in known if name in released]
        chosen = shared if keys is None else list(dict.fromkeys(keys))
        for name in chosen:
            if name not in shared:
                remedy = f"both have: {', '.join(shared) or 'none'}"
                what = f"key variable {name} must be in both files"
                raise GemelError(ErrorCode.FIELD_MISSING, what, where="keys", remedy=remedy)
        names = [*chosen, *(n for n in known if n not in chosen and n not in shared)]
        names += [n for n in released if n not in chosen and n not in shared]
        learnt = {} if training is None else {name: training[name] for name in names if name in training}
        if training is not None and not learnt:
            remedy = f"name columns as in the files: {', '.join(names)}"
            what = "the training records have no variable of the files"
            raise GemelError(ErrorCode.FIELD_MISSING, what, where="training", remedy=remedy)
        people, records, others = (
            pl.DataFrame([_text(name, columns[name], missing_values) for name in names if name in columns])
            for columns in (known, released, learnt)
        )
        everyone = pl.concat([people, records, others], how="diagonal")
        for name in learnt:
            _coded_alike(name, everyone[name][: -others.height], others[name])
        labels = {name: everyone[name].drop_nulls().unique().sort() for name in names}
        kept = [name for name in names if len(labels[name]) > 1]  # a variable that cannot vary carries no information
        if not kept:
            raise parameter("files", "no variable has two values")
        truth = None if ids is None else _records_of(ids)
        coded = (pl.col(n).cast(pl.Enum(labels[n])).to_physical().cast(pl.Int32).fill_null(-1) for n in kept)
        codes = everyone.select(coded).to_numpy(order="c")
        sides = np.split(codes, np.cumsum([people.height, records.height]))
        positions = tuple(kept.index(n) for n in chosen if n in kept)
        more = None if training is None else sides[2]
        return cls(tuple(kept), tuple(len(labels[n]) for n in kept), sides[0], sides[1], positions, truth, more)

    @property
    def n_matches(self) -> int | None:
        return None if self.record_of is None else int((self.record_of != NO_PERSON).sum())

    def is_match(self, row_known: Ints, row_released: Ints) -> Flags | None:
        """Whether each pair is of one person; None where the truth is not known."""
        return None if self.record_of is None else np.asarray(self.record_of[row_known] == row_released)


def _text(name: str, values: Any, missing_values: Sequence[str]) -> pl.Series:
    text = pl.Series(name, values, strict=False).cast(pl.String)
    return text.set(text.is_in(list(missing_values)), None)


def _coded_alike(name: str, files: pl.Series, training: pl.Series) -> None:
    """Refuse training records that have values of a variable, none of which either file has: they are coded otherwise.

    Some that neither has are categories like any others.
    """
    values = training.drop_nulls().unique()
    if len(values) and not values.is_in(files.drop_nulls().unique().to_list()).any():
        what = f"no value of {name} in the training records is in either file"
        remedy = "code it as the files do, or leave the column out"
        raise parameter("training", what, f"{len(values)} other values", remedy)


def _records_of(ids: tuple[Any, Any]) -> I64:
    """For each person the row of the release with the same id."""
    people, records = ([str(x) for x in side] for side in ids)
    surplus = len(records) - len(set(records))
    if surplus:
        what, remedy = "a person has several records in the release", "attack a release of one record per person"
        raise parameter("ids", what, f"{surplus} more than people", remedy)
    place = {person: row for row, person in enumerate(records)}
    return np.array([place.get(person, NO_PERSON) for person in people], dtype=np.int64)


def _wrong(expected: str, where: str, got: str) -> GemelError:
    return parameter(where, f"expected {expected}", got)
