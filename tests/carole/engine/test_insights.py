"""What findings add to a decision: each number agrees with the run itself."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gemel.carole.engine import FieldPlan, LinkagePlan, Resources, RulePlan, link
from gemel.carole.engine.documents.run_documents import findings
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet
from gemel.coordinator.client.run_progress import pairs_compared
from tests.carole.engine.progress import quiet

BOUNDS = (0.5, 0.999, 1.0)
RESOURCES = Resources(2**28, 2)


@pytest.fixture(scope="module")
def files():
    rng = np.random.default_rng(2)
    n, common = 300, 200
    pools = {
        name: rng.integers(0, 2**64, (size, 2), dtype=np.uint64) for name, size in (("a", 60), ("b", 80), ("c", 70))
    }
    one = {name: rng.integers(0, len(pool), n) for name, pool in pools.items()}
    sides = []
    for side in range(2):
        fields, blocks = {}, {}
        for name, pool in pools.items():
            other = np.where(rng.random(n) < 0.1, rng.integers(0, len(pool), n), one[name])
            codes = (one[name] if side == 0 else np.where(np.arange(n) < common, other, rng.permutation(other))).copy()
            codes[rng.random(n) < 0.05] = -1
            fields[name] = FieldSignatures(128, pool, codes.astype(np.int32))
            blocks[name] = (codes + 1).astype(np.uint64)
        sides.append(SignatureSet("", n, fields, blocks))
    nothing = [field.codes for field in sides[0].fields.values()]
    for codes in nothing:
        codes[-1] = -1
    return sides


@pytest.mark.parametrize("dependence", ["none", "pairwise"])
@pytest.mark.parametrize("blocked", [False, True])
def test_they_agree_with_the_run(files, blocked, dependence):
    rules = (RulePlan("a", ("a",)), RulePlan("b", ("b",))) if blocked else ()
    plan = LinkagePlan(tuple(FieldPlan(name, 128, BOUNDS) for name in "abc"), rules, dependence=dependence)
    run = link(*files, plan, RESOURCES, quiet)
    document = json.loads(findings(run, plan, RESOURCES, {}).written())
    linkage = document["linkage"]
    at = {row["threshold"]: row for row in linkage["thresholds"]}
    assert at[0.5]["links"] == len(run.links)
    assert at[0.5]["precision"] == pytest.approx(linkage["expected"]["precision"])
    assert at[0.5]["recall"] == pytest.approx(linkage["expected"]["recall"])
    links = [row["links"] for row in linkage["thresholds"]]
    assert links == sorted(links, reverse=True)
    assert linkage["unlinkable"]["alice"]["at_decision"] >= 1
    for side in ("alice", "bob"):
        below = [records for _, records in linkage["unlinkable"][side]["below"]]
        assert below == sorted(below)
    for example in linkage["examples"]:
        (row,) = np.flatnonzero(
            (run.patterns.gamma == example["gamma"]).all(axis=1) & (run.patterns.count == example["pairs"])
        )[:1]
        total = sum(example["weights"]) + example["together"]
        assert total == pytest.approx(run.patterns.weight[row])
        assert example["pairs"] >= 5
        odds = example["prior"] + total
        assert example["probability"] == pytest.approx(2**odds / (1 + 2**odds))
        assert dependence != "none" or example["together"] == pytest.approx(0, abs=1e-9)
    history = document["model"]["history"]
    assert len(history["step"]) == len(history["p"]) == len(history["log_likelihood"]) <= 60
    assert set(history["top_m"]) == set("abc")
    normalized_reason = pairs_compared(LinkageDocument.of(linkage, "linkage"))
    if blocked:
        assert linkage["blocking"]["reduction"] == pytest.approx(1 - run.n_candidates / 90_000)
        assert f"{run.n_candidates:,} of 90,000 pairs were compared" in normalized_reason
        assert "estimated by capture-recapture" in normalized_reason
        lost = linkage["blocking"]["estimated_lost"]
        assert lost == pytest.approx(run.blocking.found * (1 / run.blocking_recall - 1))
    else:
        assert normalized_reason == "All 90,000 pairs were compared."


def test_missing_estimates_are_reported(files):
    plan = LinkagePlan(tuple(FieldPlan(name, 128, BOUNDS) for name in "abc"), (RulePlan("a", ("a",)),))
    run = link(*files, plan, RESOURCES, quiet)
    document = findings(run, plan, RESOURCES, {})
    if run.blocking_recall is None:
        assert "cannot be estimated: there is only one rule" in pairs_compared(document.linkage)
    assert document.linkage.blocking.method in ("model", "not estimable")
