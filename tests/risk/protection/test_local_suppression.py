"""The frequency that a chance of a right match requires."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.risk.identification.individual_risk import expected_reciprocal_of_sampled
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.protection.local_suppression import suppress
from gemel.risk.protection.minimal_change import required_frequencies


def test_the_required_frequency_of_each_record_is_the_smallest() -> None:
    risk, pi = np.array([0.2, 0.005, 0.01]), np.array([1.0, 0.05, 0.3])
    f = required_frequencies(risk, pi, 10_000)
    assert (expected_reciprocal_of_sampled(f, pi) <= risk).all()
    assert (risk < expected_reciprocal_of_sampled(f - 1, pi)).all()
    assert required_frequencies(0.2, 1.0, 4) == 5


# Local suppression: k is met by definition, few values are taken, none of them can be given back.


def frequencies(codes: np.ndarray, missing: str) -> np.ndarray:
    """By definition: with whom each record agrees."""
    found = []
    for r in codes:
        agrees = codes == r if missing == "level" else (codes == r) | (codes < 0) | (r < 0)
        found.append(int(agrees.all(axis=1).sum()))
    return np.array(found)


@st.composite
def files(draw: st.DrawFn) -> tuple[np.ndarray, list[int]]:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    n = draw(st.integers(3, 25))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(-1 if rng.random() < 0.3 else 0, s, n) for s in sizes], axis=1).astype(np.int32)
    return codes, sizes


@given(files(), st.integers(2, 3), st.sampled_from(["any", "level"]))
def test_every_record_agrees_with_enough(file: tuple[np.ndarray, list[int]], k: int, missing: str) -> None:
    codes, sizes = file
    mask = suppress(codes, sizes, k, missing=missing)  # type: ignore[arg-type]
    assert not (mask & (codes < 0)).any()
    now = np.where(mask, -1, codes)
    f = frequencies(now, missing)
    assert f.min() >= k
    if missing == "any":
        for r, q in zip(*np.nonzero(mask), strict=True):
            restored = now.copy()
            restored[r, q] = codes[r, q]
            assert frequencies(restored, "any").min() < k


@given(files())
def test_the_file_measures_what_is_claimed(file: tuple[np.ndarray, list[int]]) -> None:
    codes, sizes = file
    mask = suppress(codes, sizes, 3)
    values = np.where(mask | (codes < 0), None, codes.astype(object))
    columns = {f"k{q}": [None if v is None else str(v) for v in values[:, q]] for q in range(codes.shape[1])}
    if all(any(v is not None for v in column) for column in columns.values()):
        assert KeyFile.from_columns(columns, 1.0, missing="any").frequency.min() >= 3


def fewest(codes: np.ndarray, k: int) -> int:
    cells = list(product(*(range(n) for n in codes.shape)))
    for number in range(len(cells) + 1):
        for chosen in combinations(cells, number):
            now = codes.copy()
            for cell in chosen:
                now[cell] = -1
            if frequencies(now, "any").min() >= k:
                return number
    raise AssertionError


def test_beside_the_fewest_values_of_small_files() -> None:
    """Over 40 files the heuristic takes at most a tenth more than all subsets of cells show to be needed."""
    taken = needed = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, [2, 3, 2], (5, 3)).astype(np.int32)
        mask = suppress(codes, [2, 3, 2], 2)
        own = fewest(codes, 2)
        assert mask.sum() >= own
        taken, needed = taken + int(mask.sum()), needed + own
    assert needed <= taken <= 1.1 * needed


def test_one_of_two_is_enough_and_the_cheap_key_goes() -> None:
    codes = np.array([[0, 0], [1, 1], [1, 1], [0, 1]], dtype=np.int32)
    mask = suppress(codes, [2, 2], 2)
    assert mask.sum() == 1
    dear = suppress(np.array([[0, 0], [1, 1]], dtype=np.int32), [2, 2], 2, costs=[5.0, 1.0])
    assert dear[:, 1].sum() == 1


def test_each_record_may_need_its_own_number() -> None:
    codes = np.array([[0], [0], [1], [1], [2]], dtype=np.int32)
    mask = suppress(codes, [3], np.array([2, 2, 2, 2, 1]))
    assert not mask.any()


@pytest.mark.parametrize("missing", ["any", "level"])
def test_k_above_the_number_of_records(missing: str) -> None:
    with pytest.raises(GemelError, match="4 of 3 records"):
        suppress(np.zeros((3, 1), dtype=np.int32), [1], 4, missing=missing)  # type: ignore[arg-type]
    with pytest.raises(GemelError, match="cost above 0"):
        suppress(np.zeros((3, 1), dtype=np.int32), [1], 2, costs=[0.0])
