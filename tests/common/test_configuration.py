"""YAML that people write, and configurations: read strictly, every issue at once with its line, no value shown."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from gemel.common.configuration import Configuration, ConfiguredPath, load_configuration, parse_configuration
from gemel.common.errors import MAX_SHOWN, ErrorCode, GemelError, GemelErrors
from gemel.common.specification import load_specification
from gemel.common.validation_issues import MAX_PROPOSED, DocumentPath, ValidationIssue, _innermost
from gemel.common.yaml_document import DocumentKind, YamlDocument, read_scalar, read_yaml
from tests.carole.refusals import refusal

PUBLIC = DocumentKind("a specification", ErrorCode.SPECIFICATION, 262_144, shows_values=True)
SECRET = DocumentKind("a configuration", ErrorCode.CONFIGURATION, 262_144, shows_values=False)


def read(text: str, source: str = "x") -> YamlDocument:
    return read_yaml(text, source, PUBLIC)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-1", -1),
        ("1e-8", 1e-8),
        (".5", 0.5),
        ("2.50", 2.5),
        ("true", True),
        ("null", None),
        ("~", None),
        ("", None),
        ("no", "no"),
        ("on", "on"),
        ("0000", "0000"),
        ("0x1f", "0x1f"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2001-01-01", "2001-01-01"),
        ("9" * 19, "9" * 19),
        ("0777", "0777"),
        ("0100000", "0100000"),
        ("1e999", "1e999"),
        (".inf", ".inf"),
        ("NaN", "NaN"),
        ("e5", "e5"),
        ("-", "-"),
    ],
)
def test_scalars(text: str, value: object) -> None:
    meant = read_scalar(text)
    assert meant == value
    assert type(meant) is type(value)


def test_quoted_scalars_are_text() -> None:
    assert read("a: '1'\nb: \"true\"\nc: |\n  1\n").value == {"a": "1", "b": "true", "c": "1\n"}


def test_lines_are_known() -> None:
    document = read("a:\n  - b: 1\n    c:\n      - 2\n")
    assert document.line(("a", 0, "c", 0)) == 4
    assert document.line(("a", 0, "c")) == 3
    assert document.line(("a", 0, "absent")) == 2


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a: &x [1]\nb: *x", "anchors and aliases are refused"),
        ("b: *x", "anchors and aliases are refused"),
        ("a: !!python/object/apply:os.system [x]", "tags"),
        ("!local x", "tags"),
        ("[" * 17 + "]" * 17, "16 levels deep"),
        ("[" * 100_000, "16 levels deep"),
        ("a: 1\n---\nb: 2", "another document"),
        ("a:\n\t- b", "not with tabs"),
        ("a: b: c", "quotes"),
        ("a: \x00", "U+0000"),
        ("a: [1", "expected ',' or ']'"),
        ("? [a]\n: b", "line 1: not readable as YAML: a key must be a word"),
        ("a:\n  b: {{c}}", "line 2: not readable as YAML: a key must be a word"),
        ("#" * 262_145, "at most 262144 bytes"),
    ],
)
def test_refused(text: str, what: str) -> None:
    with pytest.raises(GemelErrors) as caught:
        read(text, "linkage.yaml")
    assert str(caught.value).startswith("linkage.yaml: ")
    assert what in str(caught.value)


def test_every_repeated_key_is_named() -> None:
    document = read("a: 1\na: 2\nb: {c: 1, c: 2, d: 3}\n")
    errors = document.errors(document.repeated).errors
    assert [str(error).split(";")[0] for error in errors] == [
        "line 1, a: the key is given twice, again in line 2",
        "line 3, b.c: the key is given twice, again in line 3",
    ]


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_politely(text: str) -> None:
    # Anything but the reader's own error would fail the test.
    with contextlib.suppress(GemelErrors):
        read(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a: &SECRET [1]", "anchors and aliases are refused"),
        ("a: !SECRET x", "tags (!) are refused"),
        ("a: SECRET: b", "put text with a colon in quotes"),
        ('a: "\\S"', "check the indentation, brackets and quotes"),
        ("a: @SECRET", "check the indentation, brackets and quotes"),
        ("a: \x07", "a character that is not allowed in text"),
        ("%SECRET x", "not readable as YAML"),
        ("%TAG !SECRET! x", "not readable as YAML"),
    ],
)
def test_a_document_that_may_hold_a_secret_shows_nothing_of_itself(text: str, what: str) -> None:
    with pytest.raises(GemelErrors) as caught:
        read_yaml(text, "x", SECRET)
    message = str(caught.value)
    assert "line 1" in message
    assert what in message
    assert not any(shown in message for shown in ("SECRET", "'S'", "'@'", "0007", "got"))


def test_values_show_in_errors_of_public_documents_only() -> None:
    issue = ValidationIssue(("a",), "is wrong", "SECRET", "mend it")
    assert "x: 1 error:\n  - line 1, a: is wrong, got SECRET; mend it" in str(read("a: 1").errors([issue]))
    assert "SECRET" not in str(read_yaml("a: 1", "x", SECRET).errors([issue]))


class Scalars(Configuration):
    a: str
    b: float
    c: str
    d: str
    max_rows: int = 1


def test_a_configuration_is_read_by_the_dialect_of_the_specification(tmp_path: Path) -> None:
    text = "a: no\nb: 1e-8\nc: 0777\nd: 1_000\n"
    configured = parse_configuration(text, Scalars, folder=tmp_path, where="carole.yaml")
    assert configured.model_dump(exclude={"max_rows"}) == read(text).value
    assert (configured.a, configured.b, configured.c, configured.d) == ("no", 1e-8, "0777", "1_000")


@pytest.mark.parametrize("number", ["0100000", "1:30", "1_000", "0x10", "0o17", "1e3", "'5'", "yes", "true", "2.0"])
def test_what_is_no_whole_number_is_refused_in_both_and_never_taken_for_another(number: str, tmp_path: Path) -> None:
    text = f"a: x\nb: 1\nc: x\nd: x\nmax_rows: {number}\n"
    with pytest.raises(GemelErrors, match=r"line 5, max_rows: must be a") as caught:
        parse_configuration(text, Scalars, folder=tmp_path, where="carole.yaml")
    assert number not in str(caught.value)
    with pytest.raises(GemelErrors, match=r"line 2, model.max_iterations: must be a"):
        load_specification(f"version: 1\nmodel: {{max_iterations: {number}}}\n")


HEADING = "version: 1\nproject: trial\nmode: open\n"
PATHS = st.lists(st.sampled_from(["a", "b", 0, 1]), max_size=4).map(tuple)


@given(paths=st.lists(PATHS, unique=True, max_size=12))
def test_an_issue_gives_way_to_those_within_it(paths: list[DocumentPath]) -> None:
    issues = {path: ValidationIssue(path, "wrong") for path in paths}
    plain = [
        path for path in paths if not any(len(other) > len(path) and other[: len(path)] == path for other in paths)
    ]
    assert [issue.path for issue in _innermost(issues)] == plain


class Section(Configuration):
    names: tuple[int, ...] = ()


def configuration(text: str) -> Section:
    return parse_configuration(text, Section, folder=Path(), where="example.yaml")


def refused(read: Callable[[str], Any], text: str) -> GemelErrors:
    with pytest.raises(GemelErrors) as caught:
        read(text)
    return caught.value


@pytest.mark.parametrize(
    ("read", "start", "entry"),
    [
        (load_specification, "", "k{}: 1\n"),
        (load_specification, HEADING + "latent:\n", "  k{}: 1\n"),
        (load_specification, HEADING + "fields:\n", "  - {{}}\n"),
        *(
            pytest.param(load_specification, HEADING + start, entry, marks=pytest.mark.long)
            for start, entry in (
                ("fields:\n", "  - {{name: f{}, kind: name}}\n"),
                ("fields:\n", "  - {{name: f, kind: name, kidn: 1}}\n"),
                ("blocking:\n", "  - {{name: r{}, keys: [{{field: f}}]}}\n"),
                ("variables:\n", "  - {{name: v{}, holder: alice}}\n"),
            )
        ),
        (load_specification, HEADING, "same: 1\n"),
        (configuration, "", "k{}: 1\n"),
        (configuration, "names:\n", "  - x{}\n"),
    ],
)
def test_twice_as_many_errors_take_twice_as_many_steps(read: Callable[[str], Any], start: str, entry: str) -> None:
    def steps(number: int) -> int:
        text = start + "".join(entry.format(position) for position in range(number))
        counted = 0

        def count(_frame: object, event: str, _argument: object) -> None:
            nonlocal counted
            counted += event in ("call", "c_call")

        former = sys.getprofile()
        sys.setprofile(count)
        try:
            read(text)
        except GemelErrors:
            pass
        finally:
            sys.setprofile(former)
        return counted

    # Beyond those for which a word is proposed, so that each further one costs the same.
    least = 2 * MAX_PROPOSED
    steps(10)  # what is made once
    once, twice, four = steps(least), steps(2 * least), steps(4 * least)
    assert four - twice < 2.1 * (twice - once)


def test_the_text_has_the_first_errors_and_says_how_many_there_are() -> None:
    number = MAX_PROPOSED + 50
    error = refused(load_specification, HEADING + "".join(f"k{n}: 1\n" for n in range(number)))
    assert error.code is ErrorCode.SPECIFICATION
    unknown = [each for each in error.errors if each.what == "unknown key"]
    assert [each.got for each in unknown] == [f"'k{n}'" for n in range(number)]
    first, *lines, last = str(error).splitlines()
    assert first.endswith(f"{len(error.errors):,} errors:")
    assert [line.strip() for line in lines] == [f"- {each}" for each in error.errors[:MAX_SHOWN]]
    assert last.strip() == f"and {len(error.errors) - MAX_SHOWN:,} more"


@pytest.mark.parametrize("number", [1, MAX_SHOWN])
def test_nothing_is_left_out_of_few_errors(number: int) -> None:
    text = str(GemelErrors(ErrorCode.PARAMETER, [GemelError(ErrorCode.PARAMETER, f"wrong {n}") for n in range(number)]))
    assert "more" not in text
    assert all(f"wrong {n}" in text for n in range(number))


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
