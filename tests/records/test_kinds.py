"""Every kind of file gives the same text, by place: real files, as the programs that people use write them."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pyreadstat
import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.records import excel_file, fhir_patients, omop_tables, registry, statistical_file
from gemel.records.csv_form import form_line
from gemel.records.registry import file_source, read_source, source_batches, source_stamp
from gemel.records.sources import Source
from gemel.records.typed_table import read_as
from tests.carole.refusals import refusal

PEOPLE = pl.DataFrame(
    {
        "id": ["007", "08", "9", "10"],
        "name": ["Müller", "O'Neil", None, "  Zoë "],
        "born": [datetime.date(1950, 1, 31), None, datetime.date(2001, 12, 1), datetime.date(1999, 2, 3)],
        "visits": [3.0, None, 12.0, 0.0],
        "weight": [1.5, 2.0, None, 80.25],
    }
)
TEXT = {
    "id": ["007", "08", "9", "10"],
    "name": ["Müller", "O'Neil", None, "Zoë"],
    "born": ["1950-01-31", None, "2001-12-01", "1999-02-03"],
    "visits": ["3", None, "12", "0"],
    "weight": ["1.5", "2.0", None, "80.25"],
}


def workbook(path: Path, rows: list[list[Any]], name: str = "people") -> Path:
    book = openpyxl.Workbook()
    book.active.title = name
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def written(folder: Path, ending: str) -> Path:
    path = folder / f"people.{ending}"
    match ending:
        case "csv":
            PEOPLE.with_columns(pl.col("visits").cast(pl.Int64)).write_csv(path)
        case "parquet":
            PEOPLE.write_parquet(path)
        case "xlsx":
            workbook(path, [PEOPLE.columns, *(list(row) for row in PEOPLE.rows())])
        case "sav":
            pyreadstat.write_sav(PEOPLE, path)
        case "dta":
            pyreadstat.write_dta(PEOPLE, path)
        case "xpt":
            pyreadstat.write_xport(PEOPLE, path, file_format_version=8)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "sav", "dta", "xpt"])
def test_every_kind_is_the_same_text(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Two rows at a time: what is read does not depend on it.
    monkeypatch.setattr(statistical_file, "_ROWS_AT_ONCE", 2)
    source = file_source(written(tmp_path, ending))
    found = read_source(source, None)
    # A number that is a whole one is written without decimals in a workbook, whose cells are read one by one.
    expected = TEXT | ({"weight": ["1.5", "2", None, "80.25"]} if ending == "xlsx" else {})
    assert found.frame.to_dict(as_series=False) == expected
    first = 2 if ending in ("csv", "xlsx") else 1
    assert found.positions.tolist() == list(range(first, first + 4))
    some = read_source(source, ["born", "id"])
    assert some.frame.to_dict(as_series=False) == {name: TEXT[name] for name in ("born", "id")}
    assert [part.n_rows for part in source_batches(source, ["id"], rows=3)] in ([3, 1], [2, 2])
    with refusal(ErrorCode.FIELD_MISSING, r"there is no column 'nam'; did you mean 'name'\?"):
        read_source(source, ["id", "nam"])


def test_every_kind_has_a_reader_and_a_key_of_the_configuration() -> None:
    assert [kind.name for kind in registry.KINDS] == list(Source.model_fields)
    models = [field.annotation for field in Source.model_fields.values()]
    assert [kind.model | None for kind in registry.KINDS] == models


def test_labels_of_values(tmp_path: Path) -> None:
    path = tmp_path / "p.sav"
    labels = {"sex": {1: "male", 2: "female"}}
    pyreadstat.write_sav(pl.DataFrame({"sex": [1, 2, 9, None]}), path, variable_value_labels=labels)
    for values, expected in (("codes", ["1", "2", "9", None]), ("labels", ["male", "female", "9", None])):
        source = Source.model_validate({"statistical": {"path": path, "values": values}})
        assert read_source(source, ["sex"]).frame["sex"].to_list() == expected


def test_a_workbook_by_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = openpyxl.Workbook()
    people = book.active
    people["B3"], people["C3"], people["D3"] = "id", "when", "mixed"
    people["B4"], people["C4"], people["D4"] = "01", datetime.datetime(2000, 1, 2, 3, 4, 5), 5
    people["B6"], people["C6"], people["D6"] = 2, datetime.datetime(2000, 1, 2), datetime.date(2001, 1, 1)
    people["B7"], people["D7"] = 12345678901, "#N/A"
    people["D7"].data_type = "e"
    book.create_sheet("empty")
    book.save(tmp_path / "b.xlsx")
    with pytest.raises(GemelError, match=r"several sheets, and none is named, got 2: Sheet, empty.*sheet: "):
        read_source(file_source(tmp_path / "b.xlsx"), ["id"])
    (tmp_path / "b.yaml").write_text("excel: {path: b.xlsx, sheet: Sheet}\n")
    found = read_source(file_source(tmp_path / "b.yaml"), None)
    assert found.positions.tolist() == [4, 6, 7]
    assert found.frame.rows() == [
        ("01", "2000-01-02T03:04:05", "5"),
        ("2", "2000-01-02", "2001-01-01"),
        ("12345678901", None, None),
    ]
    for sheet, message in (("other", "there is no sheet 'other'; its sheets are: Sheet, empty"), ("empty", "an empty")):
        with pytest.raises(GemelError, match=message):
            read_source(Source.model_validate({"excel": {"path": tmp_path / "b.xlsx", "sheet": sheet}}), None)
    people["C6"] = datetime.time(3, 4)
    del book["empty"]
    book.save(tmp_path / "b.xlsx")
    with pytest.raises(GemelError, match=r"sheet Sheet, row 6, column 'when'.*1 such cells.*as text"):
        read_source(file_source(tmp_path / "b.xlsx"), ["when"])
    monkeypatch.setattr(excel_file, "MAX_UNPACKED", 1000)
    with pytest.raises(GemelError, match="unpacked, has at most"):
        read_source(file_source(tmp_path / "b.xlsx"), ["id"])


COLUMNS = [{"name": "id", "start": 1, "width": 4}, {"name": "name", "start": 6, "width": 6}]


def fixed(path: Path, **more: object) -> Source:
    return Source.model_validate({"fixed_width": {"path": path, "columns": COLUMNS, **more}})


def test_fixed_width(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_bytes("0001xZoë   rest\n\n0002 Müller\r\n".encode("cp1252"))
    for encoding in ("cp1252", "detect"):
        found = read_source(fixed(path, encoding=encoding), None)
        assert found.frame.rows() == [("0001", "Zoë"), ("0002", "Müller")]
        assert found.positions.tolist() == [1, 3]
    with pytest.raises(GemelError, match=r"p.txt, line 1, byte 7: the file is not in utf-8"):
        read_source(fixed(path), None)
    path.write_text("0001 Zoë   \n0002 Bo\n", encoding="utf-8")
    with pytest.raises(GemelError, match=r"p.txt, line 2: every line must have 11 characters.*got 7; ") as caught:
        read_source(fixed(path), None)
    assert "Bo" not in str(caught.value)
    assert read_source(fixed(path, short_lines=True), ["name"]).frame["name"].to_list() == ["Zoë", "Bo"]
    with pytest.raises(ValueError, match="columns 'id' and 'name' share characters"):
        fixed(path, columns=[COLUMNS[0], {"name": "name", "start": 4, "width": 2}])


PATIENT = {
    "resourceType": "Patient",
    "id": "p1",
    "identifier": [
        {"system": "urn:mrn", "value": "0042", "use": "old"},
        {"system": "urn:mrn", "value": "0043"},
        {"value": "no system"},
    ],
    "name": [
        {"use": "maiden", "family": "Roe"},
        {"use": "official", "family": "Doe", "given": ["Ann", None, "May"]},
        {"use": "nickname", "given": ["Annie"]},
    ],
    "telecom": [{"system": "phone", "use": "old", "value": "1"}, {"system": "phone", "value": "2"}],
    "gender": "female",
    "birthDate": "1950-01",
    "address": [
        {"use": "work", "city": "Elsewhere"},
        {"use": "home", "line": ["Main St 1", "Flat 2"], "city": "Town", "postalCode": "01234"},
    ],
}


def test_fhir_patients_are_flattened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.ndjson"
    path.write_text(f"{json.dumps(PATIENT)}\n\n{json.dumps({'resourceType': 'Patient', 'id': 'p2'})}\n")
    columns = ["id", "family", "given", "maiden_family", "birth_date", "gender", "address_line", "city", "postal_code"]
    found = read_source(file_source(path), [*columns, "phone", "identifier.urn:mrn"])
    first = ("p1", "Doe", "Ann May", "Roe", "1950-01", "female", "Main St 1 Flat 2", "Town", "01234", "2", "0043")
    assert found.frame.rows() == [first, ("p2", *[None] * 10)]
    assert found.positions.tolist() == [1, 3]
    assert "identifier.urn:mrn" in read_source(file_source(path), None).frame.columns
    with pytest.raises(GemelError, match=r"there is no column 'identifier.urn:other'"):
        read_source(file_source(path), ["id", "identifier.urn:other"])
    monkeypatch.setattr(fhir_patients, "MAX_LINE", 1 << 20)
    for line, what in (
        ('{"resourceType": "Practitioner"}', "no resource of type Patient"),
        ("[" * 100_000, "the line is no JSON"),
        ('{"resourceType": "Patient", "name": "Secret"}', "the element name is not as FHIR has it"),
        ('{"resourceType": "Patient", "birthDate": 1950}', "the element birthDate is not"),
        (" " * (1 << 20) + "{}", "a line has more than 1 MiB"),
    ):
        path.write_text(f"{json.dumps(PATIENT)}\n{line}\n")
        with pytest.raises(GemelError, match=rf"p.ndjson, line 2: .*{what}.*; each line must be") as caught:
            read_source(file_source(path), ["family", "birth_date"])
        assert "Secret" not in str(caught.value)


def omop(folder: Path, ending: str = "csv") -> Source:
    tables = {"person": folder / f"PERSON.{ending}", "location": folder / f"LOCATION.{ending}"}
    return Source.model_validate({"omop": {**tables, "separator": "detect"}})


def test_omop_person_and_location(tmp_path: Path) -> None:
    person = pl.DataFrame(
        {
            "PERSON_ID": ["1", "2", "3"],
            "GENDER_CONCEPT_ID": ["8507", "8532", "0"],
            "YEAR_OF_BIRTH": ["1950", "1960", "1970"],
            "MONTH_OF_BIRTH": ["1", "12", None],
            "DAY_OF_BIRTH": ["5", "31", None],
            "BIRTH_DATETIME": [None, None, "1970-07-08 00:00:00"],
            "LOCATION_ID": ["7", None, "7"],
        }
    )
    location = pl.DataFrame({"LOCATION_ID": ["6", "7"], "CITY": ["A", "B"], "ZIP": ["1", "01234"]})
    person.write_csv(tmp_path / "PERSON.csv", separator="\t")
    location.write_csv(tmp_path / "LOCATION.csv")
    for name, table in (("PERSON", person), ("LOCATION", location)):
        table.write_parquet(tmp_path / f"{name}.parquet")
    columns = ["person_id", "birth_date", "sex", "zip", "city"]
    for ending in ("csv", "parquet"):
        found = read_source(omop(tmp_path, ending), columns).frame
        assert found.rows() == [
            ("1", "1950-01-05", "male", "01234", "B"),
            ("2", "1960-12-31", "female", None, None),
            ("3", "1970-07-08", None, "01234", "B"),
        ]
    assert len(source_stamp(omop(tmp_path)) or ()) == 6
    assert "birth_date" in read_source(omop(tmp_path), None).frame.columns
    location.with_columns(pl.lit("7").alias("LOCATION_ID")).write_csv(tmp_path / "LOCATION.csv")
    with pytest.raises(GemelError, match=r"LOCATION.csv, line 2: every place needs a location_id of its own, got 2"):
        read_source(omop(tmp_path), columns)
    location.head(1).write_csv(tmp_path / "LOCATION.csv")
    with pytest.raises(GemelError, match=r"PERSON.csv, line 2: a person's location_id must be one of .*got 2 persons"):
        read_source(omop(tmp_path), columns)
    assert read_source(omop(tmp_path), ["sex"]).n_rows == 3
    assert omop_tables._SEXES == {"8507": "male", "8532": "female"}


def test_detected_form_of_a_service(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes("id;name\n1;Müller\n".encode("cp1252"))
    detected = Source.model_validate({"csv": {"path": path, "encoding": "detect", "separator": "detect"}})
    assert read_source(detected, ["name"]).frame["name"].to_list() == ["Müller"]
    assert form_line(detected).startswith('p.csv is read as cp1252, separated by ";"')
    assert read_as(path).startswith('p.csv is read as cp1252, separated by ";"; --encoding')
    # Mostly UTF-8: the broken line is refused, where windows-1252 would have read every letter wrongly.
    path.write_bytes("id;name\n1;Müller\n2;Zoë\n".encode() + b"3;\xfc\n")
    with pytest.raises(GemelError, match=r"p.csv, line 4, byte 27: the file is not in utf-8; mend that line"):
        read_source(detected, ["name"])
