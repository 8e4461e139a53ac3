"""Every scheme through a whole run, blocked and not, one-to-one and not."""

from __future__ import annotations

import numpy as np
import pytest

from gemel.carole.engine import LinkagePlan, Resources, link
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.fellegi_sunter.schemes import SCHEMES
from gemel.common.errors import GemelError

ENOUGH = Resources(memory_bytes=2**28, threads=2)


@pytest.mark.parametrize("one_to_one", [True, False])
@pytest.mark.parametrize("blocked", [True, False])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_run_links_under_every_scheme(files, scheme, blocked, one_to_one):
    plan = files.plan(blocked=blocked, scheme=scheme, assignment="one_to_one" if one_to_one else "none")
    run = link(files.a, files.b, plan, ENOUGH, lambda stage, fraction: None)
    assert run.scheme.scheme.name == scheme
    assert run.pairs.weight == pytest.approx(run.scheme.match_weights(run.patterns.gamma[run.pairs.pattern]))
    right = np.count_nonzero(run.pairs.row_a[run.links] == run.pairs.row_b[run.links])
    assert right > 0.8 * files.n_common
    if one_to_one:
        assert len(np.unique(run.pairs.row_a[run.links])) == len(run.links)
    warned = "scheme_not_calibrated" in {warning.code for warning in run.warnings}
    assert warned == (not SCHEMES[scheme].facts.calibrated)
    document = findings(run, plan, ENOUGH, {}).plain()
    assert document["model"]["scheme"] == scheme
    for field in document["model"]["fields"]:
        assert len(field["bounds"]) == len(field["m"]) == (8 if scheme == "multinomial" else 2)
        assert ("shaded" in field) == (not SCHEMES[scheme].facts.calibrated)
        if "shaded" in field:
            assert len(field["shaded"]["weights"]) == len(field["shaded"]["bounds"]) == 8
            assert field["shaded"]["weights"][-1] == pytest.approx(field["weights"][-1])
    if not blocked:
        patterns = document["linkage"]["patterns"]
        assert {len(pattern["gamma"]) for pattern in patterns} == {len(plan.fields)}
        if scheme != "multinomial":
            assert max(max(pattern["gamma"]) for pattern in patterns) == 1
            # Patterns of few pairs are not shown.
            total = sum(pattern["observed"] for pattern in patterns)
            assert 0.99 * files.a.n_rows * files.b.n_rows < total <= files.a.n_rows * files.b.n_rows


def test_an_unknown_scheme_is_refused(files):
    with pytest.raises(GemelError, match=r"model\.scheme"):
        LinkagePlan(files.plan(blocked=False).fields, scheme="fuzzy")
