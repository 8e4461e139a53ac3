"""Partitions, harmonisation graphs and the analysis, against their definitions by brute force."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.risk.keyvars import analysis as harmonisation
from gemel.risk.keyvars import partitions as kernels
from gemel.risk.keyvars.analysis import HarmonisationGraph, course, min_forms
from gemel.risk.keyvars.partitions import blocks, canonical, join, partition_of, size

LEAVES = 6


def is_finer(a, b):
    """Whether every block of `a` lies within a block of `b`; a partition is finer than itself."""
    if a is None:
        return True
    if b is None:
        return False
    return len(set(zip(a, b, strict=True))) == size(a)


def _partitions(arbitrary: bool = True):
    made = st.lists(st.integers(0, LEAVES - 1), min_size=LEAVES, max_size=LEAVES).map(canonical)
    return st.one_of(st.none(), made) if arbitrary else made


def _components(*partitions):
    """Harmonisation as the thesis has it: components of the sum of the categorisation graphs."""
    known = [p for p in partitions if p is not None]
    if not known:
        return None
    graph = nx.Graph()
    graph.add_nodes_from(range(LEAVES))
    for partition in known:
        for block in blocks(partition):
            nx.add_path(graph, block)
    return partition_of(nx.connected_components(graph), LEAVES)


@given(_partitions(), _partitions())
def test_a_join_is_the_components_of_the_sum(a, b):
    assert join(a, b) == _components(a, b) == join(b, a)


@given(_partitions(False), _partitions(False), _partitions(False))
def test_a_join_is_the_finest_that_both_refine(a, b, c):
    joined = join(a, b)
    assert is_finer(a, joined)
    assert is_finer(b, joined)
    if is_finer(a, c) and is_finer(b, c):
        assert is_finer(joined, c)
    assert is_finer(a, c) == (join(a, c) == c) == all(any(set(x) <= set(y) for y in blocks(c)) for x in blocks(a))


@given(st.lists(_partitions(), min_size=1, max_size=8), _partitions(False))
def test_the_kernel_agrees_with_the_definition(rows, u):
    assert kernels.joined(rows, u) == [join(row, u) for row in rows]


@given(st.lists(_partitions(), min_size=1, max_size=6))
def test_both_properties_of_the_graph(categorisations):
    graph = HarmonisationGraph(categorisations)
    distinct = list(dict.fromkeys(categorisations))
    every = {_components(*chosen) for n in range(1, len(distinct) + 1) for chosen in combinations(distinct, n)}
    assert len(graph.nodes) == len(set(graph.nodes))
    assert set(graph.nodes) == every  # property 2, and nothing besides
    assert [graph.nodes[v] for v in graph.observed] == distinct
    strictly = {
        (v, w)
        for v, coarse in enumerate(graph.nodes)
        for w, fine in enumerate(graph.nodes)
        if v != w and is_finer(fine, coarse)
    }
    covers = {
        (v, w) for v, w in strictly if not any((v, x) in strictly and (x, w) in strictly for x in range(len(graph)))
    }
    assert set(graph.edges()) == covers  # property 1
    for v in range(len(graph)):
        for w in range(len(graph)):
            assert graph.nodes[graph.harmonise([v, w])] == _components(graph.nodes[v], graph.nodes[w])
    assert graph.harmonisations <= len(distinct) * len(graph)


@given(st.permutations([(0, 0, 1, 2, 3, 3), (0, 1, 1, 2, 2, 3), (0, 1, 2, 3, 3, 3), None]))
def test_the_order_of_insertion_does_not_matter(order):
    whole = HarmonisationGraph([(0, 0, 1, 2, 3, 3), (0, 1, 1, 2, 2, 3), (0, 1, 2, 3, 3, 3), None])
    other = HarmonisationGraph(order)
    edges = {(whole.nodes[v], whole.nodes[w]) for v, w in whole.edges()}
    assert {(other.nodes[v], other.nodes[w]) for v, w in other.edges()} == edges


@given(_partitions(), st.lists(st.one_of(st.just("absent"), _partitions()), max_size=6), st.integers(0, 6))
def test_the_answer_is_maximal(target, forms, minimum):
    """Against the definition: every choice of N of the forms."""
    held = [form for form in forms if form != "absent"]
    graph = HarmonisationGraph([target, *held])
    counts = {node: sum(graph.find(form) == node for form in held) for node in graph.observed}
    found = course(graph, graph.find(target), counts, len(forms)).at(minimum)
    choices = [_components(target, *chosen) for chosen in combinations(held, minimum)] if minimum <= len(held) else []
    if not choices:
        assert found is None
        return
    assert found is not None
    maximum = max(size(choice) for choice in choices)
    assert found.size == maximum
    assert {graph.nodes[v] for v in found.nodes} == {choice for choice in choices if size(choice) == maximum}


def test_the_steps_ascend():
    graph = HarmonisationGraph([(0, 1, 2, 3), (0, 0, 1, 2), (0, 1, 1, 2), (0, 0, 1, 1)])
    found = course(graph, 0, dict.fromkeys(graph.observed, 2), 8)
    assert [step.size for step in found.steps] == [4, 3, 2, 1]
    assert [step.forms for step in found.steps] == sorted(step.forms for step in found.steps)
    assert found.steps[-1].forms == 8


def test_the_number_of_forms_is_that_of_the_decimal():
    assert [min_forms(n, p) for n, p in ((100, 0.29), (200, 0.57), (5, 0.5), (5, 1.0), (5, 0.0))] == [29, 114, 2, 5, 0]
    with pytest.raises(GemelError, match="from 0 to 1"):
        min_forms(5, 1.5)


def test_too_many_harmonisations_are_refused_and_leave_the_graph_as_it_was(monkeypatch):
    monkeypatch.setattr(harmonisation, "MAX_NODES", 4)
    graph = HarmonisationGraph([(0, 0, 1, 2), (0, 1, 1, 2)])
    with pytest.raises(GemelError, match="more than 4 harmonisations"):
        graph.insert((0, 1, 2, 2))
    assert len(graph) == 3
    assert graph.joined.shape == (3, 2)


def test_the_worst_case_of_appendix_2():
    """n categorisations of n leaves that each isolate one leaf fewer: every subset its own harmonisation."""
    n = 5
    pairs = [partition_of([[2 * i, 2 * i + 1]], 2 * n) for i in range(n)]
    graph = HarmonisationGraph(pairs)
    assert len(graph) == 2**n - 1
