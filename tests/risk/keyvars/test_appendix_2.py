"""The algorithms of appendix 2, put right, as an independent way to the same graphs and answers.

What is put right: `preorder` tests `child`, not `c`, for being an ancestor; the loop over roots passes `v`, not
`child`; `descendants` is a mapping, and `counts` is what was given. They are recursive as in the thesis, and know
nothing of what each node becomes with each categorisation.
"""

from __future__ import annotations

from functools import reduce

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from gemel.risk.keyvars.analysis import HarmonisationGraph, course
from gemel.risk.keyvars.partitions import Precision, canonical, join, size

LEAVES = 7
PARTITIONS = st.one_of(st.none(), st.lists(st.integers(0, LEAVES - 1), min_size=LEAVES, max_size=LEAVES).map(canonical))


class _Search:
    """The sets that one preorder search fills."""

    def __init__(self, graph: nx.DiGraph, u: Precision, queue: set[Precision]) -> None:
        self.graph, self.u, self.queue = graph, u, queue
        self.ancestors: set[Precision] = set()
        self.parents: set[Precision] = set()
        self.non_children: set[Precision] = set()
        self.candidates: set[Precision] = set()
        self.visited: set[Precision] = set()

    def preorder(self, v: Precision) -> None:
        self.visited.add(v)
        h = join(v, self.u)
        children = list(self.graph.successors(("node", v)))
        if h == v:
            self.ancestors.add(v)
        elif h == self.u:
            self.candidates.add(v)
            self.non_children.update(child for _, child in children)
        elif ("node", h) not in self.graph:
            self.queue.add(h)
        for _, child in children:
            if child not in self.visited:
                self.preorder(child)
        if h == v and not any(child in self.ancestors for _, child in children):
            self.parents.add(v)


def harmonisation_graph(categorisations: list[Precision]) -> nx.DiGraph:
    graph, queue = nx.DiGraph(), set(categorisations)
    while queue:
        u = queue.pop()
        search = _Search(graph, u, queue)
        for _, v in [node for node in graph if not graph.in_degree(node)]:
            search.preorder(v)
        children = search.candidates - search.non_children
        graph.add_node(("node", u))
        graph.add_edges_from((("node", parent), ("node", u)) for parent in search.parents)
        graph.add_edges_from((("node", u), ("node", child)) for child in children)
        graph.remove_edges_from(
            [
                (("node", a), ("node", b))
                for a in search.parents
                for b in children
                if graph.has_edge(("node", a), ("node", b))
            ]
        )
        queue.discard(u)
    return graph


def maximal_harmonisation(
    graph: nx.DiGraph, c: Precision, counts: dict[Precision, int], minimum: int
) -> list[Precision]:
    found: list[Precision] = []
    descendants: dict[Precision, set[Precision]] = {}
    for _, v in nx.dfs_postorder_nodes(graph):
        children = [child for _, child in graph.successors(("node", v))]
        descendants[v] = set(children).union(*(descendants[child] for child in children))
        number = sum(counts.get(each, 0) for each in (v, *descendants[v]))
        if join(v, c) == v and number >= minimum:
            found.append(v)
    maximum = max(map(size, found), default=0)
    return [v for v in found if size(v) == maximum]


@given(st.lists(PARTITIONS, min_size=1, max_size=7))
def test_the_graph_is_that_of_the_appendix(categorisations: list[Precision]) -> None:
    ours, theirs = HarmonisationGraph(categorisations), harmonisation_graph(categorisations)
    assert {node for _, node in theirs} == set(ours.nodes)
    edges = {(ours.nodes[v], ours.nodes[w]) for v, w in ours.edges()}
    assert {(v, w) for (_, v), (_, w) in theirs.edges} == edges
    roots = [v for _, v in theirs if not theirs.in_degree(("node", v))]
    assert roots == [reduce(join, categorisations)]  # single, but of as many categories as all have in common


@given(PARTITIONS, st.lists(PARTITIONS, max_size=10), st.integers(0, 10))
def test_the_answer_is_that_of_the_appendix(c: Precision, forms: list[Precision], minimum: int) -> None:
    ours = HarmonisationGraph([c, *forms])
    counts = {each: forms.count(each) for each in forms}
    expected = maximal_harmonisation(harmonisation_graph([c, *forms]), c, counts, minimum)
    step = course(ours, ours.find(c) or 0, {ours.find(each) or 0: n for each, n in counts.items()}, len(forms)).at(
        minimum
    )
    assert {ours.nodes[v] for v in step.nodes} == set(expected) if step else not expected
