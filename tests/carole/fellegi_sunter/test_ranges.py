"""Work on parts of an array: the same parts, and results to the last bit, on any number of threads."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gemel.carole.fellegi_sunter import candidate_graph as module
from gemel.carole.fellegi_sunter.candidate_graph import in_ranges, ranges
from gemel.carole.fellegi_sunter.one_to_one import Competition
from gemel.carole.fellegi_sunter.prior import BetaBipartite


@given(st.lists(st.integers(1, 12), max_size=40), st.integers(1, 9), st.integers(1, 3))
def test_parts_follow_each_other_and_have_about_as_many(sizes: list[int], size: int, threads: int) -> None:
    first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    with patch.object(module, "RANGE", size):
        parts = ranges(first)
    covered = in_ranges(parts, threads, lambda part: list(range(part.start, part.stop)))
    assert [place for part in covered for place in part] == list(range(len(sizes)))
    # Without its last element a part has fewer than it may have, so that none could have been cut again.
    assert all(first[part.stop - 1] - first[part.start] < size for part in parts)


@settings(max_examples=8)
@given(seed=st.integers(0, 2**32), density=st.sampled_from([0.03, 0.1, 0.5]), size=st.sampled_from([20, 80]))
def test_probabilities_are_the_same_on_any_number_of_threads(seed: int, density: float, size: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = np.nonzero((rng.random((40, 50)) < density) | np.eye(40, 50, dtype=bool))
    weights = [rng.normal(-2, 4, len(a)) + np.where(a == b, 6, 0) for _ in range(2)]
    prior, found = BetaBipartite(60, 60), []
    for threads, part in ((1, size), (3, size), (1, 1 << 18)):
        with patch.object(module, "RANGE", part):
            competing = Competition(a, b, threads)
            found.append([competing.probabilities(weight, prior).probability for weight in weights])
    for one, several, whole in zip(*found, strict=True):
        assert one.tobytes() == several.tobytes()
        np.testing.assert_allclose(one, whole, atol=1e-12)
