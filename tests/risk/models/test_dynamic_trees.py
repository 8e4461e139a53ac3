"""Dynamic junction trees: the worked example of the Asia network step by step, random walks, compiled against plain."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.models import wander, wander_by_search
from gemel.common.errors import GemelError
from gemel.risk.models import junction_trees as kernels
from gemel.risk.models.chains import Chain
from gemel.risk.models.graphs import Graph, elimination_game, empty_graph, minimal_triangulation, moralise, triangulated
from gemel.risk.models.junction_trees import JunctionTree
from gemel.risk.models.scores import HyperDirichlet
from tests.risk.models.bif import read_bif
from tests.risk.models.definition import is_minimal, names_of, to_networkx
from tests.risk.models.dynamic_trees import NONE, DynamicJunctionTree
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
def tree(decomposable: Graph) -> DynamicJunctionTree:
    """Figure 38."""
    return DynamicJunctionTree(decomposable, [at(name) for name in "SDXBELTA"])


def cliques(tree: DynamicJunctionTree) -> dict[str, str]:
    return {name: "".join(sorted(map(str, names_of(tree.base, tree.clique[at(name)])))) for name in NAMES}


def parents(tree: DynamicJunctionTree) -> dict[str, str]:
    return {name: "" if tree.parent[at(name)] == NONE else NAMES[tree.parent[at(name)]] for name in NAMES}


def test_figures_33_and_34_moralisation(markov: Graph, shared: object) -> None:
    given_edges = {frozenset((child, parent)) for child, above in ASIA.items() for parent in above}
    married = {frozenset(map(str, (NAMES[v], NAMES[w]))) for v, w in markov.edges} - given_edges
    assert married == {frozenset("EB"), frozenset("TL")}
    network = read_bif((shared / "data" / "asia.bif").read_text())  # type: ignore[operator]
    message = {name: name[0].upper() for name in network.names}  # type: ignore[index]
    assert {frozenset(message[x] for x in pair) for pair in network.edges} == given_edges


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
    tree.check()
    assert {"".join(sorted(names_of(decomposable, c))) for c in tree.cliques} == {  # type: ignore[type-var]
        "AT", "ELT", "BEL", "BDE", "BLS", "EX",
    }  # fmt: skip
    # The weights that the figure's spanning tree has: {T}, {E,L}, {B,E}, {B,L} and one of the {E}; never {L} or {B}.
    assert sorted("".join(sorted(names_of(decomposable, s))) for s in tree.separators) == [  # type: ignore[type-var]
        "BE", "BL", "E", "EL", "T",
    ]  # fmt: skip


def test_figure_38_dynamic_junction_tree(tree: DynamicJunctionTree, decomposable: Graph) -> None:
    tree.check()
    assert cliques(tree) == {
        "A": "A", "T": "AT", "L": "LT", "E": "ELT", "B": "BEL", "S": "BLS", "D": "BDE", "X": "EX",
    }  # fmt: skip
    assert parents(tree) == {"A": "", "T": "A", "L": "T", "E": "L", "B": "E", "S": "B", "D": "B", "X": "E"}
    assert tree.graph == decomposable
    # Labels span the graph: every tree edge is one of its edges.
    assert all(decomposable.has_edge(v, p) for v, p in enumerate(tree.parent) if p != NONE)


def test_only_three_edges_cannot_be_deleted(decomposable: Graph) -> None:
    kept = []
    for v, w in decomposable.edges:
        tree = DynamicJunctionTree(decomposable, [at(name) for name in "SDXBELTA"])
        if not tree.delete_edge(v, w):
            kept.append(frozenset((NAMES[v], NAMES[w])))
        tree.check()
    assert set(kept) == {frozenset("BE"), frozenset("BL"), frozenset("EL")}


def test_figure_39_rotation_that_changes_the_triangulation(markov: Graph) -> None:
    """Rotating S below B takes the fill-in (B, L) away and joins S to E, which is the other minimal triangulation."""
    tree = DynamicJunctionTree(markov, [at(name) for name in "DXSBELTA"])
    assert elimination_game(markov, [at(name) for name in "DXSBELTA"]) == (edge("BL"),)
    assert not tree.is_neutral(at("S"))
    tree.rotate(at("S"))
    tree.check()
    assert tree.graph == DynamicJunctionTree(markov, [at(name) for name in "DXBSELTA"]).graph
    assert cliques(tree)["B"] == "BES"  # v itself is in its new clique; page 138 prints it without
    assert cliques(tree)["S"] == "ELS"
    assert tree.graph == triangulated(markov, [edge("SE")])


def test_figure_40_edge_addition(tree: DynamicJunctionTree, decomposable: Graph) -> None:
    """Adding (A, E): one neutral rotation of E with its parent, then A is put into E's clique."""
    assert tree.is_neutral(at("E"))
    tree.rotate(at("E"))
    tree.check()
    assert tree.graph == decomposable
    assert (cliques(tree)["E"], cliques(tree)["L"]) == ("ET", "ELT")
    assert (parents(tree)["E"], parents(tree)["L"]) == ("T", "E")
    assert (parents(tree)["B"], parents(tree)["X"]) == ("L", "E")  # B's clique holds L and moves below it
    assert tree.add_edge(at("E"), at("A"))
    tree.check()
    assert tree.graph == decomposable.toggled(at("A"), at("E"))
    assert not tree.add_edge(at("A"), at("S"))  # a cycle A-E-L-S would lack a chord
    assert tree.graph == decomposable.toggled(at("A"), at("E"))


