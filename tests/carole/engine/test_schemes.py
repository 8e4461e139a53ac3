"""Every scheme through a whole run, blocked and not, one to one and not, with its standard errors."""

from __future__ import annotations

import numpy as np
import pytest

from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.fellegi_sunter.schemes import SCHEMES
from tests.carole.engine.runs import ENOUGH, codes_of, n_right


@pytest.mark.parametrize("assignment", ["one_to_one", "none"])
@pytest.mark.parametrize("blocked", [True, False])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_run_links_under_every_scheme(files, scheme, blocked, assignment):
    settings = {"blocked": blocked, "scheme": scheme, "assignment": assignment}
    run, plan, graded = files.linked(**settings), files.plan(**settings), scheme == "multinomial"
    calibrated = SCHEMES[scheme].facts.calibrated
    assert run.scheme.scheme.name == scheme
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
