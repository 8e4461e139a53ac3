"""Reading misclassification matrices from files: YAML or JSON for several key variables, CSV for one.

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
from pathlib import Path
from typing import Any

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.yaml_document import DocumentKind, read_yaml
from gemel.risk.identification.misclassification.matrices import Stated

_KIND = DocumentKind("a file of misclassification matrices", ErrorCode.SOURCE, 64 << 20, shows_values=False)
_TEXTS = (".yaml", ".yml", ".json")


def read_theta(given: Sequence[str]) -> dict[str, Stated]:
    """Matrices by key variable.

    Parameters
    ----------
    given
        Each a path of a YAML or JSON file, or ``KEY=PATH`` of a CSV file.

    Raises
    ------
    GemelError
        A file that is not there or no matrix; a variable given twice.
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
