"""Every scheme and every kind of dependence through a whole run, blocked and not, one to one and not."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks._in_process import linked
from benchmarks.dependence import kin
from gemel.carole.blocking.candidates import CandidatePairs
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.pairs.check_agreement import RandomPairs
from gemel.carole.evaluation.link_quality import quality
from gemel.carole.fellegi_sunter.schemes import SCHEMES
from gemel.coordinator.demonstration.people import two_files
from tests.carole.engine.runs import ENOUGH, codes_of, n_right


@pytest.mark.parametrize("assignment", ["one_to_one", "none"])
@pytest.mark.parametrize("blocked", [True, False])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_run_links_under_every_scheme(files, scheme, blocked, assignment):
    settings = {"blocked": blocked, "scheme": scheme, "assignment": assignment}
    run, plan, graded = files.linked(**settings), files.plan(**settings), scheme == "multinomial"
    calibrated = SCHEMES[scheme].facts.calibrated
    assert run.scheme.scheme.facts.name == scheme
    assert run.pairs.weight == pytest.approx(run.scheme.match_weights(run.patterns.gamma[run.pairs.pattern]))
    assert n_right(run) > 0.8 * files.n_common
    if assignment == "one_to_one":
        assert len(np.unique(run.pairs.row_a[run.links])) == len(run.links)
    assert ("scheme_not_calibrated" in codes_of(run)) == (not calibrated)
    document = findings(run, plan, ENOUGH, {}).plain()
    assert document["model"]["scheme"] == scheme
    for field in document["model"]["fields"]:
        assert len(field["bounds"]) == len(field["m"]) == (8 if graded else 2)
        assert ("shaded" in field) == (not calibrated)
        if "shaded" in field:
            assert len(field["shaded"]["weights"]) == len(field["shaded"]["bounds"]) == 8
            assert field["shaded"]["weights"][-1] == pytest.approx(field["weights"][-1])
    if not blocked:
        patterns = document["linkage"]["patterns"]
        assert {len(pattern["gamma"]) for pattern in patterns} == {len(plan.fields)}
        if not graded:
            assert max(max(pattern["gamma"]) for pattern in patterns) == 1
            # Patterns of few pairs are not shown.
            total = sum(pattern["observed"] for pattern in patterns)
            assert 0.99 * files.a.n_rows * files.b.n_rows < total <= files.a.n_rows * files.b.n_rows


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_has_standard_errors_of_the_model_that_it_estimates(files, scheme):
    run = files.linked(blocked=False, scheme=scheme, assignment="one_to_one")
    errors = run.scheme.standard_errors
    assert errors.m.shape == run.model.m.shape
    assert np.isfinite(errors.m[:, run.model.fields[0].n_levels - 1]).all()
    assert 0 < errors.p < run.model.p


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("assignment", ["one_to_one", "none"])
@pytest.mark.parametrize("dependence", ["none", "decomposable"])
def test_m_is_known_as_well_as_so_many_matches_allow(files, blocked, assignment, dependence):
    run = files.linked(blocked=blocked, scheme="multinomial", assignment=assignment, dependence=dependence)
    errors = run.scheme.standard_errors
    top = run.model.m[:, -1]
    reported = np.isfinite(errors.m[:, -1])
    assert reported.any() if dependence == "none" else errors.note
    # Prior and uncertainty aside: a binomial share of the matches that identify it.
    plain = np.sqrt(top * (1 - top) / run.model.matches_behind_m)
    assert (0.9 * plain < errors.m[:, -1])[reported].all()
    assert (errors.m[:, -1] < 3 * plain)[reported].all()


@pytest.mark.parametrize("scheme", ["multinomial", "exact", "log_lr_weighted"])
@pytest.mark.parametrize("blocked", [True, False])
@pytest.mark.parametrize("assignment", ["one_to_one", "none"])
def test_a_run_with_dependent_fields(files, scheme, blocked, assignment):
    settings = {"blocked": blocked, "scheme": scheme, "assignment": assignment, "dependence": "decomposable"}
    run, plan = files.linked(**settings), files.plan(**settings)
    assert n_right(run) > 0.8 * files.n_common
    assert (run.scheme.joint is None) == (scheme == "log_lr_weighted")
    if run.scheme.joint is not None:
        weight = run.scheme.joint.match_weights(run.scheme.scheme.vectors(run.patterns.gamma, [8] * 4))
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
        files.linked(blocked=blocked, assignment=assignment, dependence=dependence, u=u)
        for u in ("all_pairs", "corrected")
    )
    assert n_right(fixed) > 0.95 * n_right(corrected)
    assert len(fixed.links) < 1.1 * len(corrected.links)
    assert fixed.model.expected_matches == pytest.approx(corrected.model.expected_matches, rel=0.1)


def test_without_it_independence_is_still_diagnosed(files):
    run = files.linked(blocked=True)
    assert run.scheme.joint.kind == "none"
    assert {misfit.within for misfit in run.scheme.joint.misfits} <= {"matches"}


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


def test_households_are_not_taken_for_persons_where_only_the_records_of_one_file_compete():
    """All kin are in the other file; F1 was .35 at 5,000 people while estimation treated each pair separately."""
    run, match, n = kin(800, 1.0, 1, False, "many_to_one")["kinds of pairs"]
    assert quality(match[run.links], n).f1 > 0.97


def test_people_who_moved_are_no_relatives_who_keep_the_telephone():
    """100 of 1,000 people in common, whose relatives are all in the files: one in twenty moved, and counted as kin."""
    files = two_files(1000, 1000, 100, 0.2, np.random.default_rng(9), sampled=1.0)
    _, found = linked(*files, block=False)
    assert found.recall > 0.98
    assert found.precision > 0.98
    assert found.claimed_matches == pytest.approx(100, abs=2)
