"""Two files of invented people and the truth beside them."""

import numpy as np
import pytest

from gemel.common.errors import GemelError
from gemel.coordinator.demonstration.people import COLUMNS, IDENTIFIER, TRUTH, two_files


def test_sizes_overlap_and_identifiers() -> None:
    alice, bob = two_files(900, 700, 400, 0.2, np.random.default_rng(4))
    assert alice.height == 900
    assert bob.height == 700
    assert alice.columns == bob.columns == [IDENTIFIER, *COLUMNS]
    assert len(set(alice[TRUTH]) & set(bob[TRUTH])) == 400
    assert alice[IDENTIFIER].n_unique() == 900
    assert bob[IDENTIFIER].n_unique() == 700
    assert not set(alice[IDENTIFIER]) & set(bob[IDENTIFIER])


def test_errors_on_the_side_asked_for() -> None:
    """With no errors in either file the people in common read the same; with .5 in Bob's, half of them do not."""
    for shares, expected in (((0.0, 0.0), 0), ((0.0, 0.5), 200)):
        alice, bob = two_files(500, 500, 400, shares, np.random.default_rng(4))
        both = alice.join(bob, on=TRUTH, suffix="_bob")
        changed = sum(
            any(row[name] != row[f"{name}_bob"] for name in COLUMNS if name != TRUTH) for row in both.to_dicts()
        )
        assert changed == pytest.approx(expected, abs=45)  # 5 standard deviations of a hypergeometric draw


def test_neither_order_nor_number_tells_who_is_who() -> None:
    """Rank correlation of places and of numbers between the files, over 2,000 people in common: none."""
    alice, bob = two_files(2_000, 2_000, 2_000, 0.0, np.random.default_rng(4))
    places = alice.with_row_index("place").join(bob.with_row_index("place"), on=TRUTH, suffix="_bob")
    numbers = places.select(
        "place",
        "place_bob",
        a=places[IDENTIFIER].str.slice(1).cast(int),
        b=places[f"{IDENTIFIER}_bob"].str.slice(1).cast(int),
    ).to_numpy()
    correlation = np.corrcoef(numbers, rowvar=False)
    assert np.all(np.abs(correlation[~np.eye(4, dtype=bool)]) < 0.11)


def test_determined_by_the_seed() -> None:
    first, again = (two_files(50, 60, 20, 0.3, np.random.default_rng(4)) for _ in range(2))
    assert all(one.equals(other) for one, other in zip(first, again, strict=True))


@pytest.mark.parametrize("common", [-1, 51])
def test_more_in_common_than_there_are_is_refused(common: int) -> None:
    with pytest.raises(GemelError, match="n_common"):
        two_files(50, 60, common, 0.3, np.random.default_rng(4))
