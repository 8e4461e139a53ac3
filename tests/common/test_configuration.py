"""Configuration files: what fits is read, all errors are reported at once, and never with a value."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from gemel.common.configuration import Configuration, ConfiguredPath, load_configuration, parse_configuration
from gemel.common.errors import ErrorCode, GemelError, GemelErrors
from tests.carole.refusals import refusal


class Csv(Configuration):
    path: ConfiguredPath
    separator: str = ","


class Example(Configuration):
    keys: ConfiguredPath
    port: int = Field(default=1, ge=0, le=65535)
    mode: Literal["one", "two"] = "one"
    source: Csv | None = None
    names: tuple[str, ...] = ()


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "example.yaml"
    path.write_text(text)
    return path


def test_relative_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    read = load_configuration(write(tmp_path, "keys: ./keys\nsource: {path: data/a.csv}\nnames: [x, y]\n"), Example)
    assert read.keys == tmp_path / "keys"
    assert read.source is not None
    assert read.source.path == tmp_path / "data" / "a.csv"
    assert read.names == ("x", "y")


def test_a_section_without_lines_means_its_defaults(tmp_path: Path) -> None:
    read = load_configuration(write(tmp_path, "keys: k\nnames:\nport:\nmode:\n"), Example)
    assert (read.names, read.port, read.mode) == ((), 1, "one")
    with pytest.raises(GemelErrors, match="keys"):
        load_configuration(write(tmp_path, "keys:\n"), Example)


def test_absolute_paths_stay(tmp_path: Path) -> None:
    assert load_configuration(write(tmp_path, "keys: /elsewhere"), Example).keys == Path("/elsewhere")


def test_everything_wrong_is_reported_with_its_line_and_no_value(tmp_path: Path) -> None:
    text = "keis: SECRET1\nport: 'SECRET2'\nmode: SECRET3\nsource:\n  path: 7\n  seperator: SECRET4\nport: 99999\n"
    with pytest.raises(GemelErrors) as caught:
        load_configuration(write(tmp_path, text), Example)
    assert caught.value.code is ErrorCode.CONFIGURATION
    message = str(caught.value)
    assert "SECRET" not in message
    for expected in (
        "line 1, keis: unknown key; did you mean keys?",
        "line 2, port: the key is given twice, again in line 7",
        "line 2, port: must be a whole number",
        "line 3, mode: must be one or two",
        "line 5, source.path: must be",
        "line 6, source.seperator: unknown key; did you mean separator?",
        "line 1, keys: is missing",
    ):
        assert expected in message


@pytest.mark.parametrize("text", ["a: [1", "", "- 1\n- 2", "just text", "keys: \x00", "? [a]\n: b", "a: &x [*x]"])
def test_what_is_no_mapping_is_a_configuration_error(tmp_path: Path, text: str) -> None:
    with refusal(ErrorCode.CONFIGURATION):
        load_configuration(write(tmp_path, text), Example)


def test_text_is_no_number_and_dates_stay_text(tmp_path: Path) -> None:
    with pytest.raises(GemelErrors, match="port"):
        load_configuration(write(tmp_path, "keys: k\nport: '12'\n"), Example)
    read = load_configuration(write(tmp_path, "keys: k\nnames: [2020-01-01]\n"), Example)
    assert read.names == ("2020-01-01",)


def test_missing_file_and_foreign_encoding(tmp_path: Path) -> None:
    with pytest.raises(GemelError, match="cannot be read"):
        load_configuration(tmp_path / "none.yaml", Example)
    (tmp_path / "latin.yaml").write_bytes("keys: Zoë".encode("latin-1"))
    with pytest.raises(GemelError, match="not UTF-8 at byte 8"):
        load_configuration(tmp_path / "latin.yaml", Example)


@given(st.text(alphabet=st.sampled_from("ab:[]{}&*-? \n'\"!0.1,#|>"), max_size=60))
def test_any_text_is_read_or_refused_with_a_configuration_error(text: str) -> None:
    try:
        parse_configuration(text, Example, folder=Path("/x"), where="x")
    except GemelError as error:
        assert error.code is ErrorCode.CONFIGURATION  # noqa: PT017
