"""What values added to a linkage: links made and undone, and how far the joint distribution is from the links'."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.latent_rehearsal import SPEC, files
from gemel.carole.engine import link
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.latent import report as module
from gemel.carole.engine.latent.report import (
    FEWEST_LINKS,
    GROUPS,
    GroupedCliques,
    effect_of_values,
    mutual_information,
    pair_records,
    replicated_divergences,
)
from gemel.carole.engine.run.result import FEWEST, LatentEffect, ScoredPairs
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.extended_latent import ValueFit, Values, Variable, WeightedPairs
from gemel.carole.extended_latent.bayes_factor import ValueModel
from gemel.carole.extended_latent.estimation import match_records
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.risk.models.graphs import empty_graph
from gemel.risk.models.incomplete import fit_incomplete
from gemel.risk.models.queries import jensen_shannon
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import ENOUGH
from tests.risk.models.definition import expected_counts

VARIABLES = (Variable("key", "both", 3), Variable("x", "alice", 3), Variable("z", "bob", 3), Variable("w", "bob", 4))
EDGES = ((0, 1), (1, 2), (2, 3))
PRECISION = 1.0


class Case:
    """Records i of both files are one person's with a known probability, more often where x is 0.

    Links are chosen by the probability, and so have x = 0 too often: the two distributions differ.
    """

    def __init__(self, seed: int, n: int, selected: float = 1.0, *, same_key: bool = False) -> None:
        rng = np.random.default_rng(seed)

        def following(of: np.ndarray, levels: int) -> np.ndarray:
            return np.where(rng.random(n) < 0.6, of % levels, rng.integers(0, levels, n))

        key = rng.integers(0, 3, n)
        x = following(key, 3)
        z = following(x, 3)
        w = following(z + 1, 4)
        log_odds = rng.normal(0, 1.5, n) + np.where(x == 0, selected, -selected)
        self.probability = 1 / (1 + np.exp(-log_odds))
        other = np.where(rng.random(n) < self.probability, np.arange(n), rng.permutation(n))
        nothing = np.full(n, -1)
        a = np.column_stack([key, x, nothing, nothing]).astype(np.int32)
        of_b = np.where(rng.random(n) < 0.1, (key[other] + 1) % 3, key[other])
        of_b = key if same_key else of_b
        b = np.column_stack([of_b, nothing, z[other], w[other]]).astype(np.int32)
        self.values = Values(VARIABLES, a, b)
        self.rows = np.arange(n, dtype=np.int32)
        self.weighted = WeightedPairs(self.rows, self.rows, self.probability)
        graph = empty_graph(self.values.model_names)
        for edge in EDGES:
            graph = graph.toggled(*edge)
        data = match_records(self.values, self.weighted)
        self.model = fit_incomplete(data, graph, precision=PRECISION).model
        self.fitted = ValueFit(ValueModel.of(self.model, ()), None, data.total)

    def pairs(self) -> ScoredPairs:
        weight = np.log2(self.probability / (1 - self.probability))
        return ScoredPairs(
            self.rows, self.rows, np.zeros(len(self.rows), dtype=np.int32), weight, self.probability, self.probability
        )

    def effect(self, links: np.ndarray, after: np.ndarray | None = None) -> LatentEffect:
        return self.compared(self.fitted, self.weighted, links, links if after is None else after)

    def compared(self, fitted: ValueFit, weighted: WeightedPairs, links: np.ndarray, after: np.ndarray) -> LatentEffect:
        of = self.pairs()
        return effect_of_values(self.values, fitted, weighted, (of, links), (of, after), PRECISION, 1)

    def linked(self, rows: np.ndarray) -> WeightedPairs:
        """Records of some numbers, each with its own."""
        return WeightedPairs(rows, rows, np.ones(len(rows)))

    @property
    def links(self) -> np.ndarray:
        return np.flatnonzero(self.probability >= 0.5)


@pytest.fixture(scope="module")
def case() -> Case:
    return Case(0, 600)


@pytest.mark.parametrize(
    ("size", "pairs", "least"), [(20_000, 6, 4), pytest.param(50_000, 40, 34, marks=pytest.mark.long)]
)
def test_the_interval_contains_the_divergence_of_a_large_population(size: int, pairs: int, least: int):
    """Pairs of files of 300 records, a large one for the truth; fewer than the least have probability .01 at 95 %."""
    large = Case(1000, size)
    truth = large.effect(large.links).divergence
    assert truth > 0.005
    found = [one.effect(one.links) for one in (Case(seed, 300) for seed in range(pairs))]
    assert sum(one.interval[0] <= truth <= one.interval[1] for one in found) >= least
    values = [one.divergence for one in found]
    assert np.mean(values) == pytest.approx(truth, abs=3 * np.std(values) / np.sqrt(pairs))


def test_equal_weights_on_the_same_pairs_are_no_distance(case: Case):
    """The links weigh 1, and so does every pair of the joint distribution."""
    ones = case.linked(case.rows)
    data = match_records(case.values, ones)
    model = fit_incomplete(data, case.model.graph, precision=PRECISION, tolerance=1e-6).model
    every = np.arange(len(case.rows))
    found = case.compared(ValueFit(ValueModel.of(model, ()), None, data.total), ones, every, every)
    assert found.divergence == pytest.approx(0, abs=1e-6)
    assert found.interval == pytest.approx((0, 0), abs=1e-6)
    for moved in found.dependences:
        assert moved.joint == pytest.approx(moved.links, abs=1e-4)


def test_groups_add_up_to_the_expected_counts_of_all_records(case: Case):
    group = np.random.default_rng(1).integers(0, GROUPS, case.values.n_a)
    data = match_records(case.values, case.weighted)
    assert (pair_records(case.values, case.weighted)[:, 0] < 0).any()
    grouped = GroupedCliques.of(case.model, case.values, case.weighted, group, data.total + PRECISION)
    tables, _ = expected_counts(case.model, data)
    for counts, table in zip(grouped.by_group, tables, strict=True):
        np.testing.assert_allclose(counts.sum(axis=1), table.ravel(), atol=1e-9)
    # Without a change the tables are the model's; with every group twice the prior alone weighs less.
    for table, clique in zip(grouped.tables(np.zeros(GROUPS)), case.model.cliques, strict=True):
        np.testing.assert_allclose(table, clique.table(), atol=1e-12)
    for table, clique in zip(grouped.tables(np.ones(GROUPS)), case.model.cliques, strict=True):
        np.testing.assert_allclose(table, clique.table(), atol=2 * PRECISION / data.total)


@pytest.mark.parametrize("same_key", [True, False])
def test_a_replicate_is_an_estimation_from_the_drawn_records(same_key: bool, monkeypatch: pytest.MonkeyPatch):
    """One step of EM for each group, against EM to its end on the records that were drawn, the same draws.

    Where no key is missing both are the same, but for sampling of the records at which they are compared.
    """
    case = Case(0, 600, same_key=same_key)
    monkeypatch.setattr(module, "REPLICATES", 20)
    monkeypatch.setattr(module, "DRAWN", 50_000)
    group = np.random.default_rng(1).integers(0, GROUPS, case.values.n_a)
    linked = case.linked(case.rows[case.links])
    alone = fit_incomplete(match_records(case.values, linked), case.model.graph, precision=PRECISION).model
    both = tuple(
        GroupedCliques.of(model, case.values, of, group, of.total + PRECISION)
        for model, of in ((case.model, case.weighted), (alone, linked))
    )
    rng = np.random.default_rng(7)
    found = replicated_divergences(both, rng)

    # The same generator, past the draws of records.
    again = np.random.default_rng(7)
    monkeypatch.setattr(module, "REPLICATES", 0)
    replicated_divergences(both, again)
    here = jensen_shannon(case.model, alone).bits
    plain = []
    for _ in range(20):
        times = again.multinomial(GROUPS, np.full(GROUPS, 1 / GROUPS))
        models = []
        for of in (case.weighted, linked):
            weight = of.weight * times[group[of.row_a]]
            some = weight > 0
            drawn = WeightedPairs(of.row_a[some], of.row_b[some], weight[some])
            data = match_records(case.values, drawn)
            models.append(fit_incomplete(data, case.model.graph, precision=PRECISION).model)
        plain.append(jensen_shannon(*models).bits - here)
    if same_key:
        np.testing.assert_allclose(found, plain, atol=0.1 * np.std(plain))
    assert np.corrcoef(found, plain)[0, 1] > 0.95


def test_small_numbers_of_links_made_or_undone_are_not_shown(case: Case):
    links = np.arange(200)
    assert FEWEST == FEWEST_LINKS == 20
    shown = {
        (0, 0): (0, 0), (20, 0): (20, 0), (0, 20): (0, 20), (25, 30): (25, 30),
        (19, 0): (None, 0), (1, 40): (None, 40), (40, 19): (40, None),
    }  # fmt: skip
    for (made, undone), expected in shown.items():
        after = np.arange(undone, 200 + made)
        found = case.effect(links, after)
        assert (found.made, found.undone) == expected


def test_few_links_are_not_compared(case: Case):
    assert case.effect(np.arange(FEWEST_LINKS)).divergence is not None
    assert case.effect(np.arange(FEWEST_LINKS - 1)) == LatentEffect(0, 0)
    nothing = ValueFit(ValueModel.of(None, ()))
    assert case.compared(nothing, case.weighted, case.links, case.links) == LatentEffect(0, 0)


def test_cliques_that_are_too_large_have_no_interval(case: Case, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_CELLS", 20)
    found = case.effect(case.links)
    assert found.interval is None
    assert found.divergence is not None
    assert len(found.dependences) == len(EDGES)


def test_mutual_information():
    assert mutual_information(np.full((2, 4), 1 / 8)) == pytest.approx(0, abs=1e-12)
    assert mutual_information(np.diag([0.25] * 4)) == pytest.approx(2)


def test_a_run_reports_it_without_a_probability(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "REPLICATES", 40)
    sets, _ = files(0, 150, 0.1)
    plan = plan_of(SPEC)
    run, again = (link(*sets, plan, replace(ENOUGH, threads=threads), quiet) for threads in (1, 2))
    assert run.latent.effect == again.latent.effect
    document = findings(run, plan, ENOUGH, {}).plain()["linkage"]
    effect = document["latent"]["effect"]
    lower, upper = effect["interval"]
    assert 0 <= lower <= effect["divergence"] <= upper < 0.2
    assert [one["variables"] for one in effect["dependences"]] == document["latent"]["dependences"]
    assert set(effect) == {"made", "undone", "divergence", "interval", "dependences"}
    assert LinkageDocument.model_validate(document).plain() == document
