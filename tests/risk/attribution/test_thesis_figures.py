"""T11 figures 2 to 6, 8 to 16 and 17 to 23, each as what it shows (figure 7 is a flow diagram)."""

from __future__ import annotations

import networkx as nx
import numpy as np

from gemel.risk.attribution.cell_bounds import bounds
from gemel.risk.attribution.components import components, interaction_graph
from gemel.risk.attribution.laws import INFINITE, Conventional, Random, Within
from gemel.risk.attribution.microdata import attributions, classes
from gemel.risk.attribution.protections import CellSuppression, ConventionalRounding, Recoding, TabularAdjustment
from gemel.risk.attribution.release import Axis, Published, Release, Table, Variable, publish
from gemel.risk.attribution.sap import sap
from gemel.risk.attribution.search import Search
from gemel.risk.attribution.shuttle import family, lattice, shuttle
from gemel.risk.attribution.subtraction import retightened_sap
from gemel.risk.attribution.table_assessment import statements
from research._thesis_tables import exact_margins, total_sap
from tests.risk.attribution.definition import decomposable, enumerated
from tests.risk.attribution.small_releases import box

ROWS, COLUMNS = Variable("row", ("1", "2", "3", "4")), Variable("column", ("1", "2", "3", "4"))
FIGURE_2 = np.asarray([[0, 3, 0, 1], [0, 1, 0, 0], [4, 1, 0, 2], [1, 0, 7, 1]])
RISKY = ((1, 1),)
GENERATOR = np.random.default_rng(0)


def figure_2() -> Table:
    return Table((ROWS, COLUMNS), FIGURE_2)


def published(detail: list[list[int]], rows: list[int], columns: list[int], total: int) -> Release:
    """A table with its margins, -1 for a withheld count."""
    counts = (("detail", (ROWS, COLUMNS), detail), ("rows", (ROWS,), rows), ("columns", (COLUMNS,), columns))
    tables = [Published(name, tuple(map(Axis.full, own)), np.asarray(shown)) for name, own, shown in counts]
    return Release((ROWS, COLUMNS), (*tables, Published("total", (), np.asarray(total))))


def test_figure_2_a_risky_cell_identifies() -> None:
    """The one person at row level 2 is at column level 2: an exact positive attribution from a count of 1."""
    table = figure_2()
    assert table.over(["row"]).counts.tolist() == [4, 1, 7, 9]
    assert table.over(["column"]).counts.tolist() == [5, 5, 7, 4]
    assert table.total == 21
    release = Release(table.variables, (publish("detail", table),))
    found = statements(release, bounds(release))["positive"]
    assert {"who": "row=2", "variable": "column", "levels": ["2"], "at_least": 1} in found


def test_figure_3_recoding_hides_it() -> None:
    groups = {"1 or 2": ["1", "2"], "3": ["3"], "4": ["4"]}
    table = Recoding("row", groups).protect(publish("t", figure_2()), GENERATOR).table
    assert table.counts.tolist() == [[0, 4, 0, 1], [4, 1, 0, 2], [1, 0, 7, 1]]
    found = bounds(Release((ROWS, COLUMNS), (table,)))
    assert (found.lower[1, 1], found.upper[1, 1]) == (0, 4)
    assert found.upper[1, 0] == 0, "a recovered zero stays one"


def test_figure_4_one_withheld_cell_is_worked_out() -> None:
    detail = FIGURE_2.copy()
    detail[1, 1] = -1
    found = bounds(published(detail.tolist(), [4, 1, 7, 9], [5, 5, 7, 4], 21))
    assert (found.lower == FIGURE_2).all()
    assert found.recovered.all()


def test_figure_5_withheld_margins_leave_no_upper_bound() -> None:
    detail = FIGURE_2.copy()
    detail[1, 1] = -1
    found = bounds(published(detail.tolist(), [4, -1, 7, 9], [5, -1, 7, 4], -1))
    assert (found.lower[1, 1], found.upper[1, 1]) == (0, INFINITE)
    outcome = CellSuppression(cells=RISKY, suppress_margins=True, width=2).protect(publish("t", figure_2()), GENERATOR)
    hidden = (outcome.table.counts < 0).sum() + sum((t.counts < 0).sum() for t in outcome.also)
    assert hidden == 4, "the cell, its row's, its column's and the grand total: no cheaper choice"


