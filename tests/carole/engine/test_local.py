"""A whole run: its counts agree with the plain definitions, whatever the memory and the number of threads."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import gemel.carole.engine.pairs.stream as stream_module
from gemel.carole.engine import FieldPlan, LinkagePlan, Resources, RulePlan, link
from gemel.carole.engine.pairs import preparation
from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet
from tests.carole.blocking.definition import candidate_pairs
from tests.carole.comparison import definition
from tests.carole.engine.progress import quiet

ENOUGH = Resources(memory_bytes=2**28, threads=2)


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
    for name in ("gamma", "mask", "count", "weight", "probability"):
        assert np.array_equal(getattr(one.patterns, name), getattr(other.patterns, name)), name
    for name in ("row_a", "row_b", "pattern", "weight", "match_probability", "link_probability"):
        assert np.array_equal(getattr(one.pairs, name), getattr(other.pairs, name)), name
    assert np.array_equal(one.links, other.links)
    assert one.model.p == other.model.p


@pytest.mark.parametrize("tables", [True, False])
@pytest.mark.parametrize("blocked", [True, False])
def test_patterns_and_pairs_are_those_of_the_definitions(files, blocked, tables, monkeypatch):
    plan = files.plan(blocked=blocked)
    monkeypatch.setattr(preparation, "CELLS_PER_PAIR", 4 if tables else 0)
    run = link(files.a, files.b, plan, ENOUGH, quiet)
    if blocked:
        pairs = candidate_pairs(*(list(side.blocks.values()) for side in (files.a, files.b)))
        assert list(run.candidates_per_rule.values()) == [
            sum(mask >> rule & 1 for mask in pairs.values()) for rule in range(2)
        ]
    else:
        rng = np.random.default_rng(0)
        pairs = {(i, j): 0 for i in range(files.a.n_rows) for j in range(files.b.n_rows)}
    assert run.n_candidates == len(pairs)
    # By definition all candidates take a while without blocking: there the counts are checked over some rows.
    if blocked:
        expected = Counter((vector(files, plan, i, j), mask) for (i, j), mask in pairs.items())
        found = {
            (tuple(g), m): c
            for g, m, c in zip(
                run.patterns.gamma.tolist(), run.patterns.mask.tolist(), run.patterns.count.tolist(), strict=True
            )
        }
        assert found == dict(expected)
    else:
        assert run.patterns.count.sum() == len(pairs)
        known = {tuple(g) for g in run.patterns.gamma.tolist()}
        for i, j in rng.integers(0, 350, (2000, 2)).tolist():
            assert vector(files, plan, i, j) in known
    kept = run.pairs
    for k in range(len(kept.row_a)):
        assert vector(files, plan, kept.row_a[k], kept.row_b[k]) == tuple(run.patterns.gamma[kept.pattern[k]].tolist())
    whole = np.unique(kept.pattern)
    assert len(kept.row_a) == run.patterns.count[whole].sum()
    above = np.flatnonzero(run.patterns.weight >= run.floor)
    assert 0 < len(above) <= len(np.intersect1d(above, whole))
    assert (np.diff(kept.weight) <= 0).all()
    assert len(set(zip(kept.row_a.tolist(), kept.row_b.tolist(), strict=True))) == len(kept.row_a)


def test_a_run_finds_the_people_in_common(files):
    run = link(files.a, files.b, files.plan(blocked=False), ENOUGH, quiet)
    linked = set(zip(run.pairs.row_a[run.links].tolist(), run.pairs.row_b[run.links].tolist(), strict=True))
    true = {(i, i) for i in range(files.n_common)}
    assert len(linked & true) > 0.9 * len(true)
    assert len(linked - true) < 0.1 * len(true)
    assert len({i for i, _ in linked}) == len(linked) == len({j for _, j in linked})
    assert (run.pairs.link_probability[run.links] >= 0.5).all()
    assert run.blocking_recall == 1
    assert set(run.seconds) == {"tables", "levels", "count", "model", "keep", "decide"}
    assert 0 < run.peak_bytes <= ENOUGH.memory_bytes
    assert run.missing["town"] == pytest.approx((0.05, 0.05), abs=0.04)
    everything = run.patterns.count @ run.patterns.probability
    kept = run.pairs.match_probability.sum()
    assert run.matches_below_floor == pytest.approx(everything - kept, abs=1e-6)


def test_few_people_in_common_are_found_by_estimates_under_one_to_one(files):
    """Ten in common of 400: pair by pair the match class is whatever agrees by chance."""
    few = type(files)(1, 400, 400, 10)
    run = link(few.a, few.b, few.plan(blocked=False), ENOUGH, quiet)
    assert run.model.expected_matches == pytest.approx(10, abs=6)
    right = np.count_nonzero(run.pairs.row_a[run.links] == run.pairs.row_b[run.links])
    assert right >= 7
    assert len(run.links) - right <= 4


@pytest.mark.parametrize("blocked", [True, False])
def test_threads_and_storage_change_nothing(files, blocked, monkeypatch):
    monkeypatch.setattr(stream_module, "PART_PAIRS", 1000)
    plan = files.plan(blocked=blocked)
    first = link(files.a, files.b, plan, Resources(2**28, 1), quiet)
    same(first, link(files.a, files.b, plan, Resources(2**28, 3), quiet))
    monkeypatch.setattr("gemel.carole.engine.pairs.whole_pairs.STORED_SHARE", 0.0)
    same(first, link(files.a, files.b, plan, Resources(2**28, 2), quiet))


def test_u_comes_from_all_pairs_when_blocked(files, monkeypatch):
    plan = files.plan(blocked=True, u="all_pairs")
    exact = link(files.a, files.b, plan, ENOUGH, quiet)
    unblocked = link(files.a, files.b, files.plan(blocked=False, u="all_pairs"), ENOUGH, quiet)
    assert np.allclose(exact.model.u, unblocked.model.u, rtol=0, atol=1e-12)
    monkeypatch.setattr(preparation, "EXACT_CELLS", 0)
    monkeypatch.setattr(preparation, "CELLS_PER_PAIR", 0)
    monkeypatch.setattr(preparation, "SAMPLE_PAIRS", 200_000)
    sampled = link(files.a, files.b, plan, ENOUGH, quiet)
    # A share of .2 among 200,000 has a standard error of .0009.
    assert np.abs(sampled.model.u - exact.model.u).max() < 0.005
    assert 0.7 < exact.blocking_recall <= 1


def test_without_one_to_one_every_pair_above_the_threshold_is_a_link(files):
    run = link(files.a, files.b, files.plan(blocked=False, assignment="none", threshold=0.2), ENOUGH, quiet)
    assert np.array_equal(run.links, np.flatnonzero(run.pairs.match_probability >= 0.2))
    assert np.array_equal(run.pairs.link_probability, run.pairs.match_probability)


def test_the_floor_rises_when_there_are_too_many_pairs(files, monkeypatch):
    monkeypatch.setattr("gemel.carole.engine.pairs.selection.MAX_PAIRS", 250)
    run = link(files.a, files.b, files.plan(blocked=False), ENOUGH, quiet)
    reach = int((run.patterns.count * (run.patterns.probability >= 0.5)).sum())
    assert len(run.pairs.row_a) <= max(250, reach)
    assert "pairs_not_kept" in {warning.code for warning in run.warnings}
    assert run.matches_below_floor > 0


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
    class StopError(Exception):
        pass

    def stop(stage, fraction):
        if stage == "count" and fraction > 0:
            raise StopError

    with pytest.raises(StopError):
        link(files.a, files.b, files.plan(blocked=False), ENOUGH, stop)


def test_too_little_memory_is_refused_with_a_remedy(files, monkeypatch):
    with pytest.raises(GemelError, match=r"grant .* or more, or link smaller files") as caught:
        link(files.a, files.b, files.plan(blocked=False), Resources(1000, 1), quiet)
    assert caught.value.code == ErrorCode.MEMORY
    monkeypatch.setattr("gemel.carole.engine.run.resources.PATTERNS_SHARE", 1e-5)
    with pytest.raises(GemelError, match="distinct comparison vectors") as caught:
        link(files.a, files.b, files.plan(blocked=False), ENOUGH, quiet)
    assert caught.value.code == ErrorCode.MEMORY


def test_blocks_that_propose_nothing_are_reported(files):
    nothing = np.zeros(files.b.n_rows, np.uint64)
    b = SignatureSet("", files.b.n_rows, files.b.fields, {**files.b.blocks, "by-born": nothing})
    run = link(files.a, b, files.plan(blocked=True), ENOUGH, quiet)
    assert result_warning("rule_without_pairs", rule="by-born") in run.warnings
    assert run.blocking_recall is None
    assert {"records_without_key", "blocking_recall_unknown"} <= {warning.code for warning in run.warnings}


def refused(a, b, plan):
    with pytest.raises(GemelError) as caught:
        link(a, b, plan, ENOUGH, quiet)
    return caught.value


def test_inputs_that_do_not_fit_the_plan_are_refused(files):
    plan = files.plan(blocked=True)
    fields = {name: field for name, field in files.b.fields.items() if name != "town"}
    without = SignatureSet("", files.b.n_rows, fields, files.b.blocks)
    assert "bob, field town" in str(refused(files.a, without, plan))
    other = SignatureSet("", files.b.n_rows, {**fields, "town": files.b.fields["born"]}, files.b.blocks)
    assert "signatures of 256 bits expected, got 64 bits" in str(refused(files.a, other, plan))
    unblocked = SignatureSet("", files.a.n_rows, files.a.fields, {})
    assert "alice, blocking rule by-family" in str(refused(unblocked, files.b, plan))
    empty = FieldSignatures(64, np.empty((0, 1), np.uint64), np.empty(0, np.int32))
    nobody = SignatureSet("", 0, {"born": empty}, {})
    born = LinkagePlan((plan.fields[2],))
    assert refused(nobody, files.b, born).code == ErrorCode.EMPTY_SOURCE


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fields": ()}, "at least one compared field"),
        ({"threshold": 0.0}, "a probability in"),
        ({"expected_matches": -1.0}, "a number above 0"),
    ],
)
def test_plans_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(GemelError, match=message):
        LinkagePlan(**{"fields": (FieldPlan("born", 64, (0.5, 1.0)),), **settings})


@pytest.mark.parametrize("bounds", [(), (0.5,), (0.5, 0.4, 1.0), (-0.1, 1.0)])
def test_bounds_that_are_no_levels_are_refused(bounds):
    with pytest.raises(GemelError, match="bounds must ascend"):
        FieldPlan("born", 64, bounds)


def test_a_field_twice_is_refused():
    field = FieldPlan("born", 64, (1.0,))
    with pytest.raises(GemelError, match="each field may occur once"):
        LinkagePlan((field, field), (RulePlan("r", ("born",)),))


def test_no_candidate_at_all_is_a_run_without_links(files):
    nothing = {name: np.zeros(files.b.n_rows, np.uint64) for name in files.b.blocks}
    b = SignatureSet("", files.b.n_rows, files.b.fields, nothing)
    run = link(files.a, b, files.plan(blocked=True), ENOUGH, quiet)
    assert run.n_candidates == len(run.pairs.row_a) == len(run.links) == len(run.patterns.count) == 0
    assert run.matches_below_floor == 0
    assert "rule_without_pairs" in {warning.code for warning in run.warnings}


def test_a_field_that_one_side_lacks_everywhere_is_reported_and_adds_nothing(files):
    gone = FieldSignatures(256, np.empty((0, 4), np.uint64), np.full(files.b.n_rows, -1, np.int32))
    b = SignatureSet("", files.b.n_rows, {**files.b.fields, "town": gone}, files.b.blocks)
    for blocked in (True, False):
        run = link(files.a, b, files.plan(blocked=blocked), ENOUGH, quiet)
        assert (run.patterns.gamma[:, 3] == -1).all()
        assert run.missing["town"][1] == 1
        assert result_warning("field_mostly_missing", side="Bob", field="town", share=1.0) in run.warnings
        assert len(run.links) > 0.8 * files.n_common
