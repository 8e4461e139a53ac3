"""Aggregation graphs: the examples of chapter 4 and appendix 1, the rule of validity, edits that keep what was true."""

from __future__ import annotations

from functools import reduce
from itertools import combinations, pairwise
from operator import or_

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.risk.keyvars import analysis as harmonisation
from gemel.risk.keyvars.aggregation import AggregationGraph
from gemel.risk.keyvars.analysis import HarmonisationGraph, course, min_forms
from gemel.risk.keyvars.intervals import extend, read_interval
from gemel.risk.keyvars.partitions import blocks, canonical, join, partition_of, size

EMPTY = AggregationGraph({})


def _place_of_residence() -> AggregationGraph:
    """Figure 24."""
    graph = EMPTY.add_leaves(["England", "Scotland", "Wales", "Northern Ireland", "Other"])
    return graph.aggregate("Britain", ["England", "Scotland", "Wales"]).aggregate("UK", ["Britain", "Northern Ireland"])


def test_figure_24_and_the_rule_of_validity():
    graph = _place_of_residence()
    assert graph.leaves == ("England", "Scotland", "Wales", "Northern Ireland", "Other")
    assert graph.leaves_of("UK") == ("England", "Scotland", "Wales", "Northern Ireland")
    for valid in (
        ["England", "Scotland", "Wales", "Northern Ireland", "Other"],
        ["UK", "Other"],
        ["Britain", "Northern Ireland", "Other"],
    ):
        graph.partition(valid)
    with pytest.raises(GemelError, match="'UK' and 'Britain' overlap, got both contain 'England', 'Scotland', 'Wales'"):
        graph.partition(["UK", "Britain", "Other"])
    with pytest.raises(GemelError, match="not exhaustive, got none contains 'Northern Ireland'"):
        graph.partition(["Other", "Britain"])
    with pytest.raises(GemelError, match="did you mean Britain"):
        graph.partition(["Brittain", "Northern Ireland", "Other"])


def test_figures_26_to_28_are_partitions_and_their_harmonisation():
    graph = _place_of_residence()
    one = graph.partition(["Britain", "Northern Ireland", "Other"])
    two = graph.partition(["UK", "Other"])
    assert [[graph.leaves[i] for i in block] for block in blocks(one)] == [
        ["England", "Scotland", "Wales"],
        ["Northern Ireland"],
        ["Other"],
    ]
    assert [[graph.leaves[i] for i in block] for block in blocks(two)] == [
        ["England", "Scotland", "Wales", "Northern Ireland"],
        ["Other"],
    ]
    assert join(one, two) == two


def test_the_harmonisation_that_chapter_4_begins_with():
    """{England, Scotland, Wales, Northern Ireland or non-UK} with {England or Wales, Scotland, Northern Ireland,
    non-UK}: three categories, not two."""
    graph = EMPTY.add_leaves(["England", "Scotland", "Wales", "Northern Ireland", "Non-UK"])
    graph = graph.aggregate("Northern Ireland or Non-UK", ["Northern Ireland", "Non-UK"])
    graph = graph.aggregate("England or Wales", ["England", "Wales"])
    found = join(
        graph.partition(["England", "Scotland", "Wales", "Northern Ireland or Non-UK"]),
        graph.partition(["England or Wales", "Scotland", "Northern Ireland", "Non-UK"]),
    )
    assert found == graph.partition(["England or Wales", "Scotland", "Northern Ireland or Non-UK"])
    assert size(found) == 3


def test_figure_75_keeps_the_first_form_valid():
    first = ["England", "Scotland", "Wales", "Other"]
    graph = EMPTY.add_leaves(first).rename("Other", "Not Britain")
    graph = graph.divide("Not Britain", ["Northern Ireland", "Non UK"])
    graph = graph.aggregate("Britain", ["England", "Scotland", "Wales"])
    graph = graph.aggregate("UK", ["Britain", "Northern Ireland"])
    assert set(graph.leaves) == {"England", "Scotland", "Wales", "Northern Ireland", "Non UK"}
    graph.partition(["England", "Scotland", "Wales", "Not Britain"])
    graph.partition(["England", "Scotland", "Wales", "Northern Ireland", "Non UK"])
    roots = set(graph.children) - {part for parts in graph.children.values() for part in parts}
    assert roots == {"UK", "Not Britain"}  # not a categorisation, whatever the definition allows


AGES = ["0-18", "18-infinity"], ["0-16", "16-21", "21-infinity"]


