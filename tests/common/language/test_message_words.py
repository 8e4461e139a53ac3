"""Words of messages: values cut short, the word that was probably meant, names in a row."""

from __future__ import annotations

import pytest

from gemel.common.language.message_words import closest, listed, nearest, shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "nothing"),
        (True, "true"),
        (1.5, "1.5"),
        ("a", "'a'"),
        ({"a": 1}, "a mapping"),
        ([], "an empty list"),
        ((1, 2), "a list of 2"),
        ("x" * 100, "'" + "x" * 58 + "…"),
    ],
)
def test_shown(value: object, text: str) -> None:
    assert shown(value) == text


def test_the_word_that_was_probably_meant() -> None:
    assert closest("SURNMAE", ["given_name", "Surname"]) == "Surname"
    assert closest("x", ["given_name", "surname"]) is None
    assert nearest("surnmae", ["given_name", "surname"]) == "did you mean surname?"
    assert nearest("x", ["given_name", "surname"]) == "known here: given_name, surname"
    assert nearest("x", []) == ""


@pytest.mark.parametrize(
    ("names", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")]
)
def test_names_in_a_row(names: list[str], text: str) -> None:
    assert listed(names, "or") == text
    assert listed(names) == text.replace(" or ", " and ")
