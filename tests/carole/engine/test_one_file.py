"""Duplicates inside one file: each pair once, the levels of pairs of two records, and invented people found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.duplicates import copied, inside
from gemel.carole.engine.linkage.linking import OneFile, deduplicate
from gemel.carole.evaluation.link_quality import quality
from gemel.coordinator.demonstration.people import two_files
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import ENOUGH, codes_of, compared, links_of, of_rows, pairs_of


@pytest.mark.parametrize("n", [149, 150])
@pytest.mark.parametrize("blocked", [False, True])
def test_each_pair_of_records_is_compared_once(files, blocked, n):
    part = of_rows(files.a, slice(n))
    found, kept, _ = compared(OneFile(part), replace(files.plan(blocked=blocked), assignment="one_to_many"))
    if blocked:
        keys = np.stack([part.blocks[name] for name in ("by-family", "by-born")])
        shared = ((keys[:, :, None] == keys[:, None, :]) & (keys[:, :, None] != 0)).any(axis=0)
        expected = int(np.triu(shared, 1).sum())
    else:
        odd = n + 1 - n % 2
        expected = odd * (odd - 1) // 2
    assert found.patterns.n_pairs == expected
    assert found.n_a * found.n_b == (n + 1 - n % 2) * (n - n % 2) // 2
    assert (kept.row_a < kept.row_b).all()
    assert len(pairs_of(kept)) == len(kept.row_a)


def test_levels_over_all_pairs_are_those_of_two_records(files):
    """Blocked, they come from the product of the file with itself: twice each pair, and each record with itself."""
    part = of_rows(files.a, slice(149))
    blocked, *_ = compared(OneFile(part), replace(files.plan(blocked=True), assignment="one_to_many"))
    every, *_ = compared(OneFile(part), replace(files.plan(blocked=False), assignment="one_to_many"))
    gamma, count = every.patterns.gamma, every.patterns.count
    for q in range(gamma.shape[1]):
        pairs = np.bincount(gamma[gamma[:, q] >= 0, q], count[gamma[:, q] >= 0], minlength=blocked.levels.shape[1])
        np.testing.assert_allclose(blocked.levels[q], 2 * pairs)


@pytest.mark.parametrize("block", [False, True])
def test_people_who_are_twice_are_found(block):
    """A third of 500 twice, some of them thrice, a third of the copies with errors."""
    rng = np.random.default_rng(4)
    table = copied(two_files(500, 1, 0, 0.2, rng, sampled=0.01)[0], 0.3, 0.3, rng, thrice=0.3)
    found = inside(table, block)
    assert quality(found.match[found.linkage.links], found.matches).f1 > 0.95
    assert found.linkage.pairs.link_probability.sum() == pytest.approx(found.matches, rel=0.05)
    assert not {"equal_records", "shared_partner"} & codes_of(found.linkage)


def test_persons_are_whole_and_begin_with_their_first_record(files):
    found = deduplicate(of_rows(files.a, slice(150)), files.plan(blocked=False), ENOUGH, quiet)
    assert found.person.shape == (150,)
    assert (found.person <= np.arange(150)).all()
    assert (found.person[found.person] == found.person).all()
    assert all(found.person[i] == found.person[j] for i, j in links_of(found.linkage))
