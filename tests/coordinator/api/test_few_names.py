"""Ordinary files without a date of birth: few given names, and a sex that follows from them.

Pairs of one name, sex and town are then so many that strangers make a class of their own, of tens of pairs a record.
"""

from __future__ import annotations

import string

import numpy as np
import polars as pl
import pytest

import gemel

FIELDS = ["given", "surname", "sex", "town", "postcode"]


def misspelt(text: str, rng: np.random.Generator) -> str:
    place = int(rng.integers(len(text)))
    return text[:place] + str(rng.choice(list(string.ascii_lowercase))) + text[place + 1 :]


def people(n: int, rng: np.random.Generator) -> list[dict[str, str]]:
    def names(number: int, letters: int) -> list[str]:
        return ["".join(rng.choice(list("aeioubdklmnrst"), letters)) for _ in range(number)]

    given, surnames, towns = names(60, 5), names(700, 7), names(12, 8)
    found = []
    for person in range(n):
        name, town = int(rng.integers(60)), int(rng.integers(12))
        found.append(
            {
                "given": given[name],
                "surname": surnames[int(rng.integers(700))],
                "sex": "FM"[name % 2],
                "town": towns[town],
                "postcode": f"{10 * (town + 1) + int(rng.integers(9)):05d}",
                "person": str(person),
            }
        )
    return found


def files(seed: int, n: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two files of `n` people, half of them common, of whose values one in twelve has an error."""
    rng = np.random.default_rng(seed)
    everyone = people(n + n // 2, rng)

    def file(chosen: list[dict[str, str]], side: str) -> pl.DataFrame:
        rows = [
            {
                "id": f"{side}{place}",
                "person": one["person"],
                **{name: misspelt(one[name], rng) if rng.random() < 1 / 12 else one[name] for name in FIELDS[:2]},
                "sex": one["sex"],
                **{name: misspelt(one[name], rng) if rng.random() < 1 / 25 else one[name] for name in FIELDS[3:]},
            }
            for place, one in enumerate(chosen)
        ]
        return pl.DataFrame(rows).sample(fraction=1.0, shuffle=True, seed=seed)

    return file(everyone[:n], "a"), file(everyone[n // 2 :], "b")


@pytest.mark.parametrize(
    ("seed", "left_out", "n"),
    [
        pytest.param(1, "", 1000, marks=pytest.mark.long),
        (1, "", 300),
        *(pytest.param(seed, name, 1000, marks=pytest.mark.long) for seed in (2, 3) for name in ("", "town")),
    ],
)
def test_it_is_linked(seed: int, left_out: str, n: int) -> None:
    alice, bob = (table.drop(left_out) if left_out else table for table in files(seed, n))
    links = gemel.link(alice, bob, gemel.draft(alice, bob, truth="person"), seed=seed).links
    found = links.join(alice.select("id", one="person"), left_on="alice", right_on="id").join(
        bob.select("id", other="person"), left_on="bob", right_on="id"
    )
    right = found.filter(pl.col("one") == pl.col("other")).height
    assert right / links.height >= 0.95
    assert 2 * right / n >= 0.95
