"""Coarsening before a release: the search against brute force, codes against labels, and what earlier releases have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks._built_population import SMALL, Built, built
from benchmarks.assess import without
from gemel.carole.assessment import coarsening_search
from gemel.carole.assessment.coarsening import coarsened_joint, coarsened_output, coarsened_specification
from gemel.carole.assessment.coarsening_search import Costs, Search, minimal_coarsening
from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.combined_assessment import Assessment, AssessmentContext, assess
from gemel.carole.assessment.differences import EarlierRelease
from gemel.carole.assessment.ladders import Ladder, Levels, alike, as_levels, ladders_of
from gemel.carole.assessment.protected import UNCHANGED, Protected, protected
from gemel.carole.assessment.released_counts import counted, unpack
from gemel.common.specification import Specification, load_specification
from gemel.coordinator.draft.specification_text import dump_specification
from gemel.risk.models.factors import Factor
from gemel.risk.models.fitted import FittedModel
from gemel.risk.models.graphs import Graph, members
from gemel.risk.models.joint_distribution import JointDistribution, JointVariable
from gemel.risk.models.junction_trees import JunctionTree
from tests.carole.assessment.outputs import RUN, assessed

PROTECT = """\
  protect:
    region:
      - {name: four, groups: {a: [c0, c1], b: [c2, c3], c: [c4, c5], d: [c6, c7]}}
      - {name: halves, groups: {ab: [c0, c1, c2, c3], cd: [c4, c5, c6, c7]}}
      - drop
    age:
      - {name: bands, groups: {young: [c0, c1], middle: [c2, c3], old: [c4, c5, c6]}}
    occupation: [drop]
