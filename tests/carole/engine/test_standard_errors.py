"""Standard errors of a run: given for every way to estimate, and none where they would be wrong."""

from __future__ import annotations

import numpy as np
import pytest

from gemel.carole.engine import Resources, link
from gemel.carole.fellegi_sunter.schemes import SCHEMES

ENOUGH = Resources(memory_bytes=2**28, threads=2)


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("assignment", ["one_to_one", "none"])
@pytest.mark.parametrize("dependence", ["none", "decomposable"])
def test_m_is_known_as_well_as_so_many_matches_allow(files, blocked, assignment, dependence):
    plan = files.plan(blocked=blocked, assignment=assignment, dependence=dependence)
    run = link(files.a, files.b, plan, ENOUGH, lambda stage, fraction: None)
    errors = run.scheme.standard_errors
    assert errors is not None
    top = run.model.m[:, -1]
    reported = np.isfinite(errors.m[:, -1])
    assert reported.any() if dependence == "none" else errors.note
    # Prior and uncertainty aside: a binomial share of the matches that identify it.
    plain = np.sqrt(top * (1 - top) / run.model.matches_behind_m)
    assert (0.9 * plain < errors.m[:, -1])[reported].all()
    assert (errors.m[:, -1] < 3 * plain)[reported].all()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_has_them_of_the_model_that_it_estimates(files, scheme):
    run = link(files.a, files.b, files.plan(blocked=False, scheme=scheme), ENOUGH, lambda stage, fraction: None)
    errors = run.scheme.standard_errors
    assert errors.m.shape == run.model.m.shape
    assert np.isfinite(errors.m[:, run.model.fields[0].n_levels - 1]).all()
    assert 0 < errors.p < run.model.p
