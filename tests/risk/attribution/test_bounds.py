"""Bounds: every method against going through all tables, against one another and against the oracle."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.risk.attribution.cell_bounds import Method, bounds
from gemel.risk.attribution.components import components
from gemel.risk.attribution.laws import Conventional, Random
from gemel.risk.attribution.programming import conflict, system
from gemel.risk.attribution.protections import ConventionalRounding, RandomRounding
from gemel.risk.attribution.release import Axis, Published, Release, Table, Variable, publish
from gemel.risk.attribution.search import Search
from gemel.risk.attribution.shuttle import lattice, shuttle
from research._thesis_tables import anonymous, exact_margins
from tests.risk.attribution.definition import decomposable, enumerated
from tests.risk.attribution.small_releases import box, brute_force, hold, releases


@given(releases())
def test_all_exact_methods_agree_with_enumeration(release: Release) -> None:
    tables = brute_force(release)
    assume(tables is not None)
    assert tables is not None
    assert len(tables) > 0, "the truth is feasible"
    for method in ("programming", "auto"):
        found = bounds(release, method)
        assert found.tight, method
        assert box(found) == (tables.min(axis=0).tolist(), tables.max(axis=0).tolist()), method
    assert hold(bounds(release, "shuttle"), tables.min(axis=0), tables.max(axis=0))
    listed = enumerated(Search(shuttle(release)), 400_000)
    assert listed.complete
    assert {t.tobytes() for t in listed.tables} == {t.tobytes() for t in tables}
    assert system(release).satisfied(tables).all()


@settings(max_examples=20)
@given(releases(), st.sampled_from(["all", "runs", "chain"]))
def test_every_family_of_recodings_gives_the_same_tables(release: Release, kind: str) -> None:
    tables = brute_force(release)
    assume(tables is not None)
    listed = enumerated(Search(shuttle(release, lattice(release, kind))), 400_000)  # type: ignore[arg-type]
    assert tables is not None
    assert len(listed.tables) == len(tables)


@settings(max_examples=25)
@given(releases(), st.data())
def test_recoded_cells_are_bounded_as_enumeration_bounds_them(release: Release, data: st.DataObject) -> None:
    tables = brute_force(release)
    assume(tables is not None)
    assert tables is not None
    members = {
        v.name: sorted(data.draw(st.sets(st.integers(0, v.size - 1), min_size=1)))
        for v in release.variables
        if data.draw(st.booleans())
    }
    mask = np.zeros(release.shape, dtype=bool)
    mask[np.ix_(*[members.get(v.name, list(range(v.size))) for v in release.variables])] = True
    sums = tables[:, mask.ravel()].sum(axis=1)
    settled = shuttle(release)
    cell = settled.lattice.place([list(members.get(v.name, range(v.size))) for v in release.variables])
    assert settled.lower[cell] <= sums.min()
    assert settled.upper[cell] >= sums.max()


DECOMPOSABLE = (
    [("V1", "V2"), ("V2", "V3")],
    [("V1", "V2"), ("V3",)],
    [("V1",), ("V2",), ("V3",)],
    [("V1", "V3"), ("V2", "V3")],
)


@settings(max_examples=20)
@given(st.lists(st.integers(0, 3), min_size=8, max_size=8), st.sampled_from(DECOMPOSABLE))
def test_the_closed_form_is_tight_for_exact_decomposable_releases(
    counts: list[int], sets: list[tuple[str, ...]]
) -> None:
    release = exact_margins(Table(anonymous((2, 2, 2)), np.asarray(counts).reshape(2, 2, 2)), sets)
    assert decomposable(release)
    closed, programmed, shuttled = (bounds(release, m) for m in ("closed", "programming", "shuttle"))
    assert box(closed) == box(programmed) == box(shuttled)
    assert closed.tight


@settings(max_examples=20)
@given(
    st.lists(st.integers(0, 3), min_size=8, max_size=8),
    st.sampled_from(DECOMPOSABLE),
    st.integers(0, 10**6),
    st.booleans(),
)
def test_the_closed_form_contains_protected_decomposable_releases(
    counts: list[int], sets: list[tuple[str, ...]], seed: int, random: bool
) -> None:
    truth = Table(anonymous((2, 2, 2)), np.asarray(counts).reshape(2, 2, 2))
    protection = RandomRounding(3) if random else ConventionalRounding(3)
    generator = np.random.default_rng(seed)
    tables = [protection.protect(publish(" x ".join(s), truth.over(s)), generator).table for s in (*sets, ())]
    release = Release(truth.variables, tuple(tables), truth)
    closed, exact = bounds(release, "closed"), bounds(release, "programming")
    assert hold(closed, exact.lower, exact.upper)
    assert box(bounds(release)) == box(exact)


@settings(max_examples=8)
@given(st.lists(st.integers(0, 3), min_size=16, max_size=16), st.integers(0, 10**6))
def test_irreducible_components_give_what_the_whole_gives(counts: list[int], seed: int) -> None:
    """Figure 10's release by pairs (less two variables): A, B, D has no table of its own; C hangs on B."""
    a, b, c, d = (Variable(x, ("0", "1")) for x in "ABCD")
    truth = Table((a, b, c, d), np.asarray(counts).reshape(2, 2, 2, 2))
    exact = exact_margins(truth, [("A", "B"), ("A", "D"), ("B", "D"), ("B", "C")])
    parts = components(exact)
    assert {c.variables for c in parts} == {("A", "B", "D"), ("B", "C")}
    noisy = RandomRounding(3).protect(publish("AC", truth.over(("A", "B"))), np.random.default_rng(seed)).table
    for release in (exact, Release(exact.variables, (noisy, *exact.tables[1:]), truth)):
        found = bounds(release)
        assert "irreducible components" in found.method
        assert found.tight
        assert box(found) == box(bounds(release, "programming"))


