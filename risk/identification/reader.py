"""Key variables, weights and other columns of records, from a file or a table in memory.

Reading misclassification matrices from files: YAML or JSON for several key variables, CSV for one.

YAML and JSON have for each key variable, for each true level, what is observed::

    region:
      north: {north: 0.9, south: 0.1}
      south: {south: 1}

CSV has a row for each level; the first cell of the header states what the rows are, ``true`` or ``observed``, and the
other cells name the levels of the columns.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.yaml_document import DocumentKind, read_yaml
from gemel.records.frames import Records
from gemel.risk.arrays import Floats
from gemel.risk.identification.assessment.beside_keys import BesideKeys, FractionFrom
from gemel.risk.identification.coding import Missing, coded
from gemel.risk.identification.individual_risk import Weights, check_weights
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.misclassification import Stated
from gemel.risk.record_table import RecordTable, record_table

_KIND = DocumentKind("a file of misclassification matrices", ErrorCode.SOURCE, 64 << 20, shows_values=False)
_TEXTS = (".yaml", ".yml", ".json")


def read_theta(given: Sequence[str]) -> dict[str, Stated]:
    """Matrices by key variable.

    `given`: each a path of a YAML or JSON file, or ``KEY=PATH`` of a CSV file.
    """
    found: dict[str, Stated] = {}
    for each in given:
        if Path(each).suffix.lower() in _TEXTS:
            own = _of_text(Path(each))
        else:
            name, mark, path = each.partition("=")
            if not mark or not name.strip() or Path(path).suffix.lower() != ".csv":
                raise parameter(
                    "--theta",
                    "must be a YAML or JSON file, or a key variable and its CSV file",
                    each,
                    "write --theta matrices.yaml, or --theta region=region.csv",
                )
            own = {name.strip(): _of_csv(Path(path))}
        for name, stated in own.items():
            if name in found:
                raise parameter("--theta", f"{name} has two misclassification matrices")
            found[name] = stated
    return found


def _of_text(path: Path) -> dict[str, Stated]:
    document = read_yaml(_text(path), str(path), _KIND)
    if document.repeated:
        raise document.errors(document.repeated)
    value = document.value
    if not isinstance(value, Mapping) or not value:
        raise _no_matrix(str(path), "a mapping of key variables is needed")
    return {str(name): stated_matrix(own, f"{path}, {name}") for name, own in value.items()}


def stated_matrix(value: Any, where: str) -> Stated:
    """One matrix from plain dictionaries; SOURCE for anything else."""
    if not isinstance(value, Mapping) or not all(isinstance(row, Mapping) for row in value.values()):
        raise _no_matrix(where, "for each true level a mapping of what is observed is needed")
    return {
        str(true): {str(observed): _probability(p, f"{where}, {true}") for observed, p in row.items()}
        for true, row in value.items()
    }


def _of_csv(path: Path) -> Stated:
    rows = [row for row in csv.reader(_text(path).splitlines()) if row]
    head = rows[0] if rows else [""]
    kind, columns = head[0].strip().lower(), [cell.strip() for cell in head[1:]]
    if kind not in ("true", "observed"):
        raise _no_matrix(f"{path}, line 1", "the first cell states what the rows are, `true` or `observed`")
    stated: dict[str, dict[str, float]] = {column: {} for column in columns} if kind == "observed" else {}
    names: set[str] = set()
    for number, row in enumerate(rows[1:], 2):
        where, name = f"{path}, row {number}", row[0].strip()
        if len(row) != len(head) or name in names or len(set(columns)) != len(columns):
            raise _no_matrix(where, "every level once, and a probability for every column, are needed")
        names.add(name)
        for column, cell in zip(columns, row[1:], strict=True):
            true, observed = (name, column) if kind == "true" else (column, name)
            stated.setdefault(true, {})[observed] = _probability(cell.strip() or 0, where)
    return stated


def _probability(value: Any, where: str) -> float:
    try:
        number = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError):
        number = math.nan
    if not 0.0 <= number <= 1.0:
        raise _no_matrix(where, "probabilities from 0 to 1 are needed")
    return number


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise GemelError(ErrorCode.SOURCE, "there is no such file", where=str(path)) from error
    except (UnicodeDecodeError, OSError) as error:
        raise GemelError(ErrorCode.SOURCE, "could not be read as UTF-8 text", where=str(path)) from error


def _no_matrix(where: str, needed: str) -> GemelError:
    return GemelError(
        ErrorCode.SOURCE,
        f"is no misclassification matrix: {needed}",
        where=where,
        remedy="see docs/identification.md for both forms",
    )


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


@dataclass(frozen=True)
class BesideColumns:
    sensitive: Sequence[str] = ()
    ordinal: Sequence[str] = ()
    unit: str | None = None
    unit_keys: Sequence[str] = ()
    numeric: Sequence[str] = ()
    original: Records | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.unit_keys and self.unit is None:
            raise parameter(
                "--unit-keys",
                "keys of units need the column that states which unit each record belongs to",
                remedy="give it with --unit",
            )
        if bool(self.numeric) != (self.original is not None):
            raise parameter(
                "--numeric, --original",
                "numeric variables are compared with their values before protection",
                remedy="give both: the numeric columns, and the file as it was",
            )


def read_beside(
    table: RecordTable, chosen: BesideColumns, fraction_from: FractionFrom = "given", *, labels_of: Sequence[str] = ()
) -> BesideKeys:
    """Read the columns that an assessment uses beside the keys; ordinal variables are sensitive ones too.

    Of `labels_of`, the keys, and of all these columns it is noted which have labels of values, and what is read.
    """
    sensitive = list(dict.fromkeys([*chosen.sensitive, *chosen.ordinal]))
    numeric, original = chosen.numeric, chosen.original
    before = {} if original is None else read_numbers(record_table(original, "original"), numeric)
    after = read_numbers(table, numeric) if numeric else {}
    names = [*sensitive, *chosen.unit_keys, *([chosen.unit] if chosen.unit is not None else [])]
    labelled = table.labelled(list(dict.fromkeys([*labels_of, *names])))
    rows, n_columns = whole_of(table.codes())
    columns = table.columns(names) if names else pl.DataFrame()
    return BesideKeys(
        sensitive={name: columns[name] for name in sensitive},
        ordinal=frozenset(chosen.ordinal),
        unit=None if chosen.unit is None else columns[chosen.unit],
        unit_keys={name: coded(columns[name].cast(pl.String), "level")[1] for name in chosen.unit_keys},
        fraction_from=fraction_from,
        labelled=labelled,
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


def read_numbers(records: RecordTable, names: Sequence[str]) -> dict[str, Floats]:
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