"""


@pytest.fixture(scope="module")
def small() -> Built:
    """1,200 people, half of them in each file."""
    return built(SMALL, 1_200, (0.5, 0.5), np.random.default_rng(11))


def judged_by(small: Built, limits: str, protect: str = PROTECT, tables: str = "") -> Specification:
    text = dump_specification(small.spec).replace("  on_breach", f"{protect}  on_breach")
    head, _, rest = text.partition("  tables:\n")
    text = f"{head}{tables}  limits: {{{limits}}}\n{rest[rest.index(protect) :]}" if protect else text
    return load_specification(text, "built")


def found(
    small: Built, spec: Specification, earlier: Sequence[bytes] = (), released: Sequence[EarlierRelease] = ()
) -> Protected:
    """Protected beside some earlier releases."""

    def beside(combined: Combined, spec: Specification, joint: Any, **more: Any) -> Assessment:
        context = AssessmentContext(RUN, released=released, codes="one", earlier=earlier)
        return assess(combined, spec, context, joint=joint, **more | {"advise": False})

    return protected(small.combined, spec, None, beside, earlier, lambda: released)


def levels_in(tops: list[int]) -> list[Levels]:
    return [levels for levels in product(*(range(top + 1) for top in tops)) if any(levels)]


@st.composite
def lattices(draw: st.DrawFn) -> tuple[list[int], Costs, dict[Levels, float]]:
    """Ladders, what each level costs, and the excess of each coarsening: any, as risks need not fall."""
    tops = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    bits = [(1.0, *sorted(draw(st.lists(st.floats(0, 1), min_size=top, max_size=top)), reverse=True)) for top in tops]
    excess = {levels: draw(st.sampled_from([0.0, 0.1, 0.3])) for levels in levels_in(tops)}
    return tops, Costs(tuple(bits)), excess


def searched(tops: list[int], costs: Costs, excess: dict[Levels, float]) -> Search:
    ladders = [
        Ladder(f"v{q}", tuple(f"s{k}" for k in range(top)), (np.arange(9, dtype=np.int32),) * (top + 1))
        for q, top in enumerate(tops)
    ]
    return minimal_coarsening(
        ladders, costs, lambda levels: (excess[levels], ("correct_matches",) if excess[levels] else ()), any
    )


@given(lattices())
def test_the_minimal_coarsening_is_that_of_brute_force(lattice: tuple[list[int], Costs, dict[Levels, float]]) -> None:
    tops, costs, excess = lattice
    search = searched(tops, costs, excess)
    enough = [levels for levels in levels_in(tops) if not excess[levels]]
    assert search.exact
    assert (search.found is None) == (not enough)
    if search.found is not None:
        least = min(enough, key=lambda levels: (costs.cost(levels), sum(levels), levels))
        assert search.found.levels == least
    else:
        assert len(search.tried) == search.possible == len(levels_in(tops))


@given(lattices())
def test_in_a_large_lattice_no_step_can_be_taken_back(lattice: tuple[list[int], Costs, dict[Levels, float]]) -> None:
    tops, costs, excess = lattice
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coarsening_search, "EXACT", 0)
        search = searched(tops, costs, excess)
    assert not search.exact
    if search.found is None:
        return
    levels = search.found.levels
    assert excess[levels] == 0
    for q in range(len(levels)):
        finer = (*levels[:q], levels[q] - 1, *levels[q + 1 :])
        assert finer[q] < 0 or not any(finer) or excess[finer] > 0


def test_what_is_released_holds_every_limit_by_the_assessment_itself(small: Built) -> None:
    """The least of all: every cheaper coarsening, assessed here by itself, breaches a limit."""
    spec = judged_by(small, "correct_matches: 0.4, certain_attribution: 0.8")
    protection = found(small, spec)
    assert protection.assessment.breaches == ()
    assert protection.breached == ("correct_matches", "certain_attribution")
    ladders = ladders_of(spec)
    costs = Costs.of(small.combined, ladders)
    document = protection.assessment.document
    levels = as_levels(ladders, document["protection"]["changes"])
    assert {ladder.variable for ladder, level in zip(ladders, levels, strict=True) if level} == set(protection.changes)
    plain = assessed(small.combined, spec)
    assert document["protection"]["before"]["measures"] == plain.judged
    assert document["protection"]["utility"]["cost"] == costs.cost(levels)
    assert 0 < document["protection"]["utility"]["dependence"] < document["protection"]["utility"]["dependence_before"]
    for other in levels_in([ladder.top for ladder in ladders]):
        if costs.cost(other) < costs.cost(levels):
            output = coarsened_output(small.combined, ladders, other)
            assert assessed(output, coarsened_specification(spec, output), ladders=ladders).breaches
    for name in UNCHANGED:
        assert protection.assessment.judged.get(name) == plain.judged.get(name)
    assert json.loads(protection.assessment.report) == document


def test_what_no_coarsening_changes_is_not_searched_and_what_is_not_enough_is_reported(small: Built) -> None:
    unchanged = found(small, judged_by(small, "members_disclosed: 0.01"))
    protection = unchanged.assessment.document["protection"]
    assert unchanged.changes == {}
    assert protection["reason"] == "no coarsening of variables changes members_disclosed"
    assert protection["assessed"] == 0
    spec = judged_by(small, "correct_matches: 0.00001")
    none = found(small, spec)
    assert none.assessment.breaches == ("correct_matches",)
    protection = none.assessment.document["protection"]
    assert (protection["outcome"], protection["assessed"], protection["exact"]) == ("none", 15, True)
    assert protection["tried"][0]["excess"] == min(one["excess"] for one in protection["tried"])
    bare = json.loads(assessed(small.combined, spec).report)
    assert {**none.assessment.document, "protection": None} == {**bare, "protection": None}
    assert "protection" not in found(small, judged_by(small, "correct_matches: 0.9")).assessment.document


def test_codes_are_coarsened_as_labels_are(small: Built) -> None:
    """Custodians who coarsen before they encode and Carole who coarsens codes have the same table, cell by cell."""
    spec = judged_by(small, "correct_matches: 0.4")
    ladders = ladders_of(spec)
    for levels in ((0, 1, 0), (1, 2, 0), (1, 0, 1), (1, 3, 1)):
        output = coarsened_output(small.combined, ladders, levels)
        names = [variable.name for variable in output.variables]
        for ladder, level in zip(ladders, levels, strict=True):
            if ladder.dropped(level):
                assert ladder.variable not in names
                continue
            before = small.combined.codes[:, small.combined.columns([ladder.variable])[0]]
            after = output.codes[:, output.columns([ladder.variable])[0]]
            pairs = {(int(a), int(b)) for a, b in zip(before, after, strict=True)}
            expected = {-1: -1, **{code: int(ladder.groups[level][code]) for code in range(ladder.categories(0))}}
            assert all(expected[a] == b for a, b in pairs)
            assert ladder.categories(level) == len(output.variables[names.index(ladder.variable)].categories)


def test_tables_are_compared_at_the_coarser_detail(small: Built) -> None:
    tables = "  tables: [{variables: [region, illness]}, {variables: [age, region]}]\n"
    spec = judged_by(small, "correct_matches: 0.4", tables=tables)
    assert spec.assessment is not None
    ladders = ladders_of(spec)
    fine = counted(small.combined, spec.assessment.tables, "one")
    for levels in ((0, 1, 0), (1, 2, 0)):
        output = coarsened_output(small.combined, ladders, levels)
        coarse = counted(output, spec.assessment.tables, "one")
        for former, latter in zip(fine.tables, coarse.tables, strict=True):
            for pair in (alike(former, latter, ladders), alike(latter, former, ladders)):
                for table in pair:
                    assert table.variables == latter.variables
                    assert (table.counts == latter.counts).all()


def test_a_coarser_release_is_compared_with_the_finer_one_before_it(small: Built) -> None:
    """One person less than in an earlier release: only where the tables do not show the person does the limit hold."""
    tables = "  tables: [{variables: [region]}]\n"
    spec = judged_by(small, "differences: 0.5", PROTECT, tables)
    fewer = without(small.combined, np.array([0]))
    before = assessed(fewer, spec, "b" * 32, codes="one")
    own = [EarlierRelease("b" * 32, "built", fewer.n_records, unpack(before.counts))]
    first = assessed(small.combined, spec, released=own, codes="one")
    assert first.breaches == ("differences",)
    # Coarser, the table still shows the person who has come: only without it nothing is learnt.
    protection = found(small, spec, [], own)
    assert protection.changes == {"region": "drop"}
    assert protection.assessment.document["tables"] == []
    # Of another coding a coarser table cannot be compared: then nothing is coarsened that only escapes comparison.
    other = [replace(own[0], counts=replace(unpack(before.counts), coding="other"))]
    escaped = found(small, spec, [], other)
    assert escaped.changes == {}
    assert "another coding" in escaped.assessment.document["protection"]["reason"]


def test_a_finer_release_before_is_attacked_with_the_coarser_one(small: Built) -> None:
    """A table that was published in detail is known in detail: coarsening it later does not lower `subtraction`."""
    tables = "  tables: [{variables: [region, illness]}]\n"
    # Two variables to choose between: each more doubles the assessments.
    protect = PROTECT.replace("    occupation: [drop]\n", "")
    spec = judged_by(small, "subtraction: 0.9", protect, tables=tables)
    plain = assessed(small.combined, spec)
    alone = found(small, spec)
    assert alone.changes.keys() == {"region"}
    assert alone.assessment.judged["subtraction"] <= 0.9 < plain.judged["subtraction"]
    lenient = judged_by(small, "subtraction: 1", protect, tables=tables)
    earlier = json.loads(assessed(small.combined, lenient, "b" * 32).report)
    # Had its measure been low, the table itself would still be out.
    earlier["measures"]["subtraction"]["judged"] = 0.0
    later = found(small, spec, [json.dumps(earlier).encode()])
    assert later.changes == {}
    # One that was published as coarse is no more than what is released now.
    coarse = json.loads(alone.assessment.report)
    again = found(small, spec, [json.dumps(coarse).encode()])
    assert again.changes == alone.changes
    # A step of that name that was another one then is none: the table counts as published in detail.
    changes = [{"variable": "region", "coarsening": "four", "categories": 4}]
    assert as_levels(ladders_of(spec), changes) == (0, 1)
    assert as_levels(ladders_of(spec), [{**changes[0], "categories": 5}]) == (0, 0)


def joint_of(rng: np.random.Generator, levels: tuple[int, ...], edges: list[tuple[str, str]]) -> JointDistribution:
    """A decomposable distribution with random cells."""
    names = tuple("abcd"[: len(levels)])
    graph = Graph.from_edges(list(names), edges)
    tree = JunctionTree.of(graph)
    full = rng.dirichlet(np.ones(int(np.prod(levels)))).reshape(levels)
    cliques = tuple(
        Factor.from_table(
            list(members(clique)), full.sum(axis=tuple(v for v in range(len(levels)) if not clique >> v & 1))
        )
        for clique in tree.cliques
    )
    variables = tuple(JointVariable(name, "alice", number) for name, number in zip(names, levels, strict=True))
    return JointDistribution(variables, FittedModel(graph, levels, tree, cliques, "posterior mean"), 100.0, 4.0)


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(0, 2), st.integers(0, 1))
def test_a_coarsened_joint_distribution_has_the_sums_of_the_finer_one(seed: int, of_b: int, of_d: int) -> None:
    joint = joint_of(np.random.default_rng(seed), (2, 4, 3, 2), [("a", "b"), ("b", "c"), ("c", "d")])
    groups = np.array([0, 0, 1, 1], dtype=np.int32)
    ladders = (
        Ladder("b", ("two", "drop"), (np.arange(4, dtype=np.int32), groups)),
        Ladder("d", ("drop",), (np.arange(2, dtype=np.int32),)),
    )
    made = coarsened_joint(joint, ladders, (of_b, of_d))
    assert made is not None
    assert set(made.names) == {"a", "c"} | ({"b"} if of_b < 2 else set()) | (set() if of_d else {"d"})
    if of_b == 1:
        for pair in (["a", "b"], ["b", "c"]):
            axis = pair.index("b")
            fine = np.moveaxis(joint.table(pair), axis, 0)
            summed = np.moveaxis(np.stack([fine[:2].sum(axis=0), fine[2:].sum(axis=0)]), 0, axis)
            np.testing.assert_allclose(made.table(pair), summed, atol=1e-12)
        plain, bare = made.without_prior(), joint.without_prior()
        assert plain is not None
        assert bare is not None
        fine = bare.table(["a", "b"])
        np.testing.assert_allclose(
            plain.table(["a", "b"]), np.stack([fine[:, :2].sum(1), fine[:, 2:].sum(1)], axis=1), atol=1e-12
        )
    for name in set(made.names) - {"b"}:
        np.testing.assert_allclose(made.table([name]), joint.table([name]), atol=1e-12)
    read = JointDistribution.from_json(made.to_json())
    assert read.names == made.names
    assert read.precision == (joint.precision if not (of_b or of_d) else None)
