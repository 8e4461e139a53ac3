"""Graphs, triangulations and junction trees against networkx and against lists of all graphs."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gemel.common.errors import GemelError
from gemel.risk.models.bayesian_networks import BayesianNetwork
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.enumeration import decomposable_keys
from gemel.risk.models.fitted import fit
from gemel.risk.models.graphs import Graph, complete_graph, empty_graph
from gemel.risk.models.greedy_search import greedy
from gemel.risk.models.junction_trees import JunctionTree
from gemel.risk.models.queries import jensen_shannon
from gemel.risk.models.result import graph_of_key, key_of
from gemel.risk.models.scores import HyperDirichlet
from research._networks import (
    decomposable_model,
    divergence_from_data,
    elimination_game,
    minimal_triangulation,
    minimum_fill_ordering,
    moralise,
    triangulated,
)
from tests.risk.models.bif import INSURANCE, edges, log_probability, parameters, pruned, read_bif
from tests.risk.models.definition import is_minimal, names_of, to_networkx, tree_to_networkx
from tests.risk.models.examples import all_cells


@st.composite
def graphs(draw: st.DrawFn, maximum: int = 8) -> Graph:
    n = draw(st.integers(2, maximum))
    pairs = [(v, w) for v in range(n) for w in range(v)]
    return Graph.from_edges(n, [pair for pair in pairs if draw(st.booleans())])


@given(graphs())
def test_decomposable_means_chordal(graph: Graph) -> None:
    assert graph.is_decomposable == nx.is_chordal(to_networkx(graph))


@given(graphs())
def test_cliques_and_junction_tree(graph: Graph) -> None:
    graph = triangulated(graph)
    expected = {frozenset(clique) for clique in nx.find_cliques(to_networkx(graph))}
    assert {names_of(graph, clique) for clique in graph.cliques} == expected
    tree = JunctionTree.of(graph)
    for v in range(len(graph)):  # running intersection: in one clique more than in separators
        inside, between = (sum(nodes >> v & 1 for nodes in sets) for sets in (tree.cliques, tree.separators))
        assert inside - between == 1
    # A junction tree is a spanning tree of greatest weight: the weight networkx finds over all pairs of cliques.
    weights = nx.Graph()
    weights.add_nodes_from(range(len(tree.cliques)))
    weights.add_weighted_edges_from(
        (a, b, (tree.cliques[a] & tree.cliques[b]).bit_count())
        for a, b in itertools.combinations(range(len(tree.cliques)), 2)
    )
    heaviest = nx.maximum_spanning_tree(weights).size(weight="weight")
    assert sum(separator.bit_count() for separator in tree.separators) == heaviest
    assert nx.is_tree(tree_to_networkx(tree, graph))


@given(graphs(), st.randoms(use_true_random=False))
def test_triangulations(graph: Graph, random: object) -> None:
    ordering = list(range(len(graph)))
    random.shuffle(ordering)  # type: ignore[attr-defined]
    fill = elimination_game(graph, ordering)
    filled = triangulated(graph, fill)
    assert filled.is_decomposable
    assert elimination_game(filled, ordering) == ()
    assert not set(fill) & set(graph.edges)
    minimum = minimal_triangulation(graph, fill)
    assert set(minimum) <= set(fill)
    assert is_minimal(graph, minimum)
    if len(minimum) <= 6:  # minimal by definition: no proper subset will do
        for size in range(len(minimum)):
            for subset in itertools.combinations(minimum, size):
                assert not triangulated(graph, subset).is_decomposable
    if graph.is_decomposable:
        assert elimination_game(graph, minimum_fill_ordering(graph)) == ()


@pytest.mark.parametrize(
    ("n", "number"),
    [(1, 1), (2, 2), (3, 8), (4, 61), (5, 822), (6, 18154), pytest.param(7, 617_675, marks=pytest.mark.long)],
)
def test_numbers_of_labelled_decomposable_graphs(n: int, number: int) -> None:
    assert len(decomposable_keys(n)) == number


def test_every_graph_on_five_nodes() -> None:
    listed = set(decomposable_keys(5).tolist())
    for key in range(1 << 10):
        graph = graph_of_key(np.array([key]), tuple(range(5)))
        assert (key in listed) == nx.is_chordal(to_networkx(graph))
        assert key_of(graph).tolist() == [key]


def test_edges() -> None:
    graph = Graph.from_edges("abcd", [("a", "c"), ("c", "d")])
    assert graph.edges == ((0, 2), (2, 3))
    assert complete_graph(3).edges == ((0, 1), (0, 2), (1, 2))


def test_moralisation_against_networkx() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        parents = {v: [w for w in range(v) if rng.random() < 0.4] for v in range(7)}
        directed = nx.DiGraph([(w, v) for v, above in parents.items() for w in above])
        directed.add_nodes_from(range(7))
        expected = {frozenset(edge) for edge in nx.algorithms.moral.moral_graph(directed).edges}
        assert {frozenset(edge) for edge in moralise(parents).edges} == expected


def test_minimum_fill_can_be_beaten_only_by_a_minimal_one() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        graph = Graph.from_edges(9, [(v, w) for v in range(9) for w in range(v) if rng.random() < 0.35])
        fill = elimination_game(graph, minimum_fill_ordering(graph))
        assert len(minimal_triangulation(graph)) <= len(fill)


def test_bad_graphs() -> None:
    cycle = Graph.from_edges("abcd", ["ab", "bc", "cd", "da"])
    for call, message in (
        (lambda: JunctionTree.of(cycle), "decomposable"),
        (lambda: Graph.from_edges("ab", [("a", "z")]), "unknown variable"),
        (lambda: Graph((2, 0)), "symmetric"),
        (lambda: Graph((0, 0), ("a", "a")), "one name for each node"),
        (lambda: elimination_game(cycle, [0, 1, 2]), "each node once"),
        (lambda: decomposable_keys(8), "1 to 7 variables"),
    ):
        with pytest.raises(GemelError, match=message):
            call()


@settings(max_examples=25)
@given(graphs(6))
def test_components(graph: Graph) -> None:
    for v in range(len(graph)):
        assert names_of(graph, graph.component(v)) == nx.node_connected_component(to_networkx(graph), v)
    assert empty_graph(3).component(1) == 0b010


# Bayesian networks: the insurance network pruned, inference against brute force, bad tables.


def joint(network: BayesianNetwork) -> NDArray[np.float64]:
    """The product of all tables, by broadcasting."""
    full = np.ones(network.levels)
    for v, table in enumerate(network.tables):
        axes = (*network.parents[v], v)
        shape = [network.levels[w] if w in axes else 1 for w in range(len(network.names))]
        full = full * np.transpose(table, np.argsort(axes)).reshape(shape)
    return full


def test_pruned_insurance_network(insurance: BayesianNetwork, whole_insurance: BayesianNetwork) -> None:
    assert (len(whole_insurance.names), len(edges(whole_insurance)), parameters(whole_insurance)) == (27, 52, 1008)
    assert (len(edges(insurance)), parameters(insurance), math.prod(insurance.levels)) == (18, 239, 138_240)
    # Barren nodes only: keeping the leaves keeps exactly these.
    leaves = INSURANCE - {parent for parent, _ in edges(insurance)}
    assert set(insurance.names) == set(pruned(whole_insurance, leaves).names) == INSURANCE


def test_message_passing_equals_brute_force(insurance: BayesianNetwork) -> None:
    full, model, names = joint(insurance), decomposable_model(insurance), insurance.names
    assert full.sum() == pytest.approx(1)
    cells = all_cells(insurance.levels)
    assert np.allclose(np.exp(model.log_probability(cells)), full.ravel(), atol=1e-15, rtol=1e-9)
    assert np.allclose(np.exp(log_probability(insurance, cells)), full.ravel(), atol=1e-15, rtol=1e-9)
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


def test_the_whole_insurance_network(whole_insurance: BayesianNetwork, insurance: BayesianNetwork) -> None:
    """27 variables, 10**13 cells: barren nodes change nothing, and other margins agree with 300,000 sampled records."""
    whole, model, smaller = whole_insurance, decomposable_model(whole_insurance), decomposable_model(insurance)
    for name in INSURANCE:
        assert np.allclose(model.marginal([name]), smaller.marginal([name]), atol=1e-12)
    drawn = whole.sample(300_000, np.random.default_rng(1))
    for name in ("Accident", "MedCost", "PropCost"):
        observed = np.bincount(drawn[:, whole.names.index(name)], minlength=4) / 300_000
        assert np.abs(model.marginal([name]) - observed).max() < 0.004  # four standard errors of one half


def test_samples_and_a_model_fitted_to_them(insurance: BayesianNetwork) -> None:
    rng = np.random.default_rng(3)
    drawn = insurance.sample(20_000, rng)
    assert np.isfinite(log_probability(insurance, drawn)).all()
    counts = SparseCounts.from_records(drawn, insurance.levels, insurance.names)
    found = greedy(HyperDirichlet(counts)).best.graph
    network = decomposable_model(insurance)
    by_model = jensen_shannon(fit(counts, found), network).bits
    assert by_model < 0.01 < divergence_from_data(counts, network)


def test_asia(asia: BayesianNetwork) -> None:
    assert (len(asia.names), len(edges(asia)), parameters(asia)) == (8, 8, 18)
    assert asia.categories[0] == ("yes", "no")
    full = joint(asia)
    model = decomposable_model(asia)
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
    assert edges(network) == (("a", "b"),)
    assert network.tables[1].tolist() == [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.2, 0.3, 0.5", "0.2, 0.3, 0.6", r"variable b: probabilities must sum to 1, got a row with sum 1\.1"),
        ("(yes) 0.2, 0.3, 0.5;", "", "a probability for each combination"),
        ("table 0.25, 0.75", "table 1.5, -0.5", "a probability for each combination"),
    ],
)
def test_bad_tables(old: str, new: str, message: str) -> None:
    with pytest.raises(GemelError, match=message):
        read_bif(TEXT.replace(old, new))


def test_bad_networks() -> None:
    levels, half = (("0", "1"),) * 2, np.full((2, 2), 0.5)
    with pytest.raises(GemelError, match="no cycle"):
        BayesianNetwork(("a", "b"), levels, ((1,), (0,)), (half, half))
    with pytest.raises(GemelError, match=r"shape \(2, 2\) for \(2,\)"):
        BayesianNetwork(("a", "b"), levels, ((), (0,)), (half, half))
