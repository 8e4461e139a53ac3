"""The YAML of a specification: what its scalars mean, and what is refused."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tryst.common.errors import TrystErrors
from tryst.common.specification.document import read_document, read_scalar


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
        (".inf", ".inf"),
        ("NaN", "NaN"),
        ("e5", "e5"),
        ("-", "-"),
    ],
)
def test_scalars(text: str, value: object) -> None:
    read = read_scalar(text)
    assert read == value
    assert type(read) is type(value)


def test_quoted_scalars_are_text() -> None:
    assert read_document("a: '1'\nb: \"true\"\nc: |\n  1\n", "x").value == {"a": "1", "b": "true", "c": "1\n"}


def test_lines_are_known() -> None:
    document = read_document("a:\n  - b: 1\n    c:\n      - 2\n", "x")
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
        ("? [a]\n: b", "a key must be a word"),
        ("#" * 262_145, "at most 262144 bytes"),
    ],
)
def test_refused(text: str, what: str) -> None:
    with pytest.raises(TrystErrors) as caught:
        read_document(text, "linkage.yaml")
    assert str(caught.value).startswith("linkage.yaml: ")
    assert what in str(caught.value)


def test_every_repeated_key_is_named() -> None:
    with pytest.raises(TrystErrors) as caught:
        read_document("a: 1\na: 2\nb: {c: 1, c: 2, d: 3}\n", "x")
    assert [str(error).split(":")[0] for error in caught.value.errors] == ["line 1, a", "line 3, b.c"]


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_politely(text: str) -> None:
    # Anything but the reader's own error would fail the test.
    with contextlib.suppress(TrystErrors):
        read_document(text, "x")
