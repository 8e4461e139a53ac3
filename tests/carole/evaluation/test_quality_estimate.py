"""Precision from decoys: closed forms, coverage in simulations, and what shows nothing."""

from __future__ import annotations

import numpy as np
import pytest

from gemel.carole.evaluation.quality_estimate import DecoyCount, Interval, precision_by_decoys
from gemel.common.errors import ErrorCode
from tests.carole.refusals import refusal


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_alike_files_have_a_closed_form() -> None:
    """Where all links to decoys are to unlinked records, F = r (n - L + F)."""
    side = DecoyCount(decoys=1000, linked=40, to_unlinked=40, records=900, linked_records=500)
    found = precision_by_decoys((side, side), 500, 0.0, rng())
    assert found.value == pytest.approx(1 - 0.04 * 400 / (1 - 0.04) / 500)
    assert found.lower < found.value < found.upper


def test_a_file_whose_people_are_all_in_the_other_leaves_it_to_the_other_file() -> None:
    """False links then join absent people of B with people of A who are in B: none is counted twice."""
    inside = DecoyCount(decoys=1000, linked=500, to_unlinked=500, records=300, linked_records=290)
    outside = DecoyCount(decoys=1000, linked=10, to_unlinked=10, records=1000, linked_records=290)
    found = precision_by_decoys((inside, outside), 290, 10.0, rng())
    # The ten unlinked people of A are matches that were missed: nothing in A is absent but for the false links.
    false = (1 - found.value) * 290
    assert 0.01 * 700 * 0.6 < false < 0.01 * 710 / (1 - 0.5)


@pytest.mark.parametrize(("absent", "rate"), [((400, 400), 0.01), ((100, 2000), 0.02), ((1500, 1500), 0.002)])
def test_intervals_hold(absent: tuple[int, int], rate: float) -> None:
    """False links join absent people of both files; each of A's has one with probability `rate`."""
    draw, matches, decoys, runs = rng(3), 400, 1000, 200
    rate_b = rate * absent[0] / absent[1]
    held = 0
    for k in range(runs):
        false = draw.poisson(rate * absent[0])
        links = matches + false
        counts = [draw.binomial(decoys, r) for r in (rate, rate_b)]
        sides = [DecoyCount(decoys, n, n, matches + u, links) for n, u in zip(counts, absent, strict=True)]
        found = precision_by_decoys(sides, links, 0.0, rng(k))
        held += not found.excludes(matches / links)
    # Both sides' counts are used as if each showed half of the false links, which holds whatever their sizes.
    assert held / runs > 0.92


def test_no_link_to_a_decoy_leaves_an_interval_and_more_decoys_a_shorter_one() -> None:
    lower = []
    for decoys in (100, 1000, 10_000):
        side = DecoyCount(decoys, 0, 0, 2000, 500)
        found = precision_by_decoys((side, side), 500, 0.0, rng())
        assert found.value == found.upper == 1
        lower.append(found.lower)
    assert lower[0] < lower[1] < lower[2]


def test_where_nearly_all_are_linked_decoys_show_nothing() -> None:
    full = DecoyCount(1000, 30, 30, 520, 500)
    assert precision_by_decoys((full, full), 500, 0.0, rng()) is None
    part = DecoyCount(1000, 30, 30, 600, 500)
    assert precision_by_decoys((part, full), 500, 0.0, rng()) is not None
    # A hundred records without a link of which ninety are matches that were missed.
    assert precision_by_decoys((part, full), 500, 90.0, rng()) is None


def test_all_decoys_linked_leaves_no_precision() -> None:
    side = DecoyCount(100, 100, 100, 900, 500)
    found = precision_by_decoys((side, side), 500, 0.0, rng())
    assert (found.value, found.lower) == (0.0, 0.0)


def test_impossible_counts_are_refused() -> None:
    for linked, to_unlinked in ((101, 0), (5, 6), (-1, -2)):
        with refusal(ErrorCode.PARAMETER):
            DecoyCount(100, linked, to_unlinked, 900, 500)
    side = DecoyCount(100, 1, 1, 900, 500)
    for links, missed in ((0, 0.0), (10, -1.0)):
        with refusal(ErrorCode.PARAMETER):
            precision_by_decoys((side, side), links, missed, rng())


def test_an_interval_excludes_what_lies_outside() -> None:
    interval = Interval(0.9, 0.8, 0.95)
    assert [interval.excludes(claim) for claim in (0.79, 0.8, 0.95, 0.96)] == [True, False, False, True]
