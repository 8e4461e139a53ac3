"""Dynamic junction trees: the worked example of the Asia network step by step, random walks, legality by definition."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmarks import _dynamic_trees as kernels
from benchmarks._dynamic_trees import wander
from benchmarks.models import wander_by_search
from gemel.risk.models.bayesian_networks import BayesianNetwork
from gemel.risk.models.chain_kernels import ILLEGAL
from gemel.risk.models.chains import Chain
from gemel.risk.models.graphs import Graph, empty_graph, members
from gemel.risk.models.junction_trees import JunctionTree
from gemel.risk.models.scores import HyperDirichlet
from research._networks import elimination_game, minimal_triangulation, moralise, triangulated
from tests.risk.models.bif import edges
from tests.risk.models.definition import is_minimal, names_of, to_networkx
from tests.risk.models.examples import can_toggle, check_tree, random_counts, random_decomposable

ASIA = {"A": "", "S": "", "T": "A", "L": "S", "B": "S", "E": "TL", "X": "E", "D": "BE"}
NAMES = tuple(ASIA)


def at(name: str) -> int:
    return NAMES.index(name)


def edge(pair: str) -> tuple[int, int]:
    v, w = sorted(at(name) for name in pair)
    return v, w


@pytest.fixture
def markov() -> Graph:
    """Figure 34."""
    return moralise({name: tuple(parents) for name, parents in ASIA.items()})


@pytest.fixture
def decomposable(markov: Graph) -> Graph:
    """Figure 35."""
    return triangulated(markov, [edge("BL")])


@pytest.fixture
def tree(decomposable: Graph) -> NDArray[np.int64]:
    """Figure 38: the ordering SDXBELTA, or any other in which S, D and X come first."""
    return kernels.tree_array(decomposable)


def cliques(tree: NDArray[np.int64]) -> dict[str, str]:
    return {v: "".join(sorted(NAMES[w] for w in members(int(tree[kernels.CLIQUE, at(v)])))) for v in NAMES}


def parents(tree: NDArray[np.int64]) -> dict[str, str]:
    return {v: "" if (w := tree[kernels.PARENT, at(v)]) < 0 else NAMES[w] for v in NAMES}


def test_figures_33_and_34_moralisation(markov: Graph, asia: BayesianNetwork) -> None:
    given_edges = {frozenset((child, parent)) for child, above in ASIA.items() for parent in above}
    married = {frozenset(map(str, (NAMES[v], NAMES[w]))) for v, w in markov.edges} - given_edges
    assert married == {frozenset("EB"), frozenset("TL")}
    assert {frozenset(str(name)[0].upper() for name in pair) for pair in edges(asia)} == given_edges


def test_figure_35_triangulations(markov: Graph) -> None:
    assert not markov.is_decomposable
    assert elimination_game(markov, [at(name) for name in "SDXBELTA"]) == (edge("BL"),)
    assert elimination_game(markov, [at(name) for name in "DBXSELTA"]) == (edge("SE"),)
    assert is_minimal(markov, [edge("BL")])
    assert is_minimal(markov, [edge("SE")])
    assert len(minimal_triangulation(markov)) == 1
    # Elimination that starts with E joins B, D, L, T and X pairwise: a very poor triangulation.
    poor = elimination_game(markov, [at(name) for name in "ESDXBLTA"])
    assert {frozenset((NAMES[v], NAMES[w])) for v, w in poor} >= {frozenset(p) for p in ("BX", "DL", "DT", "TX", "BT")}
    assert not is_minimal(markov, poor)


def test_figures_36_and_37_junction_tree(decomposable: Graph) -> None:
    tree = JunctionTree.of(decomposable)
    assert {"".join(sorted(names_of(decomposable, c))) for c in tree.cliques} == {  # type: ignore[type-var]
        "AT", "ELT", "BEL", "BDE", "BLS", "EX",
    }  # fmt: skip
    # The weights that the figure's spanning tree has: {T}, {E,L}, {B,E}, {B,L} and one of the {E}; never {L} or {B}.
    assert sorted("".join(sorted(names_of(decomposable, s))) for s in tree.separators) == [  # type: ignore[type-var]
        "BE", "BL", "E", "EL", "T",
    ]  # fmt: skip


def test_figure_38_dynamic_junction_tree(tree: NDArray[np.int64], decomposable: Graph) -> None:
    check_tree(tree)
    assert cliques(tree) == {
        "A": "A", "T": "AT", "L": "LT", "E": "ELT", "B": "BEL", "S": "BLS", "D": "BDE", "X": "EX",
    }  # fmt: skip
    assert parents(tree) == {"A": "", "T": "A", "L": "T", "E": "L", "B": "E", "S": "B", "D": "B", "X": "E"}
    assert kernels.graph_of(tree, NAMES) == decomposable


def test_only_three_edges_cannot_be_deleted(tree: NDArray[np.int64], decomposable: Graph) -> None:
    kept = [pair for pair in decomposable.edges if kernels.prepare(tree.copy(), *pair) == ILLEGAL]
    assert {frozenset((NAMES[v], NAMES[w])) for v, w in kept} == {frozenset("BE"), frozenset("BL"), frozenset("EL")}


def test_figure_40_edge_addition(tree: NDArray[np.int64], decomposable: Graph) -> None:
    """Adding (A, E): one neutral rotation of E with its parent, then A is put into E's clique."""
    assert kernels.prepare(tree, at("E"), at("A")) == 1 << at("T")
    check_tree(tree)
    assert kernels.graph_of(tree, NAMES) == decomposable
    assert (cliques(tree)["E"], cliques(tree)["L"]) == ("ET", "ELT")
    assert (parents(tree)["E"], parents(tree)["L"]) == ("T", "E")
    assert (parents(tree)["B"], parents(tree)["X"]) == ("L", "E")  # B's clique holds L and moves below it
    kernels.apply(tree, at("E"), at("A"))
    assert kernels.prepare(tree, at("A"), at("S")) == ILLEGAL  # a cycle A-E-L-S would lack a chord
    check_tree(tree)
    assert kernels.graph_of(tree, NAMES) == decomposable.toggled(at("A"), at("E"))


