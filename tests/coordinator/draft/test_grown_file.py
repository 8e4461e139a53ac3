"""A sample at the size that its file may grow to: shares, dependences and blocks as in a true file of that size."""

from __future__ import annotations

import numpy as np
import polars as pl

from gemel.coordinator.draft.grown_file import dependent_groups, grown

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
