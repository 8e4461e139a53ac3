"""What relatives' names are like: of whom it is believed, and what pairs show of it."""

import numpy as np
import pytest

from gemel.carole.fellegi_sunter.kinds.relatives import Relatives
from gemel.carole.fellegi_sunter.settings import FieldLevels

NAMES = [FieldLevels(name, 8, describes=what) for name, what in (("given", "name"), ("surname", "family"))]
WHOLE = [FieldLevels("name", 8, describes="name"), FieldLevels("street", 8, describes="household")]
U = np.tile([0.86, 0.1, 0.03, 0.005, 0.002, 0.001, 0.001, 0.001], (2, 1))


def test_relatives_are_those_who_share_a_tie_and_more():
    levels = np.ones((4, 8)) / 8
    relatives = Relatives(0b0001, 0b1100, levels, levels, {0b1110: None, 0b1111: levels / 2})
    assert relatives.levels(0b1100) is None  # too few
    assert relatives.levels(0b0011) is None  # no tie
    assert relatives.levels(0b1110) is None  # strangers, as was found
    assert relatives.levels(0b1101) is levels
    assert relatives.levels(0b1111)[0, 0] == 1 / 16


def test_relatives_are_alike_in_names_that_have_the_familys_in_them():
    """Where the family's name is a field of its own they share that; and who is alike nearly altogether shares all."""
    assert Relatives.believed(NAMES, U).names == 0
    found = Relatives.believed(WHOLE, U)
    assert (found.names, found.ties) == (0b01, 0b10)
    assert found.first.sum(axis=1) == pytest.approx(1)
    assert (found.first[0, 1:4] > U[0, 1:4]).all()
    assert (found.first[0, 4:] <= U[0, 4:]).all()
    np.testing.assert_allclose(found.first[1], U[1])


def test_pairs_show_how_much_relatives_are_alike():
    """But not that they agree altogether, however many pairs of one person are among them."""
    levels = np.array([[300.0, 500.0, 200.0, 0, 0, 0, 0, 4000.0], [0, 0, 0, 0, 0, 0, 0, 5000.0]])
    believed = Relatives.believed(WHOLE, U)
    shared, strangers = 0b1110, 0b11110
    found = believed.learnt([(shared, levels, False), (strangers, levels, True)], WHOLE)
    assert found.levels(strangers) is None
    learnt = found.levels(shared)
    assert learnt[0].sum() == pytest.approx(1)
    np.testing.assert_allclose(learnt[0, :3] / learnt[0, :3].sum(), [0.3, 0.5, 0.2], atol=0.02)
    np.testing.assert_allclose(learnt[0, 4:], U[0, 4:])
    assert found.levels(0b111) is believed.first
