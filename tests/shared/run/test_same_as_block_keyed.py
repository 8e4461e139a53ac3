"""Mode shared finds what mode block_keyed finds on the same signatures: patterns, chance levels, pairs and links."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gemel.common.parties import Side
from gemel.common.specification import Specification
from tests.shared.run.both_modes import EVERY_FEATURE, HIDDEN, BothModes, both_modes

SPECIFICATIONS = (EVERY_FEATURE, HIDDEN)


def counts(found: BothModes, which: str) -> dict[tuple[int, ...], int]:
    patterns = getattr(found, which).patterns
    keys = np.column_stack([patterns.gamma, patterns.mask])
    return dict(zip(map(tuple, keys.tolist()), patterns.count.tolist(), strict=True))


def pairs_of(found: BothModes) -> tuple[dict, dict]:
    """By both rows of the custodians' files, and the rule by which a pair is: its levels; in either mode."""
    each = []
    keyed, shared = (
        found.encoded,
        [replace(e, orders=s.orders) for e, s in zip(found.encoded, found.shared, strict=True)],
    )
    rows_shared = [found.named(side) for side in Side]
    rows_keyed = [found.kept_keyed.row_a, found.kept_keyed.row_b]
    for encoded, rows, candidates in ((keyed, rows_keyed, found.keyed), (shared, rows_shared, found.found)):
        a, b = (of_side.order[row].tolist() for of_side, row in zip(encoded, rows, strict=True))
        levels = candidates.patterns.gamma[candidates.pattern].tolist()
        mask = candidates.patterns.mask[candidates.pattern].tolist()
        agrees = None if candidates.checked is None else candidates.checked.agrees.tolist()
        named = {}
        for place, pair in enumerate(zip(a, b, strict=True)):
            assert pair not in named
            named[pair] = levels[place], mask[place], agrees and agrees[place]
        each.append(named)
    return each[0], each[1]


@pytest.mark.parametrize("spec", SPECIFICATIONS, ids=["every feature", "padding and decoys"])
class TestSame:
    def test_the_same_patterns_are_counted(self, spec: Specification) -> None:
        found = both_modes(spec)
        assert counts(found, "found") == counts(found, "keyed")
        gamma = found.found.patterns.gamma
        assert (gamma[:, found.plan.swapped[0]] > 0).any()
        assert (gamma < 0).any()
        masks = found.found.patterns.mask
        assert (masks & (masks - 1)).any()
        assert found.led.opened.pairs.n_places > found.found.patterns.count.sum()

    def test_the_same_pairs_are_named_with_the_same_levels(self, spec: Specification) -> None:
        found = both_modes(spec)
        keyed, shared = pairs_of(found)
        assert shared == keyed
        assert len(keyed) > 10

    def test_random_pairs_and_missing_values_are_the_same(self, spec: Specification) -> None:
        found = both_modes(spec)
        np.testing.assert_array_equal(found.found.levels, found.keyed.levels)
        assert found.found.missing == found.keyed.missing
        assert found.found.lacking[0].missing.any()
        for ours, theirs in zip(found.found.lacking, found.keyed.lacking, strict=True):
            for each in (ours, theirs):
                assert each.records.sum() == theirs.records.sum()
            assert as_counts(ours) == as_counts(theirs)
        if found.plan.check_field is not None:
            assert found.found.checked is not None
            assert found.keyed.checked is not None
            assert found.found.checked.strangers == pytest.approx(found.keyed.checked.strangers)
            assert set(found.found.checked.agrees.tolist()) == {-1, 0, 1}

    def test_pairs_outside_blocks_are_as_block_keyed_draws_them(self, spec: Specification) -> None:
        found = both_modes(spec)
        ours, theirs = found.found.outside_blocks, found.keyed.outside_blocks
        assert ours is not None
        assert theirs is not None
        n = found.found.n_a * found.found.n_b
        assert ours.count.sum() == pytest.approx(n)
        for q, field in enumerate(found.plan.compared):
            of_each = []
            for outside in (ours, theirs):
                level = np.where(outside.gamma[:, q] < 0, len(field.bounds), outside.gamma[:, q])
                of_each.append(np.bincount(level, outside.count, len(field.bounds) + 1) / outside.count.sum())
            # Mode block_keyed draws as many pairs as the files have, 625, with replacement: five standard errors.
            assert np.abs(of_each[0] - of_each[1]).max() < 5 * np.sqrt(0.25 / n)


def as_counts(lacking) -> dict[tuple[bool, ...], int]:
    return dict(zip(map(tuple, lacking.missing.tolist()), lacking.records.tolist(), strict=True))
