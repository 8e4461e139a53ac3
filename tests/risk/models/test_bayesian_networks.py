"""Bayesian networks: the insurance network pruned, inference against brute force, bad text."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gemel.common.errors import GemelError
from gemel.risk.models.bayesian_networks import BayesianNetwork
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.fitted import fit
from gemel.risk.models.greedy_search import greedy
from gemel.risk.models.queries import jensen_shannon
from gemel.risk.models.scores import HyperDirichlet
from tests.risk.models.bif import pruned, read_bif
from tests.risk.models.examples import all_cells

NODES = {
    "SeniorTrain", "RiskAversion", "VehicleYear", "GoodStudent", "DrivingSkill", "SocioEcon", "DrivQuality", "HomeBase",
    "Age", "MakeModel", "OtherCar",
}  # fmt: skip


def joint(network: BayesianNetwork) -> NDArray[np.float64]:
    """The product of all tables, by broadcasting."""
    full = np.ones(network.levels)
    for v, table in enumerate(network.tables):
        axes = (*network.parents[v], v)
        shape = [network.levels[w] if w in axes else 1 for w in range(len(network.names))]
        full = full * np.transpose(table, np.argsort(axes)).reshape(shape)
    return full


def test_pruned_insurance_network(insurance: BayesianNetwork, shared: Path) -> None:
    whole = read_bif((shared / "data" / "insurance.bif").read_text())
    assert (len(whole.names), len(whole.edges), whole.parameters) == (27, 52, 1008)
    assert set(insurance.names) == NODES
    assert len(insurance.edges) == 18
    assert insurance.parameters == 239
    assert math.prod(insurance.levels) == 138_240
    # Barren nodes only: keeping the leaves keeps exactly these.
    leaves = NODES - {parent for parent, _ in insurance.edges}
    assert set(pruned(whole, leaves).names) == NODES


def test_message_passing_equals_brute_force(insurance: BayesianNetwork) -> None:
    full, model, names = joint(insurance), insurance.model(), insurance.names
    assert full.sum() == pytest.approx(1)
    cells = all_cells(insurance.levels)
    assert np.allclose(np.exp(model.log_probability(cells)), full.ravel(), atol=1e-15, rtol=1e-9)
    assert np.allclose(np.exp(insurance.log_probability(cells)), full.ravel(), atol=1e-15, rtol=1e-9)
    for v, name in enumerate(names):
        others = tuple(w for w in range(len(names)) if w != v)
        assert np.allclose(model.marginal([name]), full.sum(axis=others), atol=1e-13)
        for w in range(v):
            both = full.sum(axis=tuple(x for x in range(len(names)) if x not in (v, w)))
            assert np.allclose(model.marginal([names[w], name]), both, atol=1e-13)
    age, quality, car = (names.index(name) for name in ("Age", "DrivQuality", "OtherCar"))
    part = np.take(np.take(full, [1], axis=quality), [0], axis=car)
    expected = part.sum(axis=tuple(v for v in range(len(names)) if v != age))
    found = model.marginal(["Age"], {"DrivQuality": 1, "OtherCar": 0})
    assert np.allclose(found, expected / expected.sum(), atol=1e-13)


def test_the_whole_insurance_network(shared: Path, insurance: BayesianNetwork) -> None:
    """27 variables, 10**13 cells: barren nodes change nothing, and other margins agree with 300,000 sampled records."""
    whole = read_bif((shared / "data" / "insurance.bif").read_text())
    model, pruned = whole.model(), insurance.model()
    for name in NODES:
        assert np.allclose(model.marginal([name]), pruned.marginal([name]), atol=1e-12)
    drawn = whole.sample(300_000, np.random.default_rng(1))
    for name in ("Accident", "MedCost", "PropCost"):
        observed = np.bincount(drawn[:, whole.names.index(name)], minlength=4) / 300_000
        assert np.abs(model.marginal([name]) - observed).max() < 0.004  # four standard errors of one half


def test_samples_and_a_model_fitted_to_them(insurance: BayesianNetwork) -> None:
    rng = np.random.default_rng(3)
    drawn = insurance.sample(20_000, rng)
    assert np.isfinite(insurance.log_probability(drawn)).all()
    counts = SparseCounts.from_records(drawn, insurance.levels, insurance.names)
    found = greedy(HyperDirichlet(counts)).best.graph
    by_model = jensen_shannon(fit(counts, found), insurance).bits
    assert by_model < 0.01 < jensen_shannon(counts, insurance).bits


def test_asia(shared: Path) -> None:
    asia = read_bif((shared / "data" / "asia.bif").read_text())
    assert (len(asia.names), len(asia.edges), asia.parameters) == (8, 8, 18)
    assert asia.categories[0] == ("yes", "no")
    full = joint(asia)
    model = asia.model()
    axes = tuple(v for v, name in enumerate(asia.names) if name not in ("lung", "xray"))
    assert np.allclose(model.marginal(["lung", "xray"]), full.sum(axis=axes))
    assert pruned(asia, ["tub"]).names == ("asia", "tub")
    # Zeros in a table ("either" is a plain or) stay zeros: those cells are impossible.
    assert model.probability({"lung": 0, "either": 1}) == 0


TEXT = """
network n { }
variable a { type discrete [ 2 ] { yes, no }; }
variable b { type discrete [ 3 ] { x, y, z }; } // a comment
probability ( a ) { table 0.25, 0.75; }
probability ( b | a ) { (yes) 0.2, 0.3, 0.5; (no) 0.1, 0.1, 0.8; }
"""


def test_text() -> None:
    network = read_bif(TEXT)
    assert network.edges == (("a", "b"),)
    assert network.tables[1].tolist() == [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.2, 0.3, 0.5", "0.2, 0.3, 0.6", r"variable b: probabilities must sum to 1, got a row with sum 1\.1"),
        ("(yes) 0.2, 0.3, 0.5;", "", "one row for each combination"),
        ("0.25, 0.75", "0.25", "must have 2 probabilities"),
        ("0.25, 0.75", "0.25, some", "must be a number"),
        ("(yes)", "(maybe)", "levels that its parents do not have"),
        ("b | a", "b | c", "unknown variable"),
        ("probability ( a ) { table 0.25, 0.75; }", "", "no distribution"),
        ("[ 2 ]", "[ 3 ]", "as many levels"),
        ("[ 2 ] { yes, no }", "[ 1 ] { yes }", "two at least"),
        ("table 0.25, 0.75", "table 1.5, -0.5", "a probability for each combination"),
    ],
)
def test_bad_text(old: str, new: str, message: str) -> None:
    with pytest.raises(GemelError, match=message):
        read_bif(TEXT.replace(old, new))


def test_bad_networks() -> None:
    with pytest.raises(GemelError, match="no variable"):
        read_bif("")
    with pytest.raises(GemelError, match="unknown variable"):
        pruned(read_bif(TEXT), ["zz"])
    levels = (("0", "1"), ("0", "1"))
    half = np.full((2, 2), 0.5)
    with pytest.raises(GemelError, match="no cycle"):
        BayesianNetwork(("a", "b"), levels, ((1,), (0,)), (half, half))
