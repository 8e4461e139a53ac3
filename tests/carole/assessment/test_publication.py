"""Recovery from randomly rounded tables: whatever is drawn lies between the two ends; and what is proven of bounds."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks._built_population import SMALL
from gemel.carole.assessment.publication import publication, recovery
from gemel.common.specification.model.assessment import PublishedTable
from tests.carole.assessment.test_definitions import output

NAMES = [trait.name for trait in SMALL]


@settings(max_examples=10)
@given(st.integers(0, 2**32), st.sampled_from([3, 5]))
def test_no_draw_of_the_rounding_is_outside_of_the_ends(seed: int, base: int) -> None:
    rng = np.random.default_rng(seed)
    codes = np.zeros((int(rng.integers(20, 60)), len(SMALL)), dtype=np.int32)
    for name, levels in (("sex", 2), ("illness", 3)):
        codes[:, NAMES.index(name)] = rng.choice(levels, len(codes), p=rng.dirichlet(np.ones(levels)))
    tables = [
        PublishedTable(variables=("sex", "illness"), protection="random", base=base),
        PublishedTable(variables=("illness",)),
    ]
    made = output(codes)
    found = recovery(made, tables, 3)
    low, high = found.draws
    drawn = [recovery(made, tables, 3, rng).probability for _ in range(5)]
    assert all(low <= probability <= high for probability in (found.probability, *drawn))


def test_an_interval_where_rounding_is_random_and_a_reason_where_it_is_not() -> None:
    rng = np.random.default_rng(4)
    made = output(rng.integers(0, 2, (40, len(SMALL))).astype(np.int32))
    random = PublishedTable(variables=("sex", "illness"), protection="random", base=5)
    plain = PublishedTable(variables=("sex", "illness"))
    drawn = publication(made, [random], [], 5).measures["subtraction"]
    assert drawn.lower is not None
    assert drawn.lower <= drawn.value <= drawn.judged
    exact = publication(made, [plain], [], 5).measures["subtraction"]
    assert exact.upper is None
    assert "as they are published" in exact.no_interval
    assert "not proven" not in exact.no_interval
    # Three rounded tables in a ring, over more cells than programming is used for: the bounds are not proven.
    ring = [
        PublishedTable(variables=pair, protection="conventional", base=3)
        for pair in (("region", "occupation"), ("occupation", "age"), ("age", "region"))
    ]
    wide = output(rng.integers(0, 7, (400, len(SMALL))).astype(np.int32) % [t.levels for t in SMALL])
    loose = publication(wide, ring, [], 5).measures["subtraction"]
    assert "not proven tight" in loose.no_interval
    assert "not proven tight" in loose.method
