"""Reading records and populations from files: the only part of this package that opens any."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import polars as pl

from tryst.common.errors import ErrorCode, TrystError
from tryst.risk.identification.beside_keys import BesideKeys
from tryst.risk.identification.coding import Missing, coded
from tryst.risk.identification.key_file import KeyFile
from tryst.risk.identification.survey_weights import Weights, check_weights


def read_key_file(
    records: Path,
    keys: Sequence[str],
    fraction: float | None = None,
    *,
    population: Path | None = None,
    missing: Missing = "level",
    missing_values: Sequence[str] = ("", "NA"),
    perturbed: bool = False,
) -> KeyFile:
    """Read the key variables of a file of records (CSV or Parquet), and of its population where one is given."""
    twice = sorted({k for k in keys if list(keys).count(k) > 1})
    if twice:
        raise TrystError(ErrorCode.PARAMETER, f"a key variable is named twice: {', '.join(twice)}", where="--keys")
    whole = None if population is None else _columns(population, keys).to_dict()
    return KeyFile.from_columns(
        _columns(records, keys).to_dict(),
        fraction,
        population=whole,
        missing=missing,
        missing_values=missing_values,
        perturbed=perturbed,
    )


def read_weights(records: Path, column: str) -> Weights:
    """Survey weights: one number above 0 for each record; anything else is an error that counts what is wrong."""
    values = _columns(records, [column])[column].cast(pl.Float64, strict=False)
    return check_weights(values.to_numpy(), f"{records}, column {column}")


def read_beside(
    records: Path,
    *,
    sensitive: Sequence[str] = (),
    ordinal: Sequence[str] = (),
    household: str | None = None,
    household_keys: Sequence[str] = (),
    fraction_from: Literal["given", "population", "weights"] = "given",
) -> BesideKeys:
    """Read the columns that an assessment uses beside the keys; ordinal variables are sensitive ones too."""
    if household_keys and household is None:
        raise TrystError(
            ErrorCode.PARAMETER,
            "keys of households need the column that states who lives with whom",
            where="--household-keys",
            remedy="give it with --household",
        )
    own = list(dict.fromkeys([*sensitive, *ordinal]))
    names = [*own, *household_keys, *([household] if household is not None else [])]
    if not names:
        return BesideKeys(fraction_from=fraction_from)
    columns = _columns(records, list(dict.fromkeys(names)))
    return BesideKeys(
        sensitive={name: columns[name] for name in own},
        ordinal=frozenset(ordinal),
        household=None if household is None else columns[household],
        household_keys={name: coded(columns[name].cast(pl.String), "level")[1] for name in household_keys},
        fraction_from=fraction_from,
    )


def _columns(path: Path, names: Sequence[str]) -> pl.DataFrame:
    if not path.is_file():
        raise TrystError(ErrorCode.SOURCE, "there is no such file", where=str(path))
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            table = pl.read_parquet(path)
        else:
            table = pl.read_csv(path, infer_schema=False, truncate_ragged_lines=False)
    except pl.exceptions.NoDataError as error:
        raise TrystError(ErrorCode.EMPTY_SOURCE, "the file is empty", where=str(path)) from error
    except (pl.exceptions.PolarsError, OSError) as error:
        raise TrystError(
            ErrorCode.SOURCE, "could not be read as a table", where=str(path), remedy="CSV in UTF-8, or Parquet"
        ) from error
    absent = [n for n in names if n not in table.columns]
    if absent:
        raise TrystError(
            ErrorCode.FIELD_MISSING,
            f"there is no column {', '.join(absent)}",
            where=str(path),
            remedy=f"its columns are: {', '.join(table.columns)}",
        )
    return table.select(names)
