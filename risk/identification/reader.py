"""Key variables, weights and other columns of records, from a file or a table in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.records.frames import Records
from gemel.risk.identification.assessment.beside_keys import BesideKeys
from gemel.risk.identification.coding import Missing, coded
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.survey_weights import Weights, check_weights
from gemel.risk.record_table import RecordTable, record_table


def read_key_file(
    records: Records,
    keys: Sequence[str],
    fraction: float | None = None,
    *,
    population: Records | None = None,
    missing: Missing = "level",
    missing_values: Sequence[str] = ("", "NA"),
    perturbed: bool = False,
) -> KeyFile:
    """Read the key variables of records, and of their population where one is given; see `record_table`."""
    twice = sorted({k for k in keys if list(keys).count(k) > 1})
    if twice:
        raise parameter("--keys", f"a key variable is named twice: {', '.join(twice)}")
    whole = None if population is None else record_table(population, "population").columns(keys).to_dict()
    return KeyFile.from_columns(
        record_table(records, "records").columns(keys).to_dict(),
        fraction,
        population=whole,
        missing=missing,
        missing_values=missing_values,
        perturbed=perturbed,
    )


def read_weights(records: Records, column: str) -> Weights:
    """Survey weights: one number above 0 for each record; anything else is an error that counts what is wrong."""
    table = record_table(records, "records")
    values = table.codes([column])[column].cast(pl.Float64, strict=False)
    return check_weights(values.to_numpy(), f"{table}, column {column}")


def read_beside(
    records: Records,
    *,
    sensitive: Sequence[str] = (),
    ordinal: Sequence[str] = (),
    unit: str | None = None,
    unit_keys: Sequence[str] = (),
    fraction_from: Literal["given", "population", "weights"] = "given",
    labels_of: Sequence[str] = (),
    numeric: Sequence[str] = (),
    original: Records | None = None,
) -> BesideKeys:
    """Read the columns that an assessment uses beside the keys; ordinal variables are sensitive ones too.

    Of `labels_of`, the keys, and of all these columns it is noted which have labels of values, and what is read.
    """
    if unit_keys and unit is None:
        raise parameter(
            "--unit-keys",
            "keys of units need the column that states which unit each record belongs to",
            remedy="give it with --unit",
        )
    if bool(numeric) != (original is not None):
        raise parameter(
            "--numeric, --original",
            "numeric variables are compared with their values before protection",
            remedy="give both: the numeric columns, and the file as it was",
        )
    own = list(dict.fromkeys([*sensitive, *ordinal]))
    table = record_table(records, "records")
    before = {} if original is None else read_numbers(record_table(original, "original"), numeric)
    after = read_numbers(table, numeric) if numeric else {}
    names = [*own, *unit_keys, *([unit] if unit is not None else [])]
    with_labels = table.labelled(list(dict.fromkeys([*labels_of, *names])))
    rows, n_columns = whole_of(table.codes())
    if not names:
        return BesideKeys(
            fraction_from=fraction_from,
            labelled=with_labels,
            numeric=after,
            original=before,
            rows=rows,
            n_columns=n_columns,
        )
    columns = table.columns(names)
    return BesideKeys(
        sensitive={name: columns[name] for name in own},
        ordinal=frozenset(ordinal),
        unit=None if unit is None else columns[unit],
        unit_keys={name: coded(columns[name].cast(pl.String), "level")[1] for name in unit_keys},
        fraction_from=fraction_from,
        labelled=with_labels,
        numeric=after,
        original=before,
        rows=rows,
        n_columns=n_columns,
    )


def whole_of(table: pl.DataFrame) -> tuple[NDArray[np.uint64], int]:
    """A number of each record's whole content, and the columns that it is of; none that has another value in each."""
    kept = [name for name in table.columns if table[name].n_unique() < len(table)]
    if not kept:
        return np.arange(len(table), dtype=np.uint64), 0
    return table.select(kept).hash_rows(seed=0).to_numpy(), len(kept)


def read_numbers(records: RecordTable, names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Columns of numbers, NaN where a value is missing; texts that are no numbers are an error with their count."""
    table = records.codes(names)
    found = {}
    for name in names:
        column = table[name]
        numbers = column.cast(pl.Float64, strict=False)
        wrong = numbers.null_count() - column.null_count()
        if column.dtype == pl.String:
            wrong -= int(column.str.strip_chars().is_in(["", "NA"]).sum())
        if wrong > 0:
            raise GemelError(
                ErrorCode.SOURCE,
                "numeric variables must be numbers",
                where=f"{records}, column {name}",
                got=f"{wrong:,} that are not",
                remedy="leave a missing value empty, or write NA",
            )
        found[name] = numbers.fill_null(np.nan).to_numpy()
    return found
