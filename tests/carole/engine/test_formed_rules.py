"""Runs under rules that are formed from signatures: their candidates, the estimates from them, and their limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.engine import Resources, RulePlan, link
from gemel.carole.engine.run.plan import Bands, Canopies, Similar
from gemel.common.errors import ErrorCode
from tests.carole.blocking.definition import banded_pairs, candidate_pairs, canopy_rows, similar_rows
from tests.carole.engine.conftest import TwoFiles
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import ENOUGH, codes_of, n_right, run
from tests.carole.refusals import refusal

RULES = (
    RulePlan("bands", ("family",), Bands("family", 6, 24)),
    RulePlan("alike", ("given",), Similar("given", 0.7)),
    RulePlan("canopies", ("town",), Canopies("town", 0.9, 0.8)),
    RulePlan("by-born", ("born",)),
)


def test_candidates_are_those_of_the_definitions():
    files = TwoFiles(1, 200, 180, 110)
    plan = replace(files.plan(), rules=RULES)
    a, b = files.a, files.b
    found = run(a, b, plan)
    order = np.random.default_rng(plan.seed).permutation(a.fields["town"].n_distinct + b.fields["town"].n_distinct)
    plain = {
        "bands": banded_pairs(a.fields["family"], b.fields["family"], 6, 24),
        "alike": similar_rows(a.fields["given"], b.fields["given"], 0.7),
        "canopies": canopy_rows(a.fields["town"], b.fields["town"], 0.9, 0.8, order.tolist()),
        "by-born": set(candidate_pairs([a.blocks["by-born"]], [b.blocks["by-born"]])),
    }
    assert found.candidates_per_rule == {name: len(pairs) for name, pairs in plain.items()}
    assert found.n_candidates == len(set().union(*plain.values()))
    assert n_right(found) > 0.85 * files.n_common
    assert found.blocking.method == "capture-recapture"
    assert 0.9 < found.blocking_recall <= 1


@pytest.mark.parametrize("dependence", ["none", "pairwise"])
def test_threads_change_nothing(files, dependence):
    plan = replace(files.plan(dependence=dependence), rules=RULES)
    one, three = (link(files.a, files.b, plan, replace(ENOUGH, threads=threads), quiet) for threads in (1, 3))
    assert np.array_equal(one.patterns.count, three.patterns.count)
    assert np.array_equal(one.pairs.row_a, three.pairs.row_a)
    assert np.array_equal(one.links, three.links)


def test_large_blocks_are_reported_by_their_sizes(files):
    plan = files.plan(blocked=True)
    family, born = plan.rules
    free, limited, split, bands = (
        run(files.a, files.b, replace(plan, rules=(rule, born)))
        for rule in (
            family,
            replace(family, limit=60),
            replace(family, limit=60, split="town", fields=("family", "town")),
            replace(RULES[0], limit=60),
        )
    )
    assert limited.n_candidates < split.n_candidates < free.n_candidates
    assert any("blocks of more than 60 pairs" in w.text for w in limited.warnings if w.code == "blocks_left_out")
    assert any("were split by town; the largest was" in warning.text for warning in split.warnings)
    assert "blocks_left_out" in codes_of(bands)


def test_bands_and_pairs_that_do_not_fit_are_refused(files):
    plan = replace(files.plan(), rules=(RulePlan("b", ("born",), Bands("born", 5, 16)),))
    with refusal(ErrorCode.PARAMETER, "fit into the signature"):
        run(files.a, files.b, plan)
    everything = replace(plan, rules=(RulePlan("s", ("born",), Similar("born", 0.0)),))
    with refusal(ErrorCode.MEMORY):
        link(files.a, files.b, everything, Resources(3 * 2**22 // 100, 1), quiet)


def test_keys_that_one_side_lacks_propose_nothing(files):
    nobody = {name: np.zeros(files.b.n_rows, np.uint64) for name in files.b.blocks}
    found = run(files.a, replace(files.b, blocks=nobody), replace(files.plan(), rules=RULES))
    assert found.candidates_per_rule["by-born"] == 0
