"""A whole run: its counts agree with the plain definitions, whatever the memory and the number of threads."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import gemel.carole.engine.pairs.stream as stream_module
from gemel.carole.engine import LinkagePlan, Resources, link
from gemel.carole.engine.pairs import preparation
from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import ErrorCode
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet
from tests.carole.blocking.definition import candidate_pairs
from tests.carole.comparison import definition
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import ENOUGH, codes_of, links_of, n_right, pairs_of, run
from tests.carole.refusals import refusal

EITHER = pytest.mark.parametrize("blocked", [True, False])


def vector(files, plan, i, j):
    """A pair's comparison vector by definition."""
    gamma = []
    for field in plan.fields:
        a, b = files.a.fields[field.name], files.b.fields[field.name]
        in_a, in_b = a.codes[i], b.codes[j]
        if in_a < 0 or in_b < 0:
            gamma.append(-1)
        else:
            n = definition.agreeing_bits(a.signatures[in_a], b.signatures[in_b])
            gamma.append(definition.level(n, field.bits, field.bounds))
    return tuple(gamma)


def same(one, other):
    """Fail unless two runs found the same."""
    for part in ("patterns", "pairs"):
        for name, column in vars(getattr(one, part)).items():
            assert np.array_equal(column, getattr(getattr(other, part), name)), name
    assert np.array_equal(one.links, other.links)
    assert one.model.p == other.model.p


@pytest.mark.parametrize("tables", [True, False])
@EITHER
def test_patterns_and_pairs_are_those_of_the_definitions(files, blocked, tables, monkeypatch):
    plan = files.plan(blocked=blocked)
    monkeypatch.setattr(preparation, "CELLS_PER_PAIR", 4 if tables else 0)
    found = run(files.a, files.b, plan)
    gamma = [tuple(levels) for levels in found.patterns.gamma.tolist()]
    if blocked:
        pairs = candidate_pairs(*(list(side.blocks.values()) for side in (files.a, files.b)))
        assert list(found.candidates_per_rule.values()) == [
            sum(mask >> rule & 1 for mask in pairs.values()) for rule in range(2)
        ]
        expected = Counter((vector(files, plan, i, j), mask) for (i, j), mask in pairs.items())
        counts = zip(gamma, found.patterns.mask.tolist(), found.patterns.count.tolist(), strict=True)
        assert {(levels, mask): count for levels, mask, count in counts} == expected
        assert found.n_candidates == len(pairs)
    else:
        # By definition all candidates take a while without blocking: there some rows are checked.
        assert found.n_candidates == found.patterns.count.sum() == files.a.n_rows * files.b.n_rows
        rows = np.random.default_rng(0).integers(0, 350, (2000, 2)).tolist()
        assert {vector(files, plan, i, j) for i, j in rows} <= set(gamma)
    kept = found.pairs
    for i, j, k in zip(kept.row_a, kept.row_b, kept.pattern, strict=True):
        assert vector(files, plan, i, j) == gamma[k]
    whole = np.unique(kept.pattern)
    assert len(kept.row_a) == found.patterns.count[whole].sum()
    above = np.flatnonzero(found.patterns.weight >= found.floor)
    assert 0 < len(above) <= len(np.intersect1d(above, whole))
    assert (np.diff(kept.weight) <= 0).all()
    assert len(pairs_of(kept)) == len(kept.row_a)


def test_a_run_finds_the_people_in_common(files):
    found = files.linked()
    linked, true = links_of(found), {(i, i) for i in range(files.n_common)}
    assert len(linked & true) > 0.9 * len(true)
    assert len(linked - true) < 0.1 * len(true)
    assert found.blocking.recall == 1
    assert set(found.seconds) == {"tables", "levels", "count", "model", "keep", "decide"}
    assert 0 < found.peak_bytes <= ENOUGH.memory_bytes
    assert found.missing["town"] == pytest.approx((0.05, 0.05), abs=0.04)
    everything = found.patterns.count @ found.patterns.probability
    assert found.matches_below_floor == pytest.approx(everything - found.pairs.match_probability.sum(), abs=1e-6)


def test_few_people_in_common_are_found_by_estimates_under_one_to_one(files):
    """Ten in common of 400: pair by pair the match class is whatever agrees by chance."""
    found = type(files)(1, 400, 400, 10).linked()
    assert found.model.expected_matches == pytest.approx(10, abs=6)
    assert n_right(found) >= 7
    assert len(found.links) - n_right(found) <= 4


@EITHER
def test_threads_and_storage_change_nothing(files, blocked, monkeypatch):
    monkeypatch.setattr(stream_module, "PART_PAIRS", 1000)
    plan = files.plan(blocked=blocked, dependence="decomposable")
    first, second = (link(files.a, files.b, plan, replace(ENOUGH, threads=threads), quiet) for threads in (1, 3))
    same(first, second)
    monkeypatch.setattr("gemel.carole.engine.pairs.whole_pairs.STORED_SHARE", 0.0)
    same(first, run(files.a, files.b, plan))