def test_figure_25_is_made_from_its_categorisations():
    graph, _ = extend(EMPTY, AGES[0], "interval")
    graph, _ = extend(graph, AGES[1], "interval")
    assert set(graph.leaves) == {"0-16", "16-18", "18-21", "21-infinity"}
    assert graph.children["0-18"] == ("0-16", "16-18")
    assert graph.children["18-infinity"] == ("18-21", "21-infinity")
    assert graph.children["16-21"] == ("16-18", "18-21")
    graph.partition(["0-18", "18-21", "21-infinity"])
    assert size(join(graph.partition(AGES[0]), graph.partition(AGES[1]))) == 1


def test_categories_are_made_of_the_fewest_parts():
    graph, _ = extend(EMPTY, ["0-5", "5-10", "10-15", "15-infinity"], "interval")
    graph, _ = extend(graph, ["0-10", "10-infinity"], "interval")
    graph, _ = extend(graph, ["0-15", "15-infinity"], "interval")
    assert graph.children["0-15"] == ("0-10", "10-15")


@pytest.mark.parametrize(
    ("label", "scale", "low", "high"),
    [
        ("16-20", "whole", 16, 21),
        ("16 to 20", "whole", 16, 21),
        ("16–21", "interval", 16, 21),
        ("65+", "whole", 65, None),
        ("65 and over", "interval", 65, None),
        ("under 16", "whole", None, 16),
        ("15 or less", "whole", None, 16),
        ("17", "whole", 17, 18),
        ("-5-2.5", "interval", -5, 2.5),
        ("-infinity-0", "interval", None, 0),
    ],
)
def test_intervals_are_read(label, scale, low, high):
    ends = read_interval(label, scale)
    assert [None if each.is_infinite() else float(each) for each in ends] == [low, high]


@pytest.mark.parametrize(
    ("categories", "scale", "message"),
    [
        (
            ["0-15", "16-20", "21-infinity"],
            "interval",
            "nothing from 15 to 16, between '0-15' and '16-20'.*scale whole",
        ),
        (["0-16", "16-20", "21+"], "whole", "'0-16' and '16-20' overlap, got both contain 16"),
        (["0-16", "16+", "young"], "interval", "not an interval on the scale interval, got 'young'"),
        (["20-16"], "interval", "must ascend"),
        (["16-infinity"], "interval", "cover 16 to infinity, but those of the variable 0 to infinity; add 0-16"),
        (["0-16", "16-90"], "interval", "add 90-infinity"),
    ],
)
def test_bad_intervals_are_named(categories, scale, message):
    graph, _ = extend(EMPTY, AGES[0] if scale == "interval" else ["0-17", "18+"], scale)
    with pytest.raises(GemelError, match=message):
        extend(graph, categories, scale)


@st.composite
def _bands(draw):
    cuts = sorted(draw(st.sets(st.integers(1, 30), max_size=8)))
    bounds = [0, *cuts]
    return [f"{a}-{b}" for a, b in pairwise(bounds)] + [f"{bounds[-1]}-infinity"]


@given(st.lists(_bands(), min_size=1, max_size=5))
def test_an_interval_graph_has_the_leaves_and_meanings_it_must(categorisations):
    graph, kept = EMPTY, []
    for each in categorisations:
        graph, names = extend(graph, each, "interval")
        kept.append(names)
    assert not list(graph.issues())
    cuts = sorted({int(label.split("-")[0]) for each in categorisations for label in each})
    assert [int(leaf.split("-")[0]) for leaf in sorted(graph.leaves, key=lambda n: int(n.split("-")[0]))] == cuts
    for each, names in zip(categorisations, kept, strict=True):
        assert list(names) == each
        assert size(graph.partition(names)) == len(each)
    # Harmonising intervals keeps the bounds that all share.
    shared = set.intersection(*({label.split("-")[0] for label in each} for each in categorisations))
    whole = graph.partition(kept[0])
    for names in kept[1:]:
        whole = join(whole, graph.partition(names))
    assert size(whole) == len(shared)


@given(st.data())
def test_edits_keep_every_categorisation_and_what_is_finer(data):
    graph = _place_of_residence()
    kept = [["UK", "Other"], ["Britain", "Northern Ireland", "Other"], list(graph.leaves)]
    for step in range(data.draw(st.integers(1, 5))):
        before = [graph.partition(each) for each in kept]
        kind = data.draw(st.sampled_from(["divide", "aggregate", "rename"]))
        if kind == "divide":
            graph = graph.divide(data.draw(st.sampled_from(graph.leaves)), [f"a{step}", f"b{step}"])
        elif kind == "rename":
            old = data.draw(st.sampled_from(list(graph.children)))
            graph = graph.rename(old, f"r{step}")
            kept = [[f"r{step}" if name == old else name for name in each] for each in kept]
        else:
            pair = data.draw(st.sampled_from(list(combinations(graph.leaves, 2))))
            mask = graph.reach[pair[0]] | graph.reach[pair[1]]
            if mask in graph.reach.values():
                continue
            graph = graph.aggregate(f"s{step}", list(pair))
        assert not list(graph.issues())
        after = [graph.partition(each) for each in kept]
        assert [size(p) for p in after] == [size(p) for p in before]
        for (a, b), (c, d) in zip(combinations(before, 2), combinations(after, 2), strict=True):
            assert size(join(a, b)) == size(join(c, d))