def test_figure_6_complementary_cells_with_margins_kept() -> None:
    """Four cells, of which the risky one can be 0 or 1, in two possible tables."""
    outcome = CellSuppression(cells=RISKY).protect(publish("t", figure_2()), GENERATOR)
    assert (outcome.table.counts < 0).sum() == 4
    theirs = np.asarray([[0, -1, 0, -1], [0, -1, 0, -1], [4, 1, 0, 2], [1, 0, 7, 1]])
    for release in (
        Release((ROWS, COLUMNS), (outcome.table, *outcome.also)),
        published(theirs.tolist(), [4, 1, 7, 9], [5, 5, 7, 4], 21),
    ):
        found = bounds(release)
        assert (found.lower[1, 1], found.upper[1, 1]) == (0, 1)
        assert len(enumerated(Search(shuttle(release))).tables) == 2
    # With a known 0 in cell (2, 4), a recoded table of its own, the withheld counts can be worked out.
    known = Published("known", (Axis("row", ("2",), ((1,),)), Axis("column", ("4",), ((3,),))), np.asarray([[0]]))
    assert bounds(release.with_tables(known)).recovered.all()


def test_figure_8_controlled_tabular_adjustment() -> None:
    """The thesis's table is an optimum: a change of 1 in four cells; ours costs the same and keeps the margins."""
    theirs = np.asarray([[0, 4, 0, 0], [0, 0, 0, 1], [4, 1, 0, 2], [1, 0, 7, 1]])
    outcome = TabularAdjustment(cells=RISKY, reach=1).protect(publish("t", figure_2()), GENERATOR)
    ours = outcome.table.counts
    assert (ours.sum(axis=0) == FIGURE_2.sum(axis=0)).all()
    assert (ours.sum(axis=1) == FIGURE_2.sum(axis=1)).all()
    assert abs(ours[1, 1] - 1) == 1
    assert np.abs(ours - FIGURE_2).sum() == np.abs(theirs - FIGURE_2).sum() == 4
    assert outcome.table.law == Within(1, 1)


VARIABLES = tuple(Variable(x, ("0", "1")) for x in "ABCDEF")
SPARSE = Table(VARIABLES, np.random.default_rng(4).poisson(0.6, (2,) * 6))


def test_figure_9_not_decomposable() -> None:
    release = exact_margins(SPARSE, [tuple(s) for s in ("AB", "AD", "BC", "BE", "DE", "F")])
    assert not decomposable(release)
    assert not nx.is_chordal(interaction_graph(release).subgraph("ABCDE"))
    assert {"".join(c.variables) for c in components(release)} == {"ABDE", "BC", "F"}


def test_figure_10_decomposable_with_the_right_margins_only() -> None:
    pairs = exact_margins(SPARSE, [tuple(s) for s in ("AB", "AD", "BC", "BD", "BE", "DE", "F")])
    assert nx.is_chordal(interaction_graph(pairs))
    assert not decomposable(pairs)
    assert decomposable(exact_margins(SPARSE, [tuple(s) for s in ("ABD", "BC", "BDE", "F")]))


def test_figure_11_junction_tree_and_bounds() -> None:
    release = exact_margins(SPARSE, [tuple(s) for s in ("ABD", "BC", "BDE", "F")])
    parts = components(release)
    assert {"".join(c.variables) for c in parts} == {"ABD", "BC", "BDE", "F"}
    assert sorted("".join(c.separator) for c in parts[1:]) == ["", "B", "BD"]
    assert box(bounds(release, "closed")) == box(bounds(release, "programming"))


def test_figures_12_to_14_dependencies_of_a_two_by_three_table() -> None:
    """Every cell of figure 14's graph: 3 x 7 recoded cells, among them the 12 of the table with its margins."""
    table = Table((Variable("r", ("1", "2")), Variable("c", ("1", "2", "3"))), np.asarray([[2, 0, 1], [1, 3, 0]]))
    release = exact_margins(table, [("r",), ("c",)])
    cells = lattice(release, "all")
    assert cells.shape == (3, 7)
    one = family(3, "all")
    named = {(one.sets[c], one.sets[a], one.sets[b]) for c, a, b in one.unions}
    assert (0b111, 0b100, 0b011) in {(c, max(a, b), min(a, b)) for c, a, b in named}, "(n1+n2) + n3"
    assert (0b011, 0b001, 0b010) in named, "n1 + n2"
    assert len(cells.dependencies) == 7 + 3 * 6, "2 rows in 7 sets of columns, 6 unions of columns in 3"
    low, high = shuttle(release).base()
    assert (low.tolist(), high.tolist()) == box(bounds(release, "programming"))


