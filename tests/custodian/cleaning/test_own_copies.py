"""What a custodian reads of people who are more than once in its own file; the counts: tests/coordinator/draft."""

from __future__ import annotations

import polars as pl
import pytest

from gemel.common.parties import Side
from gemel.common.specification import Specification, load_specification
from gemel.custodian.cleaning.own_copies import copies_warnings, links_one_of_copies, own_copies
from tests.specifications import heading

ROWS = 400


def linked(assignment: str) -> Specification:
    fields = "fields: [{name: surname, kind: name}, {name: given, kind: name}, {name: phone, kind: code}]\n"
    return load_specification(heading("copies") + fields + f"links: {{assignment: {assignment}}}\n" + RETENTION)


RETENTION = "retention: {uploads_days: 7, results_days: 30, maps_days: 90}\n"


def columns(copies: int) -> dict[str, pl.Series]:
    """A file of people with a name and a number of their own, some of whom are in it twice."""
    people = [*range(ROWS), *range(copies)]
    names = ("surname", "given", "phone")
    return {name: pl.Series([f"{name} {person}" for person in people]) for name in names}


@pytest.mark.parametrize(
    ("assignment", "side", "warned"),
    [
        ("one_to_one", Side.ALICE, True),
        ("one_to_one", Side.BOB, True),
        ("greedy", Side.BOB, True),
        ("many_to_one", Side.ALICE, False),
        ("many_to_one", Side.BOB, True),
        ("one_to_many", Side.ALICE, True),
        ("one_to_many", Side.BOB, False),
        ("none", Side.ALICE, False),
    ],
)
def test_copies_are_named_where_one_of_each_would_be_linked(assignment: str, side: Side, warned: bool) -> None:
    spec = linked(assignment)
    found = list(copies_warnings(own_copies(columns(30)) if links_one_of_copies(spec, side) else None, spec))
    assert [warning.code for warning in found] == (["own_copies"] if warned else [])
    if warned:
        assert "30 pairs of records are equal in every field" in found[0].text
        assert assignment in found[0].text


def test_a_file_without_copies_has_no_warning() -> None:
    assert not list(copies_warnings(own_copies(columns(0)), linked("one_to_one")))
