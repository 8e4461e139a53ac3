"""Primary rules against their definitions over records, and what their protection levels mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from gemel.common.errors import GemelError
from gemel.risk.magnitude.rules import Dominance, MinimumFrequency, PriorPosterior, primary_cells
from tests.risk.magnitude import definition
from tests.risk.magnitude.definition import Record
from tests.risk.magnitude.small_tables import files, made, named

SHAPE = (2, 3)


def check(records: list[Record]) -> None:
    tables, found = made(SHAPE, records)
    rules = {
        MinimumFrequency(3): lambda r, c: 0 < len(definition.amounts(r, c)) < 3,
        Dominance(1, 70): lambda r, c: definition.risky_by_dominance(r, c, 1, 70),
        Dominance(3, 85): lambda r, c: definition.risky_by_dominance(r, c, 3, 85),
        PriorPosterior(10): lambda r, c: definition.risky_by_p(r, c, 10),
        PriorPosterior(15, 100, 3): lambda r, c: definition.risky_by_p(r, c, 15, 3),
        PriorPosterior(10, 40): lambda r, c: definition.risky_by_p(r, c, 10, 1, 40),
    }
    for rule, risky in rules.items():
        cells = set(primary_cells(found, (rule,)).cells.tolist())
        for cell in range(tables.n_cells):
            assert (cell in cells) == risky(records, named(tables, cell)), (rule, named(tables, cell))


@settings(max_examples=25)
@given(files(SHAPE))
def test_rules_are_their_definitions(records: list[Record]) -> None:
    check(records)


@settings(max_examples=15)
@given(files(SHAPE, low=-20, weighted=True))
def test_with_weights_and_negative_values(records: list[Record]) -> None:
    check(records)


def one_cell(amounts: list[float]) -> list[Record]:
    return [(("a0",), x, f"u{k}", 1.0) for k, x in enumerate(amounts)]


def test_the_levels_of_the_handbook() -> None:
    """100, 10 and 4: the second estimates the largest at 104, 4 % too high; the level is 10 - 4."""
    _, found = made((1,), one_cell([100.0, 10.0, 4.0]))
    assert primary_cells(found, (PriorPosterior(10),)).reach == pytest.approx([6, 6])
    # 100 p/q = 25: the level is 25 - 4.
    assert primary_cells(found, (PriorPosterior(10, 40),)).reach == pytest.approx([21, 21])
    # 110 of 114: at 85 per cent of a value 110 / .85 the two would not dominate.
    assert primary_cells(found, (Dominance(2, 85),)).reach == pytest.approx(2 * [110 / 0.85 - 114])
    assert len(primary_cells(found, (PriorPosterior(4),)).cells) == 0


@given(files((3,), most_records=8))
def test_a_cell_estimated_at_its_protection_level_is_safe(records: list[Record]) -> None:
    """The coalition that takes the value for value + reach estimates the largest exactly p per cent too high."""
    tables, found = made((3,), records)
    for p, coalition in ((10.0, 1), (30.0, 2)):
        primary = primary_cells(found, (PriorPosterior(p, 100, coalition),))
        for cell, reach in zip(primary.cells.tolist(), primary.reach.tolist(), strict=True):
            amounts = definition.amounts(records, named(tables, cell))
            estimate = found.values[cell] + reach - sum(amounts[1 : 1 + coalition])
            assert estimate == pytest.approx((1 + p / 100) * amounts[0])


def test_several_rules_and_the_widest_protection() -> None:
    _, found = made((1,), one_cell([100.0, 10.0, 4.0]))
    primary = primary_cells(found, (MinimumFrequency(4, 50), PriorPosterior(10)))
    assert primary.reach == pytest.approx([57, 57])
    assert all(len(rules) == 2 for rules in primary.rules)


def test_zeros_protect_no_one_and_need_no_protection() -> None:
    records = [(("a0",), 5.0, "u", 1.0), (("a0",), 0.0, "v", 1.0), (("a1",), 0.0, "w", 1.0), (("a1",), 3.0, "x", 0.0)]
    _, found = made((2,), records)
    assert found.counts.tolist() == [1, 1, 0]  # the total, a0, a1
    assert primary_cells(found, (MinimumFrequency(2),)).cells.tolist() == [0, 1]


def test_a_unit_is_one_contributor_in_each_cell() -> None:
    records = [(("a0",), 5.0, "u", 1.0), (("a0",), 7.0, "u", 1.0), (("a1",), 2.0, "u", 1.0), (("a1",), 2.0, "v", 1.0)]
    _, found = made((2,), records)
    assert found.counts.tolist() == [2, 1, 2]
    assert found.amounts[found.of(0)].tolist() == [14.0, 2.0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MinimumFrequency(0), "at least 1, got 0"),
        (lambda: Dominance(1, 100), "below 100"),
        (lambda: PriorPosterior(-5), "above 0, got -5"),
        (lambda: PriorPosterior(50, 40), "p must be below q"),
        (lambda: PriorPosterior(10, 100, 0), "coalition must be at least 1"),
        (lambda: made((1,), [(("a0",), 1.0, "u", -2.0)]), "cannot be negative"),
        (lambda: made((1,), [(("a0",), np.nan, "u", 1.0)]), "1 that are not"),
        (lambda: made((1,), [(("a0",), 1.0, "u", 0.0)]), "no record counts"),
    ],
)
def test_bad_parameters(make: object, words: str) -> None:
    with pytest.raises(GemelError, match=words):
        make()  # type: ignore[operator]
