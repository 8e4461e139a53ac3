"""The YAML that people write, specifications and configurations alike: what scalars mean, and what is refused."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.configuration import Configuration, parse_configuration
from gemel.common.errors import ErrorCode, GemelErrors
from gemel.common.specification import load_specification
from gemel.common.validation_issues import ValidationIssue
from gemel.common.yaml_document import DocumentKind, YamlDocument, read_scalar, read_yaml

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
