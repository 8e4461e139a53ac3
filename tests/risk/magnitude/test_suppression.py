"""Secondary suppression: no attack comes too close, and no choice costs less; by enumeration and other programmes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gemel.risk.magnitude.assessment import Intruders
from gemel.risk.magnitude.rules import Contributions, MinimumFrequency, PriorPosterior, primary_cells
from gemel.risk.magnitude.suppression import Problem, Suppression, suppress
from gemel.risk.magnitude.tables import LinkedTables
from tests.risk.magnitude import definition
from tests.risk.magnitude.definition import Record
from tests.risk.magnitude.small_tables import files, levels_of, made, named

RULES = (MinimumFrequency(3, 20), PriorPosterior(20))


def protect(
    tables: LinkedTables, found: Contributions, *, exact: bool, inside: bool = True, known_within: float = np.inf
) -> tuple[Problem, Suppression]:
    primary = primary_cells(found, RULES)
    intruders = Intruders(found, primary, RULES)
    marks = np.zeros(tables.n_cells, dtype=bool)
    marks[primary.cells] = True
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
    marks = np.zeros(tables.n_cells, dtype=bool)
    marks[primary.cells] = True
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
