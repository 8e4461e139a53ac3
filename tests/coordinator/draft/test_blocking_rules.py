"""Certain matches: they are matches, by the truth, and tell which rules find what no other finds."""

from __future__ import annotations

import numpy as np

from gemel.common.parties import Side
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.draft.blocking_rules import CertainMatches
from gemel.coordinator.draft.specification_draft import draft
from gemel.custodian.cleaning.columns import clean


def test_certain_matches_are_matches_and_what_a_rule_alone_finds_is_counted() -> None:
    n = 1_500
    alice, bob = two_files(n, n, 700, 0.3, np.random.default_rng(1))
    spec, *_ = draft(alice.drop(TRUTH), bob.drop(TRUTH), "people", True, "block_keyed")
    cleaned = {Side.ALICE: clean(alice, spec, "alice").columns, Side.BOB: clean(bob, spec, "bob").columns}
    matches = CertainMatches(spec.fields, cleaned[Side.ALICE], cleaned[Side.BOB])
    rules = list(spec.blocking)
    for rule in rules:
        found = matches.found_by(rule)
        assert len(found) > 100
        right = alice[TRUTH].gather(found // n) == bob[TRUTH].gather(found % n)
        assert right.mean() > 0.99  # now and then two of a family have one given name
    # Errors in one record in three: no rule finds all, and all together more than any.
    assert matches.lost(rules, rules) == 0.0
    losses = [matches.lost(rules, [rule]) for rule in rules]
    assert min(loss for loss in losses if loss is not None) > 0.0
    assert matches.lost([], rules) is None
    # Half of the people are of each sex: one bit.
    assert abs(matches.bits_of("sex") - 1) < 0.05
    assert matches.bits_of("date_of_birth") > 11