@given(st.data())
def test_a_categorisation_is_valid_iff_each_leaf_is_reached_once(data):
    graph = EMPTY.add_leaves([f"l{i}" for i in range(5)])
    for step in range(data.draw(st.integers(0, 6))):
        parts = data.draw(st.lists(st.sampled_from(list(graph.children)), min_size=2, max_size=3, unique=True))
        masks = [graph.reach[part] for part in parts]
        if sum(masks) == reduce(or_, masks) and sum(masks) not in graph.reach.values():
            graph = graph.aggregate(f"s{step}", parts)
    assert not list(graph.issues())
    chosen = data.draw(st.lists(st.sampled_from(list(graph.children)), min_size=1, max_size=5, unique=True))
    directed = nx.DiGraph([(name, part) for name, parts in graph.children.items() for part in parts])
    directed.add_nodes_from(graph.children)
    reached = [
        sum(leaf == name or nx.has_path(directed, name, leaf) for name in chosen)
        for leaf in directed
        if not directed.out_degree(leaf)
    ]
    assert (not list(graph.issues_of(chosen))) == all(count == 1 for count in reached)


def test_both_ends_may_be_open():
    graph, _ = extend(EMPTY, ["under 16", "16+"], "whole")
    graph, names = extend(graph, ["15 and under", "16 to 64", "≥65"], "whole")
    assert names == ("under 16", "16 to 64", "≥65")
    assert graph.children["16+"] == ("16 to 64", "≥65")
    graph, _ = extend(EMPTY, ["-infinity-0", "0 to infinity"], "interval")
    graph, _ = extend(graph, ["below -1.5", "-1.5-0", "0–infinity"], "interval")
    assert graph.children["-infinity-0"] == ("below -1.5", "-1.5-0")


def test_what_would_change_a_meaning_is_refused():
    graph = _place_of_residence()
    for edit, message in (
        (lambda: graph.add_leaves(["France"]), "nothing can be added beside them"),
        (lambda: graph.divide("UK", ["x", "y"]), "UK: the category has parts.*divide one of them"),
        (lambda: graph.divide("Other", ["France", "Wales"]), "taken by another category, got 'Wales'"),
        (lambda: graph.divide("Other", ["France", "France"]), "used twice"),
        (lambda: graph.divide("Other", ["France"]), "one part is that part under another name"),
        (lambda: graph.aggregate("GB and NI", ["Britain", "Northern Ireland"]), "made of the same as"),
        (lambda: graph.aggregate("All", ["UK", "Britain", "Other"]), "'UK' and 'Britain' overlap"),
        (lambda: graph.aggregate("UK", ["England", "Wales"]), "taken"),
        (lambda: graph.rename("England", "Wales"), "taken"),
        (lambda: graph.remove("England"), "England: the category cannot be deleted, got it is a part of 'Britain'"),
        (lambda: graph.remove("Other"), "it is a leaf"),
        (lambda: graph.remove("UK", ["C2.001 (Survey X)"]), "used by 'C2.001"),
    ):
        with pytest.raises(GemelError, match=message):
            edit()
    assert "UK" not in graph.remove("UK").children


def test_a_cycle_and_an_unknown_part_are_named():
    cyclic = AggregationGraph({"a": ("b", "c"), "b": ("d", "a"), "c": (), "d": ()})
    [error] = cyclic.issues()
    assert "part of itself" in str(error)
    assert "a > b > a" in str(error)
    [error] = AggregationGraph({"a": ("b", "c"), "b": ()}).issues()
    assert "got 'c'" in str(error)


def test_not_strict_puts_what_overlaps_together_and_leaves_the_rest_alone():
    graph = _place_of_residence()
    assert graph.partition(["UK", "Britain"], strict=False) == graph.partition(["UK", "Other"])


def test_the_names_of_a_set_of_leaves():
    graph = _place_of_residence()
    assert graph.categories_of(["England", "Scotland", "Wales"]) == ("Britain",)
    assert graph.categories_of(["England", "Scotland", "Wales", "Other"]) == ("Britain", "Other")


# Partitions, harmonisation graphs and the analysis, against their definitions by brute force.

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
