"""Runs under rules that are formed from signatures: their candidates, the estimates from them, and their limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.engine import Resources, RulePlan, link
from gemel.carole.engine.run.plan import Bands, Canopies, Similar
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.signatures.signature_sets import SignatureSet
from tests.carole.blocking.definition import banded_pairs, candidate_pairs, canopy_rows, similar_rows
from tests.carole.engine.conftest import TwoFiles
from tests.carole.engine.progress import quiet

ENOUGH = Resources(memory_bytes=2**28, threads=2)


def formed(name, field, how):
    return RulePlan(name, (field,), how)


RULES = (
    formed("bands", "family", Bands("family", 6, 24)),
    formed("alike", "given", Similar("given", 0.7)),
    formed("canopies", "town", Canopies("town", 0.9, 0.8)),
    RulePlan("by-born", ("born",)),
)


def test_candidates_are_those_of_the_definitions():
    files = TwoFiles(1, 200, 180, 110)
    plan = replace(files.plan(blocked=False), rules=RULES)
    a, b = files.a, files.b
    run = link(a, b, plan, ENOUGH, quiet)
    order = np.random.default_rng(plan.seed).permutation(a.fields["town"].n_distinct + b.fields["town"].n_distinct)
    plain = {
        "bands": banded_pairs(a.fields["family"], b.fields["family"], 6, 24),
        "alike": similar_rows(a.fields["given"], b.fields["given"], 0.7),
        "canopies": canopy_rows(a.fields["town"], b.fields["town"], 0.9, 0.8, order.tolist()),
        "by-born": set(candidate_pairs([a.blocks["by-born"]], [b.blocks["by-born"]])),
    }
    assert run.candidates_per_rule == {name: len(pairs) for name, pairs in plain.items()}
    assert run.n_candidates == len(set().union(*plain.values()))
    linked = set(zip(run.pairs.row_a[run.links].tolist(), run.pairs.row_b[run.links].tolist(), strict=True))
    assert sum(i == j for i, j in linked) > 0.85 * files.n_common
    assert run.blocking.method == "capture-recapture"
    assert 0.9 < run.blocking_recall <= 1


@pytest.mark.parametrize("dependence", ["none", "pairwise"])
def test_threads_change_nothing(files, dependence):
    plan = replace(files.plan(blocked=False, dependence=dependence), rules=RULES)
    one, three = (link(files.a, files.b, plan, Resources(2**28, threads), quiet) for threads in (1, 3))
    assert np.array_equal(one.patterns.count, three.patterns.count)
    assert np.array_equal(one.pairs.row_a, three.pairs.row_a)
    assert np.array_equal(one.links, three.links)


def test_large_blocks_are_reported_by_their_sizes(files):
    plain = files.plan(blocked=True)
    family, born = plain.rules
    free = link(files.a, files.b, plain, ENOUGH, quiet)
    limited = replace(plain, rules=(replace(family, limit=60), born))
    run = link(files.a, files.b, limited, ENOUGH, quiet)
    assert run.n_candidates < free.n_candidates
    assert any("blocks of more than 60 pairs" in w.text for w in run.warnings if w.code == "blocks_left_out")
    split = replace(plain, rules=(replace(family, limit=60, split="town", fields=("family", "town")), born))
    run_split = link(files.a, files.b, split, ENOUGH, quiet)
    assert run.n_candidates < run_split.n_candidates < free.n_candidates
    assert any("were split by town; the largest was" in warning.text for warning in run_split.warnings)
    bands = replace(plain, rules=(replace(RULES[0], limit=60), born))
    run_bands = link(files.a, files.b, bands, ENOUGH, quiet)
    assert "blocks_left_out" in {warning.code for warning in run_bands.warnings}


def test_bands_and_pairs_that_do_not_fit_are_refused(files):
    plan = replace(files.plan(blocked=False), rules=(formed("b", "born", Bands("born", 5, 16)),))
    with pytest.raises(GemelError, match="fit into the signature"):
        link(files.a, files.b, plan, ENOUGH, quiet)
    everything = replace(files.plan(blocked=False), rules=(formed("s", "born", Similar("born", 0.0)),))
    small = Resources(3 * 2**22, 1)
    with pytest.raises(GemelError) as caught:
        link(files.a, files.b, everything, Resources(small.memory_bytes // 100, 1), quiet)
    assert caught.value.code == ErrorCode.MEMORY
    nobody = {name: np.zeros(files.b.n_rows, np.uint64) for name in files.b.blocks}
    b = SignatureSet("", files.b.n_rows, files.b.fields, nobody)
    with_keys = replace(files.plan(blocked=False), rules=RULES)
    assert link(files.a, b, with_keys, ENOUGH, quiet).candidates_per_rule["by-born"] == 0
