"""What all kinds together say of how often people change what: rates, people in common, and kin beside them."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.fellegi_sunter.kinds.changes import Changes, unfound
from gemel.carole.fellegi_sunter.settings import FieldLevels
from gemel.risk.models.graphs import mask_of
from tests.carole.fellegi_sunter.kinds.test_relations import MOVED, PEOPLE, TWINS, WHOLE, related

GIVEN, BORN, SEX, SURNAME, STREET, TOWN = range(6)
NO_GIVEN, NO_GIVEN_MOVED = WHOLE & ~1, MOVED & ~1


def test_units_are_what_changes_together():
    fields = [*PEOPLE, FieldLevels("exchange", 2, of=(0, 3)), FieldLevels("state", 2, constant=True)]
    changes = Changes.of(fields)
    assert changes.units == (1, 2, 4, 8, mask_of((STREET, TOWN)), mask_of((7,)), mask_of((GIVEN, SURNAME)))
    assert changes.constant == mask_of((7,))
    ways = changes.ways([mask_of((GIVEN, TOWN)), mask_of((GIVEN, SURNAME, TOWN)), mask_of((SURNAME,))])
    assert ways.changed[0].tolist() == [[1, 0, 0, 0, 1, 0, 0], [1, 0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 0, 0, 0]]
    assert (ways.kept[0] == ~ways.changed[0]).all()
    # Where names were exchanged nothing shows of whether they changed, too.
    assert ways.changed[1, 1].tolist() == [0, 0, 0, 0, 1, 0, 1]
    assert ways.kept[1, 1].tolist() == [0, 1, 1, 0, 0, 1, 0]
    assert np.isfinite(ways.log_which[1]).tolist() == [False, True, False]
    assert Changes.of(fields[1:]).ways([mask_of((SURNAME - 1,))]).changed.shape == (1, 1, 5)


@given(st.lists(st.floats(0.01, 0.9), min_size=6, max_size=6))
def test_with_any_rates_what_changed_is_one_of_all_sets(rates):
    changes = Changes.of(PEOPLE)
    every = [mask_of(some) for n in range(7) for some in combinations(range(6), n)]
    assert sum(math.exp(changes.log_changed(some, rates)) for some in every) == pytest.approx(1)


def test_names_that_a_file_writes_otherwise_are_learnt_from_who_moved_and_who_did_not():
    """Two fifths have another given name, of those who moved as well: no relatives have that."""
    alone = related({WHOLE: 600.0, MOVED: 150.0, NO_GIVEN: 400.0})
    both = related({WHOLE: 600.0, MOVED: 150.0, NO_GIVEN: 400.0, NO_GIVEN_MOVED: 100.0})
    assert both.one_person[3] > alone.one_person[3] + 0.05 > 0.6
    assert both.one_person[4] > 0.5
    assert both.rates[0] > alone.rates[0] > 0.1


def test_names_that_are_exchanged_are_lost_together():
    """Nobody has another given name or surname alone; some have neither, among those who moved as among the others."""
    neither, absent = mask_of((GIVEN, SURNAME)), [(1, 0.0), (mask_of((SURNAME,)), 0.0)]
    at_home = related({WHOLE: 600.0, MOVED: 300.0, WHOLE & ~neither: 40.0}, absent=absent)
    both = related({WHOLE: 600.0, MOVED: 300.0, WHOLE & ~neither: 40.0, MOVED & ~neither: 20.0}, absent=absent)
    assert both.one_person[3] > at_home.one_person[3] + 0.05
    assert both.rates[-1] > 3 * both.rates[0] * both.rates[3]


def test_what_was_not_found_speaks_against_a_rate():
    """Of those who moved none has another given name, though there could be: who has one at home is a twin."""
    kinds = {WHOLE: 600.0, MOVED: 150.0, TWINS: 60.0}
    free, seen = related(kinds), related(kinds, absent=[(mask_of((GIVEN, STREET, TOWN)), 0.0)])
    assert seen.one_person[3] < free.one_person[3] - 0.02
    assert seen.rates[0] < free.rates[0]
    hidden = related(kinds, absent=[(mask_of((GIVEN, STREET, TOWN)), math.log(1e-3))])
    assert hidden.one_person[3] == pytest.approx(free.one_person[3], abs=0.01)


def test_few_with_family_make_who_shares_an_address_one_person():
    """As many share all but a name; where thousands of families are in both files they may be twins."""
    family = mask_of((SURNAME, STREET, TOWN))
    few, many = (related({WHOLE: 300.0, NO_GIVEN: 30.0, family: n}).one_person[2] for n in (20.0, 8000.0))
    assert few > many + 0.1


def test_fields_that_are_constant_say_nothing_of_nearly_everybody():
    """One file has one surname and one town for all: a thousand pairs share the rest, and hardly one everything."""
    fields = [replace(field, constant=q in (SURNAME, TOWN)) for q, field in enumerate(PEOPLE)]
    rest = WHOLE & ~mask_of((SURNAME, TOWN))
    found = related({WHOLE: 1.0, rest: 1000.0}, fields=fields)
    assert found.one_person[2] > 0.99
    assert found.rates[Changes.of(fields).units.index(mask_of((SURNAME, TOWN)))] > 0.95


def test_parts_are_drawn_about_their_means_and_together():
    """Whether names are written otherwise decides about two kinds at once."""
    found = related({WHOLE: 300.0, MOVED: 60.0, NO_GIVEN: 90.0, NO_GIVEN_MOVED: 12.0})
    assert found.drawn.shape == (400, 5)
    assert found.drawn.mean(axis=0) == pytest.approx(found.one_person, abs=0.1)
    assert not found.drawn[:, 0].any()
    doubted = [k for k in (3, 4) if found.drawn[:, k].std() > 0.01]
    if len(doubted) == 2:
        assert np.corrcoef(found.drawn[:, doubted].T)[0, 1] > 0


def test_each_unit_and_each_two_that_no_kind_lacks_are_looked_for():
    changes = Changes.of(PEOPLE)
    assert len(unfound(changes, [])) == 18
    home, street = mask_of((STREET, TOWN)), mask_of((STREET,))
    left = unfound(changes, [0, 1, street])
    assert 1 not in left
    assert home in left  # that some moved within a town says nothing of those who moved farther
    assert home | 1 in left
    assert len(left) == 17
