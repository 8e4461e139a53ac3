"""Shlomo 2009, table 5: what EM can and cannot learn from one agreement indicator.

Exact: no sampling. The paper's printed end, .726, .020 and .0015, cannot be reached from its start.
"""

from __future__ import annotations

import numpy as np
import pytest

from gemel.carole.fellegi_sunter.em import fit
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.carole.fellegi_sunter.settings import Estimation, FieldLevels
from research._one_indicator import PRINTED, START, TABLE_5, Indicator, steps, truth

AGREE, PAIRS = 50.0, 2334.0


def test_the_table_s_own_parameters_are_the_printed_ones():
    true = truth()
    assert TABLE_5.sum() == PAIRS
    assert (round(true.m, 3), round(true.u, 3), round(true.p, 4)) == (0.667, 0.021, 0.0013)
    assert true.match_given_agreement == pytest.approx(2 / 50)


def test_from_the_paper_s_start_em_stops_after_one_step_elsewhere():
    _, first, second = steps(START, AGREE, PAIRS)
    assert (round(first.m, 4), round(first.u, 4), round(first.p, 4)) == (0.7497, 0.0200, 0.0020)
    assert (second.m, second.u, second.p) == pytest.approx((first.m, first.u, first.p), rel=1e-12)
    assert PRINTED.match_given_agreement == pytest.approx(0.052, abs=5e-4)


def test_one_step_reaches_the_mixture_and_keeps_the_start_s_posterior():
    rng = np.random.default_rng(5)
    for m, u, p in rng.uniform(0.01, 0.99, (50, 3)):
        start = Indicator(m, u, p)
        later = start.step(AGREE, PAIRS)
        assert later.agreement == pytest.approx(AGREE / PAIRS, rel=1e-12)
        assert later.match_given_agreement == pytest.approx(start.match_given_agreement, rel=1e-12)


def test_the_linkage_s_own_em_ends_where_its_start_put_it_too():
    """Without its refusal: the p that it starts with, 2 of 2,334, and u from all pairs."""
    patterns = PatternCounts(np.array([[0], [1]], dtype=np.int8), np.zeros(2, dtype=np.uint32), np.array([2284, 50]))
    settings = Estimation(refuse_unidentified=False, prior=0, u="free", one_to_one=False)
    found = fit(patterns, [FieldLevels("authority", 2)], 1167, 2, settings)
    assert found.p * found.m[0, 1] + (1 - found.p) * found.u[0, 1] == pytest.approx(AGREE / PAIRS, rel=1e-6)
    begin = found.history
    starting = Indicator(float(begin.m[0][0, 1]), AGREE / PAIRS, float(begin.p[0]))
    ended = Indicator(float(found.m[0, 1]), float(found.u[0, 1]), float(found.p))
    assert ended.match_given_agreement == pytest.approx(starting.match_given_agreement, rel=1e-6)
