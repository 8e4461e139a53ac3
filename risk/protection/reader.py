"""Files of a protection beside the records that come in: those that go out, hierarchies, a policy, a log."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from gemel.common.durable import whole_file
from gemel.common.errors import ErrorCode, GemelError, file_error
from gemel.common.records.registry import BY_ENDING
from gemel.common.yaml_document import DocumentKind, read_yaml
from gemel.risk.protection.policy import Policy

PARQUET = (".parquet", ".pq")
_WRITTEN = ("csv", "parquet")
"""Kinds that are written as they are read; the others are as CSV or Parquet."""

_POLICY = DocumentKind("a policy of protection", ErrorCode.PARAMETER, 2**16, shows_values=True)


def written_as(records: Path) -> tuple[str, ...]:
    """Endings of the names that a file's protected records may have."""
    ending = records.suffix.lower()
    kind = BY_ENDING.get(ending)
    return (ending,) if kind is None or kind.name in _WRITTEN else (".csv", ".parquet")


def write_records(path: Path, frame: pl.DataFrame) -> None:
    """Write records as Parquet or CSV, by the name's ending; the file appears whole or not at all."""
    try:
        with whole_file(path) as file:
            if path.suffix.lower() in PARQUET:
                frame.write_parquet(file)
            else:
                frame.write_csv(file)
    except OSError as error:
        raise file_error(ErrorCode.SOURCE, "cannot be written", path, error) from error


def read_hierarchy(path: Path) -> Sequence[Sequence[str]]:
    """Rows of a hierarchy without their heading: CSV ``value,level1,level2,...``."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
    except OSError as error:
        raise file_error(ErrorCode.SOURCE, "the hierarchy cannot be read", path, error) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise GemelError(ErrorCode.SOURCE, "is no CSV in UTF-8", where=str(path)) from error
    if not rows or not rows[0] or rows[0][0].lower() != "value":
        raise GemelError(
            ErrorCode.SOURCE,
            "a hierarchy begins with a heading whose first column is `value`",
            where=str(path),
            remedy="write value,level1,level2 in the first line, then a value and its groups in each",
        )
    return rows[1:]


def read_policy(path: Path) -> Policy:
    """A policy: YAML of limits, or under the heading ``policy``."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise file_error(ErrorCode.SOURCE, "the policy cannot be read", path, error) from error
    except UnicodeDecodeError as error:
        raise GemelError(ErrorCode.SOURCE, "is no text in UTF-8", where=str(path)) from error
    given = read_yaml(text, str(path), _POLICY).value
    if isinstance(given, dict) and set(given) == {"policy"}:
        given = given["policy"]
    if not isinstance(given, dict):
        raise GemelError(
            ErrorCode.SOURCE, "a policy is names and limits", where=str(path), remedy="write `k: 3` for example"
        )
    return Policy.read(given, str(path))


def read_log(path: Path) -> dict[str, Any]:
    """The log of a protection."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise file_error(ErrorCode.SOURCE, "the log cannot be read", path, error) from error
    except ValueError as error:
        raise GemelError(ErrorCode.MALFORMED, "the log is no JSON", where=str(path)) from error
    if not isinstance(found, dict):
        raise GemelError(ErrorCode.MALFORMED, "the log is no JSON object", where=str(path))
    return found