ALL_METHODS = ("closed", "shuttle", "auto")


@pytest.mark.parametrize(
    ("key", "sets", "methods"),
    [
        *((f"bounds_all_{size}way", list(combinations("abcdef", size)), ("auto",)) for size in (3, 4, 5)),
        ("bounds_dec_ace_bc_de_f", [tuple(clique) for clique in ("ace", "bc", "de", "f")], ALL_METHODS),
        ("bounds_dec_abcd_cdef", [tuple(clique) for clique in ("abcd", "cdef")], ALL_METHODS),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_czech_autoworkers(shared: Path, key: str, sets: list[tuple[str, ...]], methods: tuple[Method, ...]) -> None:
    oracle = json.loads((shared / "oracles" / "bounds_em_czech.json").read_text())
    variables = tuple(Variable(x, ("0", "1")) for x in "abcdef")
    czech = Table(variables, np.asarray(oracle["czech_table"]["counts"]).reshape((2,) * 6))
    for method in methods:
        found = bounds(exact_margins(czech, sets), method)
        assert box(found) == (oracle[key]["lower"], oracle[key]["upper"]), method
        assert found.tight or method == "shuttle"


def test_time_that_runs_out_leaves_valid_bounds_that_are_not_called_proven() -> None:
    truth = Table(anonymous((3, 3, 3)), np.random.default_rng(0).poisson(40, (3, 3, 3)))
    release = exact_margins(truth, [("V1", "V2"), ("V2", "V3"), ("V1", "V3")])
    exact, stopped = bounds(release, "programming"), bounds(release, "programming", seconds=1e-9)
    assert not stopped.tight
    assert hold(stopped, exact.lower, exact.upper)


def test_progress_is_reported() -> None:
    table = Table(anonymous((2, 2, 2)), np.arange(8).reshape(2, 2, 2))
    stages: list[str] = []
    bounds(exact_margins(table, list(combinations(table.names, 2))), progress=lambda stage, share: stages.append(stage))
    assert any("sweep" in s for s in stages)
    assert "integer programming" in stages


def test_enumeration_stops_at_its_limit() -> None:
    truth = Table(anonymous((3, 3)), np.full((3, 3), 5))
    found = enumerated(Search(shuttle(exact_margins(truth, [("V1",), ("V2",)]))), limit=50)
    assert len(found.tables) == 50
    assert not found.complete


def conflicting() -> Release:
    truth = Table(anonymous((2, 2)), np.asarray([[1, 2], [3, 4]]))
    release = exact_margins(truth, [("V1",), ("V1", "V2"), ("V2",)])
    wrong = Published("wrong", (Axis.full(truth.variables[1]),), np.asarray([5, 6]))
    return release.with_tables(wrong)


@pytest.mark.parametrize("method", ["auto", "programming", "shuttle", "closed"])
def test_tables_in_conflict_are_named(method: str) -> None:
    with pytest.raises(GemelError, match="wrong") as error:
        bounds(conflicting(), method)  # type: ignore[arg-type]
    assert "no population satisfies" in str(error.value)
    names = conflict(conflicting())
    assert "wrong" in names
    assert len(names) == 2, "no more tables than it takes"


def test_conflict_of_protected_tables_is_found() -> None:
    variables = anonymous((2,))
    table = Published("cells", (Axis.full(variables[0]),), np.asarray([3, 3]), Conventional(3))
    total = Published("total", (), np.asarray(15), Random(3))
    with pytest.raises(GemelError, match=r"'cells', 'total'"):
        bounds(Release(variables, (table, total)))


def test_closed_form_is_refused_where_it_does_not_hold() -> None:
    """Figure 9's release."""
    variables = tuple(Variable(x, ("0", "1")) for x in "ABCDEF")
    truth = Table(variables, np.random.default_rng(0).poisson(1, (2,) * 6))
    sets = [("A", "B"), ("A", "D"), ("B", "C"), ("B", "E"), ("D", "E"), ("F",)]
    with pytest.raises(GemelError, match="not decomposable"):
        bounds(exact_margins(truth, sets), "closed")


def test_linear_relaxations_first_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large tables try the relaxation before the whole programme; here small ones do, exact and protected."""
    generator = np.random.default_rng(9)
    truth = Table(anonymous((3, 3, 2)), generator.poisson(2, (3, 3, 2)))
    pairs = list(combinations(truth.names, 2))
    noisy = [RandomRounding(3).protect(publish(" x ".join(p), truth.over(p)), generator).table for p in pairs]
    for release in (exact_margins(truth, pairs), Release(truth.variables, tuple(noisy), truth)):
        plain = bounds(release, "programming")
        with monkeypatch.context() as patch:
            patch.setattr("gemel.risk.attribution.programming._LARGE", 0)
            relaxed = bounds(release, "programming")
        assert relaxed.tight
        assert box(plain) == box(relaxed)


# Large tables: bounds stay valid within a time limit, and are marked as not proven.


def test_a_time_limit_is_kept_to_and_nothing_more_is_claimed() -> None:
    """1,024 cells from all pairs: linear relaxations within the shuttle's bounds, the truth within both."""
    shape = (2,) * 10
    truth = Table(anonymous(shape), np.random.default_rng(1).poisson(5, shape))
    release = exact_margins(truth, list(combinations(truth.names, 2)))
    found, shuttled = bounds(release, seconds=3), bounds(release, "shuttle")
    assert "linear" in found.method
    assert not found.tight
    assert hold(found, truth.counts)
    assert (found.upper <= shuttled.upper).all()
    assert (found.upper < shuttled.upper).any()


def test_conflict_in_a_large_release_is_named() -> None:
    truth = Table(anonymous((30, 30)), np.random.default_rng(2).poisson(3, (30, 30)))
    release = exact_margins(truth, [("V1",), ("V2",)])
    wrong = Published("wrong", (Axis.full(truth.variables[0]),), truth.over(["V1"]).counts[::-1].copy())
    with pytest.raises(GemelError, match=r"'V1', 'wrong'"):
        bounds(release.with_tables(wrong), seconds=5)
