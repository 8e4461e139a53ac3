"""What findings add to a decision: each number agrees with the run itself."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.engine.documents.run_documents import findings
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.coordinator.client.run_progress import pairs_compared
from tests.carole.engine.conftest import FIELDS
from tests.carole.engine.runs import ENOUGH, run


@pytest.mark.parametrize("dependence", ["none", "pairwise"])
@pytest.mark.parametrize("blocked", [False, True])
def test_they_agree_with_the_run(files, blocked, dependence):
    plan = files.plan(blocked=blocked, dependence=dependence)
    run = files.linked(blocked=blocked, dependence=dependence)
    document = json.loads(findings(run, plan, ENOUGH, {}).written())
    linkage = document["linkage"]
    at = {row["threshold"]: row for row in linkage["thresholds"]}
    assert at[0.5]["links"] == len(run.links)
    claims = linkage["claims"]
    compared = claims["candidates"]["value"] if blocked else 1.0
    assert at[0.5]["precision"] == pytest.approx(claims["precision"]["value"])
    assert at[0.5]["recall"] * compared == pytest.approx(claims["recall"]["value"], abs=2e-4)
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
    assert set(history["top_m"]) == set(FIELDS)
    normalized_reason = pairs_compared(LinkageDocument.of(linkage, "linkage"))
    if blocked:
        assert linkage["blocking"]["reduction"] == pytest.approx(1 - run.n_candidates / 140_000)
        assert f"{run.n_candidates:,} of 140,000 pairs were compared" in normalized_reason
        assert "estimated by kinds of pairs" in normalized_reason
        lost = linkage["blocking"]["estimated_lost"]
        assert lost == pytest.approx(run.blocking.found * (1 / run.blocking.recall - 1))
    else:
        assert normalized_reason == "All 140,000 pairs were compared."


def test_missing_estimates_are_reported(files):
    plan = files.plan(blocked=True)
    plan = replace(plan, rules=plan.rules[:1])
    linkage = run(files.a, files.b, plan)
    document = findings(linkage, plan, ENOUGH, {})
    assert "cannot be estimated: every rule involves " in pairs_compared(document.linkage)
    assert document.linkage.blocking.method == "not estimable"