def county(table: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    cells = np.asarray(table)
    records = np.repeat(np.arange(cells.size), cells.ravel())
    place = np.stack(np.unravel_index(records, cells.shape), axis=1)
    return place[:, :1], place[:, 1]


def test_figure_15_certain_race_of_a_county() -> None:
    found = attributions(classes(*county([[15, 20, 5], [0, 30, 0]]), 3))
    assert found.positive.tolist() == [False, True]
    assert found.records(found.positive) == 30
    variables = (Variable("county", ("A", "B")), Variable("race", ("White", "Black", "Other")))
    table = Table(variables, np.asarray([[15, 20, 5], [0, 30, 0]]))
    release = Release(table.variables, (publish("t", table),))
    found = statements(release, bounds(release))
    assert {"who": "county=B", "variable": "race", "levels": ["Black"], "at_least": 30} in found["positive"]


def test_figure_16_a_race_is_ruled_out() -> None:
    found = attributions(classes(*county([[15, 20, 5], [0, 28, 2]]), 3), threshold=0.9)
    assert not found.positive.any()
    assert found.negative.tolist() == [[False, False, False], [True, False, False]]
    assert found.approximate.tolist() == [[False, False, False], [False, True, False]]
    assert sap([15, 20, 5, 0, 28, 2])[0] == 1, "in the strict sense a zero in a population table is a risk by itself"


VAR1, VAR2 = Variable("VAR1", ("A", "B", "C")), Variable("VAR2", ("D", "E", "F"))
FIGURE_17 = Table((VAR1, VAR2), np.asarray([[1, 3, 0], [4, 0, 0], [3, 2, 0]]))


def figure_18(total: bool = True) -> Release:
    law = Conventional(3)
    tables = [
        publish("both", FIGURE_17, law, np.asarray([[0, 3, 0], [3, 0, 0], [3, 3, 0]])),
        publish("VAR1", FIGURE_17.over(["VAR1"]), law, np.asarray([3, 3, 6])),
        publish("VAR2", FIGURE_17.over(["VAR2"]), law, np.asarray([9, 6, 0])),
    ]
    if total:
        tables.append(publish("total", FIGURE_17.over([]), law, np.asarray(12)))
    return Release(FIGURE_17.variables, tuple(tables), FIGURE_17)


def test_figures_17_and_18_conventional_rounding() -> None:
    for table in figure_18().tables:
        own = FIGURE_17.over(table.names)
        assert (ConventionalRounding(3).protect(publish("t", own), GENERATOR).table.counts == table.counts).all()


def test_figures_19_and_20_trivial_bounds() -> None:
    low, high = figure_18().table("both").box
    assert low.tolist() == [[0, 2, 0], [2, 0, 0], [2, 2, 0]]
    assert high.tolist() == [[1, 4, 1], [4, 1, 1], [4, 4, 1]]


def test_figures_21_and_22_tight_bounds() -> None:
    for method in ("programming", "auto"):
        found = bounds(figure_18(), method)  # type: ignore[arg-type]
        assert box(found) == ([0, 2, 0, 3, 0, 0, 3, 2, 0], [1, 3, 0, 4, 1, 0, 4, 3, 0])
        assert found.zeros.sum() == 3, "three of the four zeros are recovered"
    assert len(enumerated(Search(shuttle(figure_18()))).tables) == 7
    assert bounds(figure_18(total=False)).upper.tolist() == [[1, 4, 1], [4, 1, 1], [4, 4, 1]]


def test_figure_23_rounded_total_makes_a_risk() -> None:
    """3 women and 1 man, both published as 5, the total as 0, under random rounding to base 5."""
    table = Table((Variable("gender", ("f", "m")),), np.asarray([3, 1]))
    law = Random(5)
    release = Release(
        table.variables,
        (publish("gender", table, law, np.asarray([5, 5])), publish("total", table.over([]), law, np.asarray(0))),
        table,
    )
    expected = [0, 0, 0, 0.25, 1]
    assert np.allclose(total_sap([3, 1], [1, 1], [9, 9], 4), expected)
    assert np.allclose(retightened_sap(release, GENERATOR).curve, expected)
    assert np.allclose(sap([3, 1], bounds(release).upper), expected), "here the released bounds do as well"
    assert len(enumerated(Search(shuttle(release))).tables) == 6
    four = Variable("cell", ("1", "2", "3", "4"))
    ones = Table((four,), np.ones(4, dtype=np.int64))
    degenerate = Release(
        (four,), (publish("t", ones, law, np.full(4, 5)), publish("total", ones.over([]), law, np.asarray(0)))
    )
    found = bounds(degenerate)
    assert found.recovered.all(), "four counts published as 5 with a total of 0 are all 1"
