"""Large tables: bounds stay valid within a time limit, and are marked as not proven."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from gemel.common.errors import GemelError
from gemel.risk.attribution.cell_bounds import bounds
from gemel.risk.attribution.release import Axis, Published, Table
from research._thesis_tables import anonymous, exact_margins


def test_a_time_limit_is_kept_to_and_nothing_more_is_claimed() -> None:
    """1,024 cells from all pairs: linear relaxations within the shuttle's bounds, the truth within both."""
    shape = (2,) * 10
    truth = Table(anonymous(shape), np.random.default_rng(1).poisson(5, shape))
    release = exact_margins(truth, list(combinations(truth.names, 2)))
    found, shuttled = bounds(release, seconds=3), bounds(release, "shuttle")
    assert "linear" in found.method
    assert not found.tight
    assert (found.lower <= truth.counts).all()
    assert (found.upper >= truth.counts).all()
    assert (found.upper <= shuttled.upper).all()
    assert (found.upper < shuttled.upper).any()


def test_conflict_in_a_large_release_is_named() -> None:
    truth = Table(anonymous((30, 30)), np.random.default_rng(2).poisson(3, (30, 30)))
    release = exact_margins(truth, [("V1",), ("V2",)])
    wrong = Published("wrong", (Axis.full(truth.variables[0]),), truth.over(["V1"]).counts[::-1].copy())
    with pytest.raises(GemelError, match=r"'V1', 'wrong'"):
        bounds(release.with_tables(wrong), seconds=5)
