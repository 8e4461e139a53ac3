"""The files that `benchmarks.quality` draws are what their titles state; a peer that fails gives a reason."""

from __future__ import annotations

import re
import sys
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks import DATA
from benchmarks._quality_files import BORN, BORN_WITHIN, COMMON_NAMES, KINDS, namesakes, overlapping
from benchmarks._quality_programs import Limits, by_peer
from gemel.coordinator.demonstration.people import TRUTH
from gemel.coordinator.draft.specification_draft import draft


def in_common(alice: pl.DataFrame, bob: pl.DataFrame) -> int:
    """Different people who are in both files."""
    return len(set(alice[TRUTH]) & set(bob[TRUTH]))


@pytest.mark.parametrize("kind", KINDS)
def test_invented_files_have_as_many_people_in_common_as_stated(kind: str) -> None:
    alice, bob = KINDS[kind](200, 40, np.random.default_rng(1))
    assert in_common(alice, bob) == 40
    assert alice.height == 200
    again = bob.height - bob[TRUTH].n_unique()
    assert again == (40 if kind == "copies in Bob's" else 0)


@pytest.mark.skipif(not DATA.is_dir(), reason="the reference data is not beside this checkout")
def test_parts_of_files_have_as_many_people_in_common_as_stated() -> None:
    cases = [case for case in overlapping(200) if case.title.startswith(("FEBRL4", "brl_sim"))]
    assert len(cases) == 7
    for case in cases:
        alice, bob = case.files(np.random.default_rng(1))
        stated = re.search(r"([\d,]+) of ([\d,]+) in common$", case.title)
        assert stated is not None
        common, records = (int(figure.replace(",", "")) for figure in stated.groups())
        assert (in_common(alice, bob), alice.height, bob.height) == (common, records, records)


def test_namesakes_share_few_names_and_were_born_within_two_years() -> None:
    alice, bob = namesakes(400, 100, np.random.default_rng(1))
    both = pl.concat([alice, bob])
    # Errors befall a fifth of the records, so a name that is rare is a misspelt one.
    often = both["surname"].value_counts().filter(pl.col("count") > 3)
    assert often.height == COMMON_NAMES
    assert often["count"].sum() > 0.85 * both.height
    born = both["date_of_birth"].drop_nulls().str.to_date(strict=False).drop_nulls()
    within = born.is_between(BORN, BORN + timedelta(days=BORN_WITHIN))
    assert within.mean() > 0.9
    assert date(1950, 1, 1) == BORN
    same = alice.join(bob, on=TRUTH, how="inner")
    assert (same["surname"] == same["surname_right"]).mean() > 0.8


def test_a_peer_that_fails_gives_its_reason() -> None:
    alice, bob = KINDS["strangers"](50, 25, np.random.default_rng(1))
    spec, *_ = draft(alice.drop(TRUTH), bob.drop(TRUTH), "quality", False)
    absent = by_peer("splink", alice, bob, spec, Limits(Path(sys.executable), 1.0, 8.0))
    assert isinstance(absent, str)
    assert absent.startswith("failed: ModuleNotFoundError")
    assert by_peer("splink", alice, bob, spec, Limits(Path(sys.executable), 1e-6, 8.0)) == "no links in 1e-06 minutes"


def test_a_peers_weights_are_linked_one_to_one(tmp_path: Path) -> None:
    """A record of Alice's has two candidates; the peer takes both, the assignment the one with the larger weight."""
    alice, bob = (file.sort(TRUTH) for file in KINDS["strangers"](40, 40, np.random.default_rng(1)))
    found = [f"{k},{k},0.999999,30" for k in range(40)] + ["0,1,0.99,17"]
    peer = tmp_path / "peer"
    lines = "\\n".join(["alice,bob,probability,weight", *found])
    peer.write_text(f'#!/bin/sh\nprintf \'{lines}\\n\' > "$3/pairs.csv"\necho \'{{"version": "1"}}\'\n')
    peer.chmod(0o755)
    spec, *_ = draft(alice.drop(TRUTH), bob.drop(TRUTH), "quality", False)
    both = by_peer("splink", alice, bob, spec, Limits(peer, 1.0, 8.0))
    assert isinstance(both, dict)
    own, assigned = both["splink 1"], both["splink, one_to_one"]
    assert (own.links, own.true_links, own.matches) == (41, 40, 40)
    assert own.claimed_precision == pytest.approx((40 * 0.999999 + 0.99) / 41)
    assert (assigned.links, assigned.true_links) == (40, 40)
    assert assigned.claimed_matches == pytest.approx(40, abs=0.01)
