"""What blocking lost, by the kinds of pairs: on files whose people in common are known."""

from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.fellegi_sunter.recall import blocking_recall
from tests.carole.engine.conftest import TwoFiles
from tests.carole.engine.runs import run


def true_share(files):
    """Of the people in common those who agree on the key of a rule; 0 is the key of a missing value."""
    n = files.n_common
    sides = (files.a.blocks, files.b.blocks)
    one = [[blocks[rule][:n] for blocks in sides] for rule in ("by-family", "by-born")]
    return np.mean(np.any([(a == b) & (a > 0) for a, b in one], axis=0))


@pytest.mark.parametrize("seed", [3, 4])
def test_the_share_that_rules_find_is_known(seed):
    files = TwoFiles(seed, 600, 500, 300)
    plan = files.plan(blocked=True)
    found = run(files.a, files.b, plan)
    assert found.blocking.method == "kinds of pairs"
    assert found.blocking.recall == pytest.approx(true_share(files), abs=0.025)
    assert found.blocking.lost == pytest.approx(found.blocking.found * (1 / found.blocking.recall - 1))
    assert found.claims.candidates.lower <= true_share(files) <= found.claims.candidates.upper


def test_nothing_is_lost_without_rules(files):
    blocking = files.linked().blocking
    assert (blocking.recall, blocking.lost, blocking.method) == (1.0, 0.0, "no blocking")


def test_of_a_field_in_every_rule_nothing_is_known(files):
    plan = files.plan(blocked=True)
    found = run(files.a, files.b, replace(plan, rules=plan.rules[:1]))
    assert found.blocking.recall is None
    assert found.blocking.lost is None
    assert "every rule involves family" in found.blocking.assumptions[0]
    assert found.claims.candidates is None


def test_without_calibrated_probabilities_it_is_not_estimated(files):
    found = run(files.a, files.b, files.plan(blocked=True, scheme="lr_weighted"))
    assert found.blocking.recall is None
    assert "not calibrated" in found.blocking.assumptions[0]


def test_without_a_match_it_is_not_estimated(files):
    linkage = files.linked(blocked=True)
    assert blocking_recall(linkage.scheme, 0.0, [object()]).recall is None
