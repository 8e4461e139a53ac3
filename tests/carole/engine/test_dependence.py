"""Dependent fields through a whole run, blocked and not, and the pairs sampled outside the blocks."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks._in_process import linked
from benchmarks.dependence import kin
from gemel.carole.blocking.candidates import CandidatePairs
from gemel.carole.engine import LinkagePlan, Resources, link
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.pairs.check_agreement import RandomPairs
from gemel.carole.evaluation.link_quality import quality
from gemel.common.errors import GemelError
from gemel.coordinator.demonstration.people import two_files
from tests.carole.engine.progress import quiet

ENOUGH = Resources(memory_bytes=2**28, threads=2)


@pytest.mark.parametrize("scheme", ["multinomial", "exact", "log_lr_weighted"])
@pytest.mark.parametrize("blocked", [True, False])
@pytest.mark.parametrize("one_to_one", [True, False])
def test_a_run_with_dependent_fields(files, scheme, blocked, one_to_one):
    assignment = "one_to_one" if one_to_one else "none"
    plan = files.plan(blocked=blocked, scheme=scheme, assignment=assignment, dependence="decomposable")
    run = link(files.a, files.b, plan, ENOUGH, quiet)
    right = np.count_nonzero(run.pairs.row_a[run.links] == run.pairs.row_b[run.links])
    assert right > 0.8 * files.n_common
    gamma = run.patterns.gamma
    assert (run.scheme.joint is None) == (scheme == "log_lr_weighted")
    if run.scheme.joint is not None:
        weight = run.scheme.joint.match_weights(run.scheme.scheme.vectors(gamma, [8] * 4))
        np.testing.assert_allclose(run.patterns.weight, weight)
    reported = findings(run, plan, ENOUGH, {}).plain()["model"]["dependence"]
    assert reported["kind"] == ("none" if run.scheme.joint is None else run.scheme.joint.kind)
    for misfit in reported["misfits"]:
        assert misfit["gain"] > 0
        assert set(misfit["fields"]) <= {field.name for field in plan.fields}


@pytest.mark.parametrize("blocked", [True, False])
@pytest.mark.parametrize("assignment", ["one_to_one", "many_to_one"])
@pytest.mark.parametrize("dependence", ["pairwise", "decomposable"])
def test_matches_are_no_dependence_of_others_where_u_is_that_of_all_pairs(files, blocked, assignment, dependence):
    """Nearly all pairs that agree on several fields are matches: counted as others they would explain themselves."""
    fixed, corrected = (
        link(
            files.a,
            files.b,
            files.plan(blocked=blocked, assignment=assignment, dependence=dependence, u=u),
            ENOUGH,
            quiet,
        )
        for u in ("all_pairs", "corrected")
    )
    right = [np.count_nonzero(run.pairs.row_a[run.links] == run.pairs.row_b[run.links]) for run in (fixed, corrected)]
    assert right[0] > 0.95 * right[1]
    assert len(fixed.links) < 1.1 * len(corrected.links)
    assert fixed.model.expected_matches == pytest.approx(corrected.model.expected_matches, rel=0.1)


def test_without_it_independence_is_still_diagnosed(files):
    run = link(files.a, files.b, files.plan(blocked=True), ENOUGH, quiet)
    assert run.scheme.joint.kind == "none"
    assert {misfit.within for misfit in run.scheme.misfits} <= {"matches"}


def test_threads_change_nothing(files):
    plan = files.plan(blocked=True, dependence="decomposable")
    first, second = (link(files.a, files.b, plan, Resources(2**28, threads), quiet) for threads in (1, 3))
    np.testing.assert_array_equal(first.pairs.link_probability, second.pairs.link_probability)
    np.testing.assert_array_equal(first.links, second.links)


def test_random_pairs_know_which_rules_they_satisfy():
    rng = np.random.default_rng(1)
    keys_a, keys_b = ([rng.integers(0, 4, n).astype(np.uint64) for _ in range(2)] for n in (50, 40))
    source = RandomPairs(50, 40, CandidatePairs(keys_a, keys_b).mark, 5000, 7)
    room = np.empty(1000, np.int32), np.empty(1000, np.int32), np.empty(1000, np.uint32)
    seen = set()
    for part in source.parts(1000):
        n = source.write(part, *room)
        for i, j, mask in zip(*(column[:n].tolist() for column in room), strict=True):
            seen.add((i, j))
            expected = sum(1 << r for r in range(2) if keys_a[r][i] == keys_b[r][j] != 0)
            assert mask == expected
        again = tuple(column[:n].copy() for column in room)
        source.write(part, *room)
        assert all(np.array_equal(column[:n], before) for column, before in zip(room, again, strict=True))
    # 5000 draws with replacement of 2000 pairs: 1 - exp(-2.5) of them are expected.
    assert len(seen) == pytest.approx(2000 * (1 - np.exp(-2.5)), rel=0.03)


def test_an_unknown_kind_is_refused(files):
    with pytest.raises(GemelError, match=r"model\.dependence"):
        LinkagePlan(files.plan(blocked=False).fields, dependence="total")


def test_households_are_not_taken_for_persons_where_only_the_records_of_one_file_compete():
    """All kin are in the other file; F1 was .35 at 5,000 people while estimation treated each pair separately."""
    run, match, n = kin(800, 1.0, 1, False, "many_to_one")["both, by evidence"]
    assert quality(match[run.links], n).f1 > 0.97


def test_people_who_moved_are_no_relatives_who_keep_the_telephone():
    """100 of 1,000 people in common, whose relatives are all in the files: one in twenty moved, and counted as kin."""
    files = two_files(1000, 1000, 100, 0.2, np.random.default_rng(9), sampled=1.0)
    _, found = linked(*files, block=False)
    assert found.recall > 0.98
    assert found.precision > 0.98
    assert found.claimed_matches == pytest.approx(100, abs=2)
