"""Measures by the joint model beside what intruders infer rightly: the small `python -m benchmarks attribution_truth`.

The seeds are fixed; a binomial count of misses with chance .05 exceeds 3 of 6 with probability .0001.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import partial

import numpy as np
import pytest

from benchmarks.attribution_truth import Claim, claims, compared, linked, made, rows, specification
from tests.carole.assessment.outputs import linkage

REPLICATES, LINKS, SEED = 6, 300, 110
SPEC = specification("little", 0.1)


def missed(every: list[list[Claim]]) -> Counter[tuple[str, str, str]]:
    """How often the truth lies outside of the interval, by measure, variable and intruder."""
    return Counter((c.measure, c.variable, c.intruder) for of in every for c in of if not c.inside)


@pytest.mark.parametrize("false", [0.0, 0.1])
def test_the_interval_covers_what_is_inferred(false: float) -> None:
    every, true, _ = compared(lambda rng: made(SPEC, LINKS, false, false, "some", rng), SPEC, REPLICATES, SEED)
    assert true == pytest.approx(false, abs=0.03)
    assert max(missed(every).values(), default=0) <= 3, (SEED, missed(every))
    for of in zip(*every, strict=True):
        assert np.mean([c.value - c.true for c in of]) == pytest.approx(0.0, abs=0.02), of[0]
    # Intervals that cover everything, or claims of nothing, would be noticed.
    assert max(c.upper - c.lower for of in every for c in of) < 0.12
    assert np.mean([c.true for of in every for c in of if c.variable == "SeniorTrain"]) > 0.5


def test_links_taken_for_certain_are_noticed() -> None:
    """Of a tenth of false links that claim to be one in a thousand, what is inferred is over-stated.

    An estimate of their share, as a check field gives it, makes the interval reach far enough.
    """
    for run in (None, linkage(LINKS, check_field={"value": 0.9, "lower": 0.87, "upper": 0.93})):
        every, _, claimed = compared(lambda rng: made(SPEC, LINKS, 0.1, 0.001, "any", rng), SPEC, REPLICATES, SEED, run)
        assert claimed < 0.005
        assert (max(missed(every).values(), default=0) <= 3) == (run is not None), missed(every)


def test_links_of_the_engine_are_covered_too() -> None:
    spec = specification("more", 0.1)
    found = linked(spec, LINKS, np.random.default_rng(SEED))
    assert found.right.mean() > 0.9
    # Whoever knows the prior reads the counts behind a run's distribution: none below 0, and as many as there were.
    precision = found.joint.precision
    assert precision is not None
    for clique in found.joint.model.cliques:
        size = math.prod(clique.levels)
        counts = clique.values * (found.joint.records + precision) - precision / size
        assert counts.min() > -1e-9
        assert counts.sum() == pytest.approx(found.joint.records)
    every = list(claims(found, spec))
    assert {c.measure for c in every} == {"modelled_attribution", "joint_attribution"}
    assert {c.intruder for c in every} == {"keys", "alice"}
    assert sum(c.inside for c in every) >= len(every) - 2, every


def test_the_table_counts_what_is_inside() -> None:
    claim = partial(Claim, "joint_attribution", "illness", "keys", 0.5, 0.4, 0.6)
    (line,) = rows("made", [[claim(0.45)], [claim(0.7)], [claim(0.6)]], 0.1, 0.05)
    assert "| made | 10.0 | 5.0 | `joint_attribution` |" in line
    assert "| 2 of 3 | 2 of 3 (0.09 to 0.99), illness, keys |" in line
    nothing = Claim("joint_attribution", "illness", "keys", 0.0, 0.0, 0.0, 0.0)
    assert rows("made", [[nothing], [nothing]], 0.1, 0.05) == [], "what is never inferred shows nothing"
