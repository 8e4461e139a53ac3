"""Smith and Elliot 2017 through the services: the paper's order, and the library's areas.

Five draws, the first of those of `test_smith_elliot_2017`. With the paper's setting each mean area is within .01 of
the library's, for GP of the library's with the surnames' true frequencies too; every step FS < Ext. EM < Ext. EM + < GP
is outside its 95 % interval (paired). What a specification's default belief and its assignment add is positive for
Ext. EM (`research/smith-elliot-2017.md`).
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from research._intervals import interval
from research._se17_services import SETTINGS
from research._se17_services_section import FLOORED, LIBRARY, OWN_SURNAMES, TO_THE_END, areas
from research._se17_study import METHODS

pytestmark = [pytest.mark.long, pytest.mark.timeout(2400)]

PAPER, BELIEVED, ONE_TO_ONE = (setting.title for setting in SETTINGS)


@pytest.fixture(scope="module")
def found():
    return areas(5, 17)


def test_every_step_of_the_order_holds(found):
    for i, k in pairwise(range(len(METHODS))):
        mean, low, _ = interval(found[PAPER][:, k] - found[PAPER][:, i])
        assert low > 0, f"{METHODS[k]} above {METHODS[i]}: {mean:.4f}, from {low:.4f}"


def test_areas_are_within_a_hundredth_of_the_library_s(found):
    for k, method in enumerate(METHODS):
        assert found[PAPER][:, k].mean() == pytest.approx(found[LIBRARY][:, k].mean(), abs=0.01), method


def test_the_floor_is_no_cause_of_a_difference(found):
    assert found[FLOORED] == pytest.approx(found[LIBRARY], abs=0.005)


def test_where_the_estimate_runs_to_the_end_each_draw_s_area_is_the_library_s(found):
    """But for the surnames of GP, the floor, and weights that the step's classes round."""
    assert found[TO_THE_END] == pytest.approx(found[OWN_SURNAMES], abs=0.003)


def test_the_default_belief_and_the_assignment_help_where_little_is_known(found):
    column = METHODS.index("Ext. EM")
    assert interval(found[BELIEVED][:, column] - found[PAPER][:, column])[1] > 0
    assert interval(found[ONE_TO_ONE][:, column] - found[BELIEVED][:, column])[1] > 0
