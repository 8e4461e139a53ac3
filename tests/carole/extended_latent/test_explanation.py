"""Explanations add up to the odds; attributions are the definition, record by record."""

from __future__ import annotations

import numpy as np
import pytest

from gemel.carole.extended_latent import ExtendedSettings, explain_pairs
from gemel.common.errors import GemelError
from research._attribution import attribute, conditional
from tests.carole.extended_latent.linked_files import linked_files


@pytest.fixture(scope="module", params=[False, True], ids=["one model", "separate models"])
def case(request):
    linked = linked_files(150, np.random.default_rng(8), missing=0.1)
    return linked, linked.fit(settings=ExtendedSettings(separate=request.param))


def test_contributions_add_up_to_the_log_odds(case):
    linked, fit = case
    rng = np.random.default_rng(1)
    gamma = linked.gamma
    agreeing = np.flatnonzero((gamma == 1).all(axis=1))
    kinds = set()
    for i in [*rng.choice(len(gamma), 30), *rng.choice(agreeing, 10)]:
        pair = (*(rows[i : i + 1] for rows in linked.rows), gamma[i : i + 1])
        (bars,) = explain_pairs(fit, *pair)
        assert sum(bar.bits for bar in bars) == pytest.approx(
            fit.match_weights(*pair)[0] + fit.log_prior_odds / np.log(2), abs=1e-6
        )
        kinds |= {bar.kind for bar in bars}
    assert kinds == {"prior", "agreement", "rarity", "association"}


def test_attribution_is_the_sum_over_candidates_and_the_model_for_the_rest(case):
    linked, fit = case
    gamma = linked.gamma
    row_a, row_b = linked.rows
    weight = fit.match_probabilities(row_a, row_b, gamma)
    found = attribute(linked.values, fit.joint, "job", row_a, row_b, weight)
    names = [variable.name for variable in linked.values.variables]
    assert np.allclose(found.probability.sum(axis=1), 1)
    for a in (0, 5, 17):
        sums = np.zeros(3)
        for b in range(linked.values.n_b):
            code = linked.values.codes_b[b, names.index("job")]
            if code >= 0:
                sums[code] += weight[(row_a == a) & (row_b == b)][0]
        sums = sums / max(1.0, sums.sum())
        codes = dict(zip(names, linked.values.codes_a[a].tolist(), strict=True))
        known = {name: codes[name] for name in fit.joint.names if codes[name] >= 0}
        expected = sums + (1 - sums.sum()) * fit.joint.marginal(["job"], known)
        assert np.allclose(found.probability[a], expected)
        assert found.linked[a] == pytest.approx(sums.sum())


def test_without_candidates_only_the_model_speaks(case):
    linked, fit = case
    none = np.zeros(0, dtype=np.int32)
    found = attribute(linked.values, fit.joint, "car", none, none, np.zeros(0), np.array([3, 1]))
    assert np.allclose(found.probability, conditional(linked.values, fit.joint, "car", np.array([3, 1])))
    assert found.rows.tolist() == [3, 1]
    assert not found.linked.any()


@pytest.mark.parametrize("target", ["income", "town", "name", "nothing"])
def test_only_what_bob_alone_holds_can_be_attributed(case, target):
    linked, fit = case
    none = np.zeros(0, dtype=np.int32)
    with pytest.raises(GemelError, match="Bob holds alone"):
        attribute(linked.values, fit.joint, target, none, none, np.zeros(0))
