"""What `benchmarks.shared` measures makes the right levels, whatever computes them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import shared
from benchmarks.shared import PEER_PYTHON, RingParties, Work, arithmetic, own, signs, spu


@pytest.fixture(scope="module")
def work() -> Work:
    return Work.random(128, 1, np.random.default_rng(1))


def test_all_levels_occur_and_are_those_of_the_definition(work: Work) -> None:
    levels = work.plain()
    assert levels.shape == (shared.FIELDS, shared.ROWS**2)
    row_a, row_b = work.pairs()
    for field, pair in ((0, 0), (3, 77), (7, 1023)):
        apart = work.alice[field, 0, row_a[pair]] ^ work.bob[field, 0, row_b[pair]]
        disagreeing = sum(int(word).bit_count() for word in apart)
        assert levels[field, pair] == sum(disagreeing <= limit for limit in work.limits)
    assert set(np.unique(levels)) == set(range(len(work.limits) + 1))


def test_what_a_project_runs_and_its_gates_alone_make_the_same_levels(work: Work) -> None:
    checked, unchecked = own(work, checked=True), own(work, checked=False)
    for found in (checked, unchecked):
        assert np.array_equal(found.levels, work.plain())
    assert 0 < 3 * unchecked.sent < checked.sent


def test_shares_of_sixteen_bits_make_the_same_levels_for_a_fixed_message(work: Work) -> None:
    found = arithmetic(work)
    assert np.array_equal(found.levels, work.plain())
    # An element, and for each of seven limits an adder's nine words of 16 bits.
    assert found.sent == found.levels.size * (2 + 7 * 9 * 2)


def test_two_shares_of_sixteen_bits_say_nothing_of_the_third() -> None:
    bits = signs(np.array([[0], [~np.uint64(0)]], dtype=np.uint64))
    assert set(bits[0]) == {1}
    assert set(bits[1]) == {0xFFFF}
    one, two, three = RingParties(np.random.default_rng(1)).shared(bits)
    assert np.array_equal(one + two + three, bits)
    assert len({tuple(one[0]), tuple(two[0]), tuple(three[0])}) == 3


@pytest.mark.skipif(not PEER_PYTHON.exists(), reason="SPU is not installed: make .venv-spu")
@pytest.mark.long
@pytest.mark.parametrize("form", shared.FORMS)
def test_spu_makes_the_same_levels(work: Work, form: str) -> None:
    found = spu(work, form, PEER_PYTHON)
    assert np.array_equal(found.levels, work.plain())
    assert found.sent > 0


def test_without_spu_the_others_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert shared.main(["--bits", "64", "--groups", "1", "--spu-python", "/nonexistent"]) == 0
    text = capsys.readouterr().out
    assert "spu is not installed" in text
    assert text.count("| 64 |") == 3
    assert "0 levels are not those" in text