def test_figure_41_edge_deletion(tree: DynamicJunctionTree, decomposable: Graph) -> None:
    """Deleting (L, T): the same rotation makes L's clique maximal, then T is taken out of it."""
    holder = tree.prepare_deletion(at("L"), at("T"))
    assert NAMES[holder] == "L"
    assert (cliques(tree)["L"], cliques(tree)["E"]) == ("ELT", "ET")
    assert tree.graph == decomposable
    assert tree.delete_edge(at("L"), at("T"))
    tree.check()
    assert cliques(tree)["L"] == "EL"
    assert parents(tree)["L"] == "E"
    assert tree.graph == decomposable.toggled(at("L"), at("T"))


def test_roots_are_a_union_find_structure() -> None:
    tree = DynamicJunctionTree.of(Graph.from_edges(6, [(0, 1), (1, 2), (3, 4)]))
    assert tree.root(0) == tree.root(2) != tree.root(3) == tree.root(4) != tree.root(5)
    tree.add_edge(2, 3)
    assert tree.root(0) == tree.root(4)
    tree.delete_edge(2, 3)
    assert tree.root(0) != tree.root(4)


@given(st.integers(2, 9), st.integers(0, 2**32 - 1))
def test_any_clique_can_be_made_the_root(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_decomposable(n, rng)
    tree = DynamicJunctionTree.of(graph)
    for v in rng.permutation(n).tolist():
        tree.make_root(v)
        tree.check()
        assert tree.parent[v] == NONE
        assert tree.graph == graph


@given(st.integers(3, 8), st.integers(0, 2**32 - 1))
def test_any_rotation_is_an_exchange_in_the_ordering(n: int, seed: int) -> None:
    """Rotations of a tree over a graph that was not decomposable agree with building the tree again."""
    rng = np.random.default_rng(seed)
    graph = Graph.from_edges(n, [(v, w) for v in range(n) for w in range(v) if rng.random() < 0.4])
    ordering = rng.permutation(n).tolist()
    tree = DynamicJunctionTree(graph, ordering)
    for _ in range(10):
        place = int(rng.integers(0, n - 1))
        v, w = ordering[place], ordering[place + 1]
        if tree.parent[v] == w:
            before, neutral = tree.graph, tree.is_neutral(v)
            tree.rotate(v)
            tree.check()
            assert neutral == (tree.graph == before)
        ordering[place], ordering[place + 1] = w, v
        built = DynamicJunctionTree(graph, ordering)
        assert (tree.clique, tree.parent) == (built.clique, built.parent)


@given(st.integers(2, 10), st.integers(0, 2**32 - 1))
def test_compiled_trees_do_what_plain_ones_do(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    array, tree, graph = kernels.tree_array(empty_graph(n)), DynamicJunctionTree.of(empty_graph(n)), empty_graph(n)
    for _ in range(80):
        v, w = (int(x) for x in rng.choice(n, 2, replace=False))
        legal = can_toggle(graph, v, w)
        assert legal == nx.is_chordal(to_networkx(graph.toggled(v, w)))
        assert (tree.delete_edge if graph.has_edge(v, w) else tree.add_edge)(v, w) == legal
        rest = kernels.prepare(array, v, w)
        assert (rest != kernels.ILLEGAL) == legal
        if legal:
            assert rest == graph.adjacency[v] & graph.adjacency[w]
            kernels.apply(array, v, w)
            graph = graph.toggled(v, w)
        assert array[kernels.CLIQUE].tolist() == tree.clique
        assert array[kernels.PARENT].tolist() == tree.parent
        assert tree.graph == graph
    check_tree(array)


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
    """Make moves, legal and illegal, all that are legal accepted; check after every thousandth. How many were legal."""
    rng = np.random.default_rng(seed)
    scores = HyperDirichlet(random_counts(tuple(rng.integers(2, 5, n).tolist()), 60, rng))
    chain = Chain(
        scores, empty_graph(n), rng, betas=(0.0,), double_share=double_share, by_rotation=True, model_limit=1024
    )
    for _ in range(moves // 1000):
        chain.run(1000, recording=False)
        check_tree(chain.ladder.trees[0])
        assert chain.graph.is_decomposable
        assert abs(chain.ladder.scores[0] - scores.graph(chain.graph)) < 1e-6
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


def test_faults_are_found(tree: DynamicJunctionTree) -> None:
    tree.clique[at("D")] &= ~(1 << at("B"))
    with pytest.raises(GemelError, match="parent's label"):
        tree.check()
    tree.clique[at("D")] |= 1 << at("B") | 1 << at("A")
    with pytest.raises(GemelError, match="running intersection"):
        tree.check()
    with pytest.raises(GemelError, match="root has no parent"):
        tree.rotate(at("A"))
    with pytest.raises(GemelError, match="at most 62"):
        kernels.tree_array(empty_graph(63))
