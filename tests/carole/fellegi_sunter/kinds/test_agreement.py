"""What m may become from round to round."""

import numpy as np
import pytest

from gemel.carole.fellegi_sunter.kinds.agreement import REPLACED, UNLIKE, held
from gemel.carole.fellegi_sunter.model_warnings import default_m
from gemel.carole.fellegi_sunter.settings import FieldLevels

NAMES = [FieldLevels(name, 8, describes=what) for name, what in (("given", "name"), ("surname", "family"))]
U = np.tile([0.86, 0.1, 0.03, 0.005, 0.002, 0.001, 0.001, 0.001], (2, 1))
GOOD = np.array([0.01, 0.02, 0.02, 0.05, 0.05, 0.05, 0.1, 0.7])


def test_an_m_that_is_good_stays():
    m = np.vstack([GOOD, GOOD])
    np.testing.assert_allclose(held(m, default_m(NAMES, 8), U, NAMES), m)


def test_most_who_share_a_name_are_more_alike_than_strangers_often_are():
    """Levels that five in a hundred strangers reach have two fifths of m at most; the others keep their proportions."""
    low = np.array([0.01, 0.9, 0.05, 0.02, 0.005, 0.005, 0.005, 0.005])
    found = held(np.vstack([low, GOOD]), default_m(NAMES, 8), U, NAMES)
    assert found[0, :2].sum() == pytest.approx(UNLIKE)
    np.testing.assert_allclose(found[0, 2:] / found[0, 2:].sum(), low[2:] / low[2:].sum())
    assert found.sum(axis=1) == pytest.approx(1)
    np.testing.assert_allclose(found[1], GOOD)


def test_a_name_that_most_strangers_share_may_be_as_it_is():
    often = np.array([[0.1, 0, 0, 0, 0, 0, 0, 0.9], U[1]])
    m = np.vstack([[0.05, 0, 0, 0, 0, 0, 0, 0.95], GOOD])
    np.testing.assert_allclose(held(m, default_m(NAMES, 8), often, NAMES), m)


def test_no_value_is_replaced_far_more_often_than_in_other_fields():
    replaced = 0.7 * GOOD + 0.3 * U[0]
    found = held(np.vstack([replaced, GOOD]), default_m(NAMES, 8), U, NAMES)
    assert (found[0] / U[0])[:2].min() < 2 * REPLACED
    assert found[0, 7] > replaced[7] + 0.1