def test_u_comes_from_all_pairs_when_blocked(files, monkeypatch):
    exact, unblocked = (files.linked(blocked=blocked, u="all_pairs") for blocked in (True, False))
    assert np.allclose(exact.model.u, unblocked.model.u, rtol=0, atol=1e-12)
    monkeypatch.setattr(preparation, "EXACT_CELLS", 0)
    monkeypatch.setattr(preparation, "CELLS_PER_PAIR", 0)
    monkeypatch.setattr(preparation, "SAMPLE_PAIRS", 200_000)
    sampled = run(files.a, files.b, files.plan(blocked=True, u="all_pairs"))
    # A share of .2 among 200,000 has a standard error of .0009.
    assert np.abs(sampled.model.u - exact.model.u).max() < 0.005
    assert 0.7 < exact.blocking.recall <= 1


def test_without_one_to_one_every_pair_above_the_threshold_is_a_link(files):
    found = files.linked(assignment="none", threshold=0.2)
    assert np.array_equal(found.links, np.flatnonzero(found.pairs.match_probability >= 0.2))
    assert np.array_equal(found.pairs.link_probability, found.pairs.match_probability)


def test_the_floor_rises_when_there_are_too_many_pairs(files, monkeypatch):
    monkeypatch.setattr("gemel.carole.engine.pairs.selection.MAX_PAIRS", 250)
    found = run(files.a, files.b, files.plan())
    reach = int((found.patterns.count * (found.patterns.probability >= 0.5)).sum())
    assert len(found.pairs.row_a) <= max(250, reach)
    assert "pairs_not_kept" in codes_of(found)
    assert found.matches_below_floor > 0


def test_progress_goes_through_the_stages_in_order(files):
    reported = []
    link(files.a, files.b, files.plan(blocked=True), ENOUGH, lambda stage, fraction: reported.append((stage, fraction)))
    stages = list(dict.fromkeys(stage for stage, _ in reported))
    assert stages == ["tables", "levels", "count", "model", "keep", "decide"]
    for stage in stages:
        fractions = [fraction for name, fraction in reported if name == stage]
        assert fractions == sorted(fractions)
        assert fractions[-1] == 1


def test_an_exception_from_progress_ends_the_run(files):
    def stop(stage, fraction):
        if stage == "count" and fraction > 0:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        link(files.a, files.b, files.plan(), ENOUGH, stop)


def test_too_little_memory_is_refused_with_a_remedy(files, monkeypatch):
    with refusal(ErrorCode.MEMORY, r"grant .* or more, or link smaller files"):
        link(files.a, files.b, files.plan(), Resources(1000, 1), quiet)
    monkeypatch.setattr("gemel.carole.engine.run.resources.PATTERNS_SHARE", 1e-5)
    with refusal(ErrorCode.MEMORY, "distinct comparison vectors"):
        run(files.a, files.b, files.plan())


def test_inputs_that_do_not_fit_the_plan_are_refused(files):
    a, b, plan = files.a, files.b, files.plan(blocked=True)
    without = {name: field for name, field in b.fields.items() if name != "town"}
    empty = FieldSignatures(64, np.empty((0, 1), np.uint64), np.empty(0, np.int32))
    for sets, code, message in (
        ((a, replace(b, fields=without)), ErrorCode.ENCODING_MISMATCH, "bob, field town"),
        (
            (a, replace(b, fields={**b.fields, "town": b.fields["born"]})),
            ErrorCode.ENCODING_MISMATCH,
            "signatures of 256 bits expected, got 64 bits",
        ),
        ((replace(a, blocks={}), b), ErrorCode.ENCODING_MISMATCH, "alice, blocking rule by-family"),
        ((SignatureSet("", 0, {"born": empty}, {}), b), ErrorCode.EMPTY_SOURCE, "without records"),
    ):
        with refusal(code, message):
            run(*sets, LinkagePlan((plan.fields[2],)) if code is ErrorCode.EMPTY_SOURCE else plan)


@pytest.mark.parametrize("rules", [("by-born",), ("by-born", "by-family")])
def test_blocks_that_propose_nothing_are_reported(files, rules):
    """Under no rule either: then there is a run without links."""
    blocks = {rule: np.zeros(files.b.n_rows, np.uint64) for rule in rules}
    found = run(files.a, replace(files.b, blocks=files.b.blocks | blocks), files.plan(blocked=True))
    for rule in rules:
        assert result_warning("rule_without_pairs", rule=rule) in found.warnings
    assert found.blocking.recall is None
    assert {"records_without_key", "blocking_recall_unknown"} <= codes_of(found)
    if len(rules) == 2:
        assert found.n_candidates == len(found.pairs.row_a) == len(found.links) == len(found.patterns.count) == 0
        assert found.matches_below_floor == 0
