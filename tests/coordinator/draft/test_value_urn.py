"""The urn of Ewens and Pitman: its two numbers are the sample's, it draws by its rule, and it ends where values end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.coordinator.draft.grown_file import MIN_DISCOUNT, ValueUrn

URNS = (ValueUrn(0.6, 3.0), ValueUrn(0.0, 5.0), ValueUrn(-2.0, 16.0))


def chances(urn: ValueUrn, counts: list[int]) -> list[float]:
    """Chance of each value in the next row, and last of a new one, by the rule."""
    total = urn.strength + sum(counts)
    seen = [(count - urn.discount) / total for count in counts]
    return [*seen, (urn.strength + urn.discount * len(counts)) / total]


@pytest.mark.parametrize("urn", URNS)
def test_the_agreement_of_two_further_rows_is_its_definition(urn: ValueUrn) -> None:
    counts = [5, 1, 1, 3]
    expected = 0.0
    for value, chance in enumerate(chances(urn, counts)):
        after = [*counts, 0]
        after[value] += 1
        after = [count for count in after if count]
        expected += chance * chances(urn, after)[value]
    assert urn.agreement(np.array(counts)) == pytest.approx(expected)


@given(st.lists(st.integers(1, 30), min_size=2, max_size=60))
def test_a_fitted_urn_has_the_new_values_and_the_agreement_of_the_sample(listed: list[int]) -> None:
    counts = np.array(listed, dtype=np.int64)
    n, alone = int(counts.sum()), min(int((counts == 1).sum()), int(counts.sum()) - 1)
    urn = ValueUrn.fitted(counts)
    assert urn.discount < 1
    assert urn.strength > -urn.discount
    if alone:
        assert chances(urn, listed)[-1] == pytest.approx(alone / n, rel=1e-6, abs=1e-6)
    ends = (MIN_DISCOUNT, alone / len(counts) * 0.999 if alone else 0.0)
    if min(abs(urn.discount - end) for end in ends) > 1e-6:
        agree = float((counts * (counts - 1.0)).sum()) / (n * (n - 1.0))
        assert urn.agreement(counts) == pytest.approx(agree, rel=1e-6)


@pytest.mark.parametrize("urn", URNS)
def test_the_next_row_is_drawn_by_the_rule(urn: ValueUrn) -> None:
    """Of 40,000 draws each value's number is within five standard deviations."""
    codes, rng, draws = np.repeat(np.arange(4), [5, 1, 1, 3]), np.random.default_rng(1), 40_000
    found = np.zeros(5)
    for _ in range(draws):
        before = int(urn.drawn(codes, len(codes) + 1, rng)[-1])
        found[4 if before == len(codes) else codes[before]] += 1
    chance = np.array(chances(urn, [5, 1, 1, 3]))
    assert (np.abs(found - draws * chance) < 5 * np.sqrt(draws * chance * (1 - chance))).all()


def distinct(codes: np.ndarray, n_rows: int) -> tuple[int, float]:
    """Values and mean rows of a row's value, in a sample grown to a size."""
    _, numbers = np.unique(codes, return_inverse=True)
    before = ValueUrn.fitted(np.bincount(numbers)).drawn(numbers, n_rows, np.random.default_rng(1))
    assert (before <= np.arange(n_rows)).all()
    value = np.arange(n_rows)
    value[: len(codes)] = numbers + n_rows
    for row in range(len(codes), n_rows):
        value[row] = value[before[row]] if before[row] < row else row
    _, counts = np.unique(value, return_counts=True)
    return len(counts), float((counts**2).sum() / n_rows)


def test_days_end_names_do_not_and_numbers_of_ones_own_repeat_hardly() -> None:
    """Beside what a true file of the size has."""
    rng = np.random.default_rng(3)
    n, large = 3_000, 30_000
    for true in (rng.integers(0, 9_000, large), rng.zipf(1.7, large)):
        values, rows = distinct(true[:n], large)
        _, counts = np.unique(true, return_counts=True)
        assert values == pytest.approx(len(counts), rel=0.25)
        assert rows == pytest.approx((counts**2).sum() / large, rel=0.25)
    values, rows = distinct(np.arange(n), large)
    assert values > 0.99 * large
    assert rows < 1.05
