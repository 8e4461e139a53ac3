"""Complete counts: the compiled EM is that of the models library, and both fill in what they must."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemel.carole.extended_latent.estimation import completed_by, saturated_counts
from gemel.risk.models.incomplete import IncompleteCounts, fit_incomplete
from tests.risk.models.definition import to_table


def incomplete(seed: int) -> IncompleteCounts:
    rng = np.random.default_rng(seed)
    levels = tuple(int(n) for n in rng.integers(2, 4, 3))
    records = np.column_stack([rng.integers(0, n, 40) for n in levels])
    lacking = rng.random(records.shape) < 0.25
    lacking[0] = False
    records[lacking] = -1
    return IncompleteCounts.from_records(records, levels, weights=rng.random(40) + 0.01)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_the_compiled_em_is_fuchs_step_for_step(seed):
    data = incomplete(seed)
    counts, converged = saturated_counts(data, 1e-9, 30)
    expected = fit_incomplete(data, tolerance=1e-9, max_iterations=30)
    table = expected.model.cliques[0].table() * data.total
    assert converged == expected.converged
    assert np.allclose(to_table(counts), table, atol=1e-9)
    assert counts.total == pytest.approx(data.total)


def test_completion_by_a_model_keeps_every_weight_and_its_conditionals():
    data = incomplete(3)
    model = fit_incomplete(data, tolerance=1e-12).model
    counts = completed_by(model, data)
    assert counts.total == pytest.approx(data.total)
    # At the maximum the completions' shares are the model itself.
    assert np.allclose(to_table(counts) / data.total, model.cliques[0].table(), atol=1e-6)