def test_figure_41_edge_deletion(tree: NDArray[np.int64], decomposable: Graph) -> None:
    """Deleting (L, T): the same rotation makes L's clique maximal, then T is taken out of it."""
    assert kernels.prepare(tree, at("L"), at("T")) == 1 << at("E")
    assert (cliques(tree)["L"], cliques(tree)["E"]) == ("ELT", "ET")
    assert kernels.graph_of(tree, NAMES) == decomposable
    kernels.apply(tree, at("L"), at("T"))
    check_tree(tree)
    assert (cliques(tree)["L"], parents(tree)["L"]) == ("EL", "E")
    assert kernels.graph_of(tree, NAMES) == decomposable.toggled(at("L"), at("T"))


@given(st.integers(2, 9), st.integers(0, 2**32 - 1))
def test_any_clique_can_be_made_the_root(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_decomposable(n, rng)
    tree = kernels.tree_array(graph)
    for v in rng.permutation(n).tolist():
        assert kernels.reduce(tree, v, 1 << v)
        check_tree(tree)
        assert tree[kernels.PARENT, v] < 0
        assert kernels.graph_of(tree) == graph


@given(st.integers(2, 10), st.integers(0, 2**32 - 1))
def test_moves_are_legal_exactly_where_the_graph_stays_chordal(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree, graph = kernels.tree_array(empty_graph(n)), empty_graph(n)
    for _ in range(80):
        v, w = (int(x) for x in rng.choice(n, 2, replace=False))
        legal = can_toggle(graph, v, w)
        assert legal == nx.is_chordal(to_networkx(graph.toggled(v, w)))
        rest = kernels.prepare(tree, v, w)
        assert rest == (graph.adjacency[v] & graph.adjacency[w] if legal else ILLEGAL)
        assert kernels.graph_of(tree) == graph
        if legal:
            kernels.apply(tree, v, w)
            graph = graph.toggled(v, w)
        check_tree(tree)


@settings(max_examples=20)
@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_rotations_and_search_agree_on_what_is_legal(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n, 2000)
    second = (first + rng.integers(1, n, 2000)) % n
    by_rotation = kernels.tree_array(empty_graph(n))
    by_search = by_rotation.copy()
    changed = wander(by_rotation, first, second)
    assert changed == wander_by_search(by_search, first, second)
    assert (by_rotation[kernels.ADJACENCY] == by_search[kernels.ADJACENCY]).all()
    check_tree(by_rotation)


def walk_with_checks(n: int, seed: int, moves: int, double_share: float) -> int:
    """Make moves, legal and illegal, all that are legal accepted; check after every thousandth. How many were legal.

    A dynamic tree wanders as far, by moves of its own.
    """
    rng = np.random.default_rng(seed)
    scores = HyperDirichlet(random_counts(tuple(rng.integers(2, 5, n).tolist()), 60, rng))
    chain = Chain(scores, empty_graph(n), rng, betas=(0.0,), double_share=double_share, model_limit=1024)
    tree = kernels.tree_array(empty_graph(n))
    for _ in range(moves // 1000):
        chain.run(1000, recording=False)
        assert chain.graph.is_decomposable
        assert abs(chain.ladder.scores[0] - scores.graph(chain.graph)) < 1e-6
        first = rng.integers(0, n, 1000)
        wander(tree, first, (first + rng.integers(1, n, 1000)) % n)
        check_tree(tree)
    assert chain.ladder.tally[0, 0] == moves
    return int(chain.ladder.tally[0, 1])


@settings(max_examples=4)
@given(st.integers(4, 9), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3]))
def test_random_walk(n: int, seed: int, double_share: float) -> None:
    legal = walk_with_checks(n, seed, 50_000, double_share)
    assert 0 < legal < 50_000


@pytest.mark.long
@settings(max_examples=3)
@given(st.integers(6, 10), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3]))
def test_random_walk_of_a_million(n: int, seed: int, double_share: float) -> None:
    legal = walk_with_checks(n, seed, 1_000_000, double_share)
    assert 0 < legal < 1_000_000


def test_faults_are_found(tree: NDArray[np.int64]) -> None:
    tree[kernels.CLIQUE, at("D")] ^= 1 << at("B")
    with pytest.raises(AssertionError, match="parent's label"):
        check_tree(tree)
    tree[kernels.CLIQUE, at("D")] ^= 1 << at("B") | 1 << at("A")
    with pytest.raises(AssertionError, match="running intersection"):
        check_tree(tree)
