"""FHIR resources Patient, one as JSON on each line, flattened to columns.

A patient may have several names, addresses and identifiers; of each one is taken, by its `use`: of names official, then
usual, then one without a use; of addresses home, then one without a use; of both, old ones last. The columns
are in docs/records.md; several given names, and several lines of an address, have blanks between.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from gemel.common.errors import ErrorCode, GemelError
from gemel.records.sources import FhirSource
from gemel.records.table import SourceTable, line_tables, require_columns, unreadable

IDENTIFIER = "identifier."
"""What the name of an identifier's column begins with."""
MAX_LINE = 16 << 20
"""Bytes of a line at most: a resource may hold a photograph."""
MAX_SYSTEMS = 100
"""Systems of identifiers at most."""

_ROWS_AT_ONCE = 20_000
_NAMES = ("official", "usual", "", "temp", "nickname", "anonymous", "maiden", "old")
_ADDRESSES = ("home", "", "temp", "work", "billing", "old")
_IDENTIFIERS = ("official", "usual", "", "secondary", "temp", "old")
_COLUMNS = (
    *("id", "family", "given", "prefix", "suffix", "maiden_family", "birth_date", "gender", "deceased_date"),
    *("address_line", "city", "district", "state", "postal_code", "country", "phone", "email"),
)

_ELEMENTS = {"id": "id", "birth_date": "birthDate", "gender": "gender", "deceased_date": "deceasedDateTime"}
"""Columns that are elements of the patient's own."""
Resource = Mapping[str, Any]
Found = TypeVar("Found")


class _MalformedError(Exception):
    """An element is not as the standard has it."""


def fhir_batches(source: FhirSource, columns: Sequence[str] | None) -> Iterator[SourceTable]:
    """Read the selected columns, or all, as text, some lines at a time; empty lines are skipped. Where identifiers are
    selected, the file is read twice, first for the systems that occur."""
    path, where = source.path, str(source.path)
    available = list(_COLUMNS)
    if columns is None or any(name.startswith(IDENTIFIER) for name in columns):
        available += [IDENTIFIER + system for system in _systems(path)]
    chosen = require_columns(available, columns, where, "the columns of FHIR Patients are listed in docs/records.md")
    yield from line_tables(_rows(path, chosen), chosen, where, _ROWS_AT_ONCE)


def _rows(path: Path, chosen: Sequence[str]) -> Iterator[tuple[int, list[str | None]]]:
    for number, row in _read(path, _flattened):
        yield number, [row.get(name) for name in chosen]


def _read(path: Path, look: Callable[[Resource], Found]) -> Iterator[tuple[int, Found]]:
    """What is looked for in each patient, and the number of its line."""
    for number, patient in _patients(path):
        try:
            found = look(patient)
        except _MalformedError as error:
            raise _refused(path, number, f"the element {error} is not as FHIR has it") from None
        yield number, found


def _systems(path: Path) -> list[str]:
    """Systems of identifiers, in the order in which they occur."""
    found: dict[str, None] = {}
    for number, named in _read(path, lambda one: [_text(each, "system") for each in _objects(one, "identifier")]):
        found |= dict.fromkeys(system for system in named if system)
        if len(found) > MAX_SYSTEMS:
            raise _refused(path, number, f"there are more than {MAX_SYSTEMS} systems of identifiers up to here")
    return list(found)


def _patients(path: Path) -> Iterator[tuple[int, Resource]]:
    """Each resource and its line."""
    number = 0
    try:
        with path.open("rb") as file:
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise _refused(path, number, f"a line has more than {MAX_LINE >> 20} MiB")
                if line.strip():
                    yield number, _patient(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, path, number)
    except OSError as error:
        raise unreadable(path, error) from None


def _patient(line: bytes, path: Path, number: int) -> Resource:
    try:
        found = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        what = "the line is not in UTF-8, as JSON has to be"
        remedy = "export the resources again"
        raise GemelError(ErrorCode.TEXT_ENCODING, what, where=f"{path}, line {number}", remedy=remedy) from None
    except (ValueError, RecursionError):
        raise _refused(path, number, "the line is no JSON") from None
    if not isinstance(found, dict) or found.get("resourceType") != "Patient":
        raise _refused(path, number, "the line is no resource of type Patient")
    return found


def _refused(path: Path, number: int, what: str) -> GemelError:
    remedy = "each line must be one FHIR Patient as JSON, as bulk export writes them (application/fhir+ndjson)"
    return GemelError(ErrorCode.SOURCE, what, where=f"{path}, line {number}", remedy=remedy)


def _flattened(patient: Resource) -> dict[str, str | None]:
    names, addresses = _objects(patient, "name"), _objects(patient, "address")
    name, address = _preferred(names, _NAMES), _preferred(addresses, _ADDRESSES)
    maiden = [each for each in names if _text(each, "use") == "maiden"]
    row = {column: _text(patient, element) for column, element in _ELEMENTS.items()}
    row |= {"family": _text(name, "family")} | {part: _texts(name, part) for part in ("given", "prefix", "suffix")}
    row["maiden_family"] = _text(maiden[0], "family") if maiden else None
    row |= {part: _text(address, part) for part in ("city", "district", "state", "country")}
    row |= {"address_line": _texts(address, "line"), "postal_code": _text(address, "postalCode")}
    contacts = [each for each in _objects(patient, "telecom") if _text(each, "use") != "old"]
    for system in ("email", "phone"):
        row[system] = next((_text(each, "value") for each in contacts if _text(each, "system") == system), None)
    for each in sorted(_objects(patient, "identifier"), key=lambda found: _rank(found, _IDENTIFIERS)):
        if of := _text(each, "system"):
            row.setdefault(IDENTIFIER + of, _text(each, "value"))
    return row


def _preferred(found: Sequence[Resource], uses: Sequence[str]) -> Resource:
    return min(found, key=lambda each: _rank(each, uses), default={})


def _rank(found: Resource, uses: Sequence[str]) -> int:
    use = _text(found, "use") or ""
    return uses.index(use) if use in uses else len(uses)


def _objects(resource: Resource, name: str) -> list[Resource]:
    found = resource.get(name) or []
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise _MalformedError(name)
    return found


def _text(resource: Resource, name: str) -> str | None:
    found = resource.get(name)
    if found is not None and not isinstance(found, str):
        raise _MalformedError(name)
    return found


def _texts(resource: Resource, name: str) -> str | None:
    found = resource.get(name) or []
    # In an array of texts null stands where there is only an extension.
    if not isinstance(found, list) or not all(isinstance(each, str | None) for each in found):
        raise _MalformedError(name)
    return " ".join(each for each in found if each) or None
