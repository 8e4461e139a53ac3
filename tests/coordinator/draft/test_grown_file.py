"""A file at the size it may grow to: by its groups of fields, and by the urn of Ewens and Pitman."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.coordinator.draft.grown_file import MIN_DISCOUNT, ValueUrn, dependent_groups, grown

N = 4_000


def sample(n: int, seed: int) -> dict[str, pl.Series]:
    """Names that settle the sex, towns that settle the postcode but for a digit, and days."""
    rng = np.random.default_rng(seed)
    name, town = rng.zipf(1.6, n) % 40, rng.integers(0, 30, n)
    columns = {
        "given": name,
        "sex": name % 2,
        "town": town,
        "postcode": 10 * town + rng.integers(0, 5, n),
        "born": rng.integers(0, 3_000, n),
    }
    found = {key: pl.Series(key, column).cast(pl.String) for key, column in columns.items()}
    found["born"] = found["born"].set(pl.Series(rng.random(n) < 0.05), None)
    return found


def test_what_depends_stays_together_and_the_rest_is_combined() -> None:
    columns = sample(N, 1)
    groups = dependent_groups(columns, np.random.default_rng(1))
    assert groups == [["given", "sex"], ["town", "postcode"], ["born"]]
    larger = grown(columns, 8 * N, np.random.default_rng(1))
    assert list(larger) == list(columns)
    for name, column in columns.items():
        assert len(larger[name]) == 8 * N
        assert larger[name].head(N).equals(column)
        assert abs(larger[name].null_count() / (8 * N) - column.null_count() / N) < 0.01
    pairs = pl.DataFrame([larger["given"], larger["sex"]]).unique()
    assert pairs.height == larger["given"].n_unique()
    # Blocks of independent fields have as many rows as in a file that is truly so large.
    true = sample(8 * N, 2)
    sizes = [
        pl.DataFrame([of["given"], of["town"]]).group_by("given", "town").len()["len"].mean() for of in (larger, true)
    ]
    assert abs(sizes[0] / sizes[1] - 1) < 0.1  # type: ignore[operator]


def test_a_file_that_has_the_size_is_as_it_is() -> None:
    columns = sample(50, 3)
    assert all(grown(columns, 50, np.random.default_rng(1))[name].equals(columns[name]) for name in columns)
    assert grown({"a": pl.Series("a", ["x"])}, 3, np.random.default_rng(1))["a"].to_list() == ["x", "x", "x"]


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
