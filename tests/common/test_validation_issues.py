"""A document with very many errors: the issues of the plain definition, in steps that grow as the document does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.configuration import Configuration, parse_configuration
from gemel.common.errors import MAX_SHOWN, ErrorCode, GemelError, GemelErrors
from gemel.common.specification import load_specification
from gemel.common.validation_issues import MAX_PROPOSED, DocumentPath, ValidationIssue, _innermost

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
