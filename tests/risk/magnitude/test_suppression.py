"""Primary rules against their definitions over records, and what their protection levels mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.risk.magnitude.assessment import Intruders
from gemel.risk.magnitude.rules import Contributions, Dominance, MinimumFrequency, PriorPosterior, primary_cells
from gemel.risk.magnitude.suppression import Problem, Suppression, suppress
from gemel.risk.magnitude.tables import LinkedTables
from tests.risk.magnitude import definition
from tests.risk.magnitude.definition import Record
from tests.risk.magnitude.small_tables import files, levels_of, made, named

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


# Secondary suppression: no attack comes too close, and no choice costs less; by enumeration and other programmes.

RULES = (MinimumFrequency(3, 20), PriorPosterior(20))


def protect(
    tables: LinkedTables, found: Contributions, *, exact: bool, inside: bool = True, known_within: float = np.inf
) -> tuple[Problem, Suppression]:
    primary = primary_cells(found, RULES)
    intruders = Intruders(found, primary, RULES)
    marks = np.isin(np.arange(tables.n_cells), primary.cells)
    problem = Problem(
        tables,
        found.values,
        found.signed,
        marks,
        (found.counts > 0) & ~marks,
        np.maximum(found.sizes, 1e-3),
        tuple(intruders.outside() + (intruders.inside() if inside else [])),
        known_within,
    )
    return problem, suppress(problem, exact=exact)


def check_attacks(shape: tuple[int, ...], problem: Problem, chosen: Suppression) -> None:
    """Every attack that can be withstood is, by a programme over inner cells that knows nothing of deviations."""
    tables = problem.tables
    inner = [named(tables, c) for c in np.flatnonzero(tables.inner).tolist()]
    assert len(inner) == np.prod(shape)
    published = {named(tables, c): float(problem.values[c]) for c in np.flatnonzero(~chosen.suppressed).tolist()}
    for attack in problem.attacks:
        if attack in chosen.impossible:
            continue
        known = dict(published) | {named(tables, c): float(problem.values[c]) for c in attack.intruder.known}
        floors = {named(tables, c): x for c, x in attack.intruder.own.items()}
        ceilings = {}
        for c in np.flatnonzero(chosen.suppressed).tolist() if np.isfinite(problem.known_within) else ():
            name, value = named(tables, c), float(problem.values[c])
            floors[name] = max(floors.get(name, 0.0), value * (1 - problem.known_within))
            ceilings[name] = value * (1 + problem.known_within)
        low, high = definition.bounds_by_programme(inner, known, named(tables, attack.cell), floors, ceilings)
        value, slack = float(problem.values[attack.cell]), 1e-5 * (attack.reach + 1)
        if attack.sense > 0:
            assert high >= value + attack.reach - slack
        else:
            assert low <= value - attack.reach + slack


@pytest.mark.parametrize(
    ("shape", "known_within"), [((3, 3), np.inf), ((2, 2, 2), np.inf), ((6,), np.inf), ((3, 3), 0.5)]
)
@pytest.mark.parametrize("exact", [True, False])
def test_no_risky_cell_is_bounded_within_its_protection(
    shape: tuple[int, ...], known_within: float, exact: bool
) -> None:
    @settings(max_examples=4)
    @given(files(shape, most_records=14))
    def check(records: list[Record]) -> None:
        tables, found = made(shape, records)
        assume(found.sizes.any())
        problem, chosen = protect(tables, found, exact=exact, known_within=known_within)
        assert chosen.suppressed[problem.primary].all()
        assert not (chosen.suppressed & ~problem.primary & ~problem.candidates).any()
        check_attacks(shape, problem, chosen)

    check()


@settings(max_examples=12)
@given(files((2, 2), most_records=14), st.sampled_from([np.inf, 0.5, 0.3]))
def test_the_choice_is_the_cheapest_of_all(records: list[Record], known_within: float) -> None:
    tables, found = made((2, 2), records)
    assume(found.sizes.any())
    problem, chosen = protect(tables, found, exact=True, inside=False, known_within=known_within)
    assume(problem.primary.any() and not chosen.impossible)
    names = [named(tables, c) for c in range(tables.n_cells)]
    primary = primary_cells(found, RULES)
    best = definition.cheapest(
        names,
        [named(tables, c) for c in np.flatnonzero(tables.inner).tolist()],
        {name: float(v) for name, v in zip(names, found.values, strict=True)},
        {names[c]: float(r) for c, r in zip(primary.cells.tolist(), primary.reach.tolist(), strict=True)},
        [names[c] for c in np.flatnonzero(problem.candidates).tolist()],
        known_within,
    )
    assert best is not None
    assert chosen.optimal
    assert chosen.cost == pytest.approx(best, abs=1e-6)


def test_the_heuristic_costs_no_less_than_the_optimum_and_sees_when_nothing_is_needed() -> None:
    generator = np.random.default_rng(3)
    shape = (5, 6)
    levels = levels_of(shape)
    records = [
        (tuple(str(generator.choice(own)) for own in levels), float(generator.integers(1, 500)), f"u{k}", 1.0)
        for k in range(90)
    ]
    tables, found = made(shape, records)
    _, best = protect(tables, found, exact=True)
    _, quick = protect(tables, found, exact=False)
    assert 0 < best.cost <= quick.cost
    assert best.optimal
    assert (best.method, quick.method) == ("integer programme", "heuristic")
    # Two singletons in a row and a column of each other: the primary cells protect themselves.
    records = [((a, b), 100.0, f"{a}{b}", 1.0) for a in ("a0", "a1") for b in ("b0", "b1")]
    records += [((a, "b2"), 50.0, f"{a}{k}", 1.0) for a in ("a0", "a1") for k in range(20)]
    tables, found = made((2, 3), records)
    _, alone = protect(tables, found, exact=True, inside=False)
    assert (alone.method, alone.cost) == ("primary alone", 0.0)


def test_attacks_that_nothing_withstands_are_listed() -> None:
    """A cell whose total must be published has no other to hide behind but itself."""
    records = [(("a0",), 100.0, f"v{k}", 1.0) for k in range(30)] + [(("a1",), 5.0, "w", 1.0)]
    tables, found = made((2,), records)
    primary = primary_cells(found, RULES)
    attacks = tuple(Intruders(found, primary, RULES).outside())
    marks = np.isin(np.arange(tables.n_cells), primary.cells)
    for candidates, possible in ((np.zeros(3, dtype=bool), False), (~marks & tables.inner, True)):
        problem = Problem(tables, found.values, False, marks, candidates, found.sizes, attacks)
        chosen = suppress(problem)
        assert len(chosen.impossible) == (0 if possible else len(attacks))
        assert chosen.suppressed.sum() == (2 if possible else 1)


def test_a_contributor_of_two_withheld_cells_is_kept_in_doubt() -> None:
    """Unit s is alone in a0,b0 and would subtract it from its row to find a0,b1, which an outsider cannot."""
    records = [
        (("a0", "b0"), 80.0, "s", 1.0),
        (("a0", "b1"), 60.0, "t", 1.0),
        *((("a0", "b2"), 40.0, f"x{k}", 1.0) for k in range(10)),
        (("a1", "b0"), 90.0, "p", 1.0),
        (("a1", "b1"), 70.0, "q", 1.0),
        *((("a1", "b2"), 40.0, f"y{k}", 1.0) for k in range(10)),
    ]
    tables, found = made((2, 3), records)
    _, outside = protect(tables, found, exact=True, inside=False)
    problem, inside = protect(tables, found, exact=True)
    assert outside.cost == 0
    assert inside.cost > 0
    check_attacks((2, 3), problem, inside)
