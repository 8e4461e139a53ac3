"""What computing on shares is estimated to cost, beside what three parties send for the same gates."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from gemel.carole.engine.run.specified import plan_of
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.draft.specification_draft import draft
from gemel.coordinator.estimate.estimate import Estimate, estimate_of_files, estimate_of_size
from gemel.coordinator.estimate.limits import CaroleLimits
from gemel.coordinator.estimate.unit_costs import GATE_BYTES
from gemel.custodian.cleaning import clean
from gemel.shared.gates.pair_levels import compare_pairs
from gemel.shared.run.comparisons import comparison_of
from gemel.shared.session.local_session import local_parties, together
from tests.shared.gates.plain import shares_of

PAIRS = 1 << 15


@pytest.fixture(scope="module")
def files() -> tuple[pl.DataFrame, pl.DataFrame]:
    return two_files(600, 600, 300, 0.2, np.random.default_rng(1))


@pytest.fixture(scope="module")
def spec(files: tuple[pl.DataFrame, pl.DataFrame]) -> Specification:
    return draft(files[0].drop(TRUTH), files[1].drop(TRUTH), "estimate", None, "shared").specification


@pytest.fixture(scope="module")
def estimate(files: tuple[pl.DataFrame, pl.DataFrame], spec: Specification) -> Estimate:
    columns = {side: clean(file, spec, side).columns for side, file in zip(Side, files, strict=True)}
    return estimate_of_files(spec, columns, CaroleLimits())


def test_it_states_gates_bytes_and_seconds_of_each_party(estimate: Estimate) -> None:
    made = estimate.linkage.computing
    assert made is not None
    rules = {rule.rule: rule.pairs for rule in estimate.linkage.rules}
    of_rules = sum(pairs * made.pair_gates[rule] for rule, pairs in rules.items())
    assert made.gates is not None
    assert made.sent is not None
    assert made.seconds is not None
    assert made.gates > of_rules > 0
    assert made.sent > GATE_BYTES * made.gates
    shown = "\n".join(estimate.lines)
    assert "Each of Carole, coordinator and steward computes on shares: gates of a pair by rule:" in shown
    assert f"those of {made.chance_pairs:,} random pairs with them" in shown
    assert estimate.document()["computing"]["gates"] == made.gates


def test_of_a_size_alone_gates_of_a_pair_are_stated(spec: Specification) -> None:
    sized = estimate_of_size(spec, 1000, CaroleLimits())
    assert sized.linkage.computing is not None
    assert sized.linkage.computing.gates is None
    assert "random pairs with them" not in "\n".join(sized.lines)


def test_in_another_mode_no_one_computes(spec: Specification) -> None:
    apart = Specification.model_validate({**spec.model_dump(), "mode": "block_keyed"})
    assert estimate_of_size(apart, 1000, CaroleLimits()).linkage.computing is None


def test_bytes_of_a_gate_are_about_those_that_parties_send(estimate: Estimate, spec: Specification) -> None:
    """Gates of a pair are an upper bound, and four bits of each are sent."""
    sets = [{part.rule: part for part in own.layout.sets} for own in estimate.custodians]
    rule = spec.keyed_rules[0].name
    comparison = comparison_of(plan_of(spec), sets[0][rule], sets[1][rule], rule)
    rng = np.random.default_rng(2)
    rows = shares_of(rng.integers(0, 1 << 63, (500, comparison.words.total), dtype=np.uint64))
    pair_a, pair_b = rng.integers(0, 500, (2, PAIRS))
    parties = local_parties(bytes(32))
    together(parties, lambda p: compare_pairs(p, rows[p.own], rows[p.own], pair_a, pair_b, comparison, "compare"))
    for party in parties:
        assert 0.6 < party.sent_bytes / (PAIRS * comparison.gates * GATE_BYTES) <= 1.05
