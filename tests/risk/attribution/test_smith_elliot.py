"""SE05: its worked example from the raw tables, naive against exact posteriors, and its experiment in kind."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.risk.attribution.laws import Barnardised, Exact, Random, Sampled
from gemel.risk.attribution.posterior import Posterior, naive_range, posterior
from gemel.risk.attribution.protections import RandomRounding, Sampling
from gemel.risk.attribution.protections.records import Protection
from gemel.risk.attribution.release import Published, Release, Table, Variable, publish
from gemel.risk.attribution.table_assessment import rank_correlation, ranked_matches, unique_matches
from research._thesis_tables import anonymous
from tests.risk.attribution.definition import exact_posterior
from tests.risk.attribution.small_releases import brute_force, releases

VARIABLES = tuple(Variable(f"Var{i}", ("Level1", "Level2")) for i in (1, 2, 3))
TRUTH = Table(VARIABLES, np.asarray([[[2, 1], [4, 1]], [[5, 2], [1, 2]]]))
FIRST = publish("sample 1", Table(VARIABLES[:2], np.asarray([[2, 1], [3, 0]])), Sampled(18, 6))
SECOND = publish("sample 2", Table(VARIABLES[1:], np.asarray([[3, 1], [1, 0]])), Sampled(18, 5))
ROUNDED = publish("rounded", TRUTH, Random(3), np.asarray([[[0, 3], [3, 3]], [[6, 3], [3, 3]]]))
PEOPLE = publish("people", TRUTH.over([]))
SAMPLES = Release(VARIABLES, (FIRST, SECOND), TRUTH)
EVERYTHING = Release(VARIABLES, (FIRST, SECOND, ROUNDED, PEOPLE), TRUTH)
CELL = {"Var2": 1}


def test_the_unique_match_is_found() -> None:
    assert unique_matches(SAMPLES, ["sample 1", "sample 2"]) == [CELL]
    match = ranked_matches(SAMPLES, ["sample 1", "sample 2"])[0]
    assert match.truth == 8


def test_posterior_as_printed() -> None:
    found = posterior(SAMPLES, CELL)
    assert found.counts.tolist() == list(range(1, 14)), "1 to N - n_max + 1"
    printed = [0.09, 0.19, 0.22, 0.19, 0.14, 0.09, 0.05, 0.02, 0.01, 0.00, 0.00, 0.00, 0.00]
    assert found.probabilities.round(2).tolist() == printed
    fine = [0.089, 0.192, 0.223, 0.194, 0.139, 0.085, 0.045, 0.020, 0.008, 0.002, 0.001, 0, 0]
    assert found.probabilities.round(3).tolist() == fine


def test_bounds_from_samples_and_rounded_table_together() -> None:
    for release, counts in ((EVERYTHING, range(4, 12)), (Release(VARIABLES, (ROUNDED, PEOPLE)), range(4, 13))):
        assert exact_posterior(release, CELL).counts.tolist() == list(counts)
    assert naive_range(EVERYTHING, CELL) == (4, 13)


def test_posterior_within_the_tight_bounds() -> None:
    found = posterior(EVERYTHING, CELL, within=(4, 11))
    assert found.used == ("sample 1", "sample 2"), "the rounded table enters by its bounds"
    assert found.counts.tolist() == list(range(4, 12))
    assert found.probabilities.round(2).tolist() == [0.39, 0.28, 0.17, 0.09, 0.04, 0.02, 0.00, 0.00]
    assert found.correct_match == pytest.approx(0.2035, abs=5e-5)


def test_against_the_oracle(shared: Path) -> None:
    selected = json.loads((shared / "oracles" / "papers.json").read_text())["smith_elliot_2005"]
    wide, narrow = posterior(SAMPLES, CELL), posterior(EVERYTHING, CELL, within=(4, 11))
    assert np.allclose(wide.probabilities, selected["posterior_1_13"], rtol=1e-10)
    assert np.allclose(narrow.probabilities, selected["posterior_4_11"][3:11], rtol=1e-10)
    assert wide.correct_match == pytest.approx(selected["E_inv_F_1_13"])
    assert narrow.correct_match == pytest.approx(selected["E_inv_F_4_11"])
    assert 1 / narrow.mean == pytest.approx(selected["one_over_E_F_4_11"])


def test_the_posterior_is_above_the_exact_one() -> None:
    """The naive one against that over all feasible tables, as the docs print both."""
    naive, exact = posterior(EVERYTHING, CELL, within=(4, 11)), exact_posterior(EVERYTHING, CELL)
    assert (round(naive.correct_match, 3), round(exact.correct_match, 3)) == (0.204, 0.148)


@given(releases(shapes=((2, 2), (2, 3))), st.data())
def test_exact_posterior_against_its_definition(release: Release, data: st.DataObject) -> None:
    tables = brute_force(release)
    if tables is None:
        return
    query = {release.variables[0].name: data.draw(st.integers(0, release.variables[0].size - 1))}
    found = exact_posterior(release, query)
    weights = np.ones(len(tables))
    for table in release.tables:
        for index in np.ndindex(table.counts.shape):
            true = tables[:, release.block(table, index)].sum(axis=1)
            weights *= table.law.probability(table.counts[index], true)
    values = tables.reshape(-1, *release.shape)[:, query[release.variables[0].name]].sum(axis=1)
    for count, chance in zip(found.counts, found.probabilities, strict=True):
        assert chance == pytest.approx(weights[values == count].sum() / weights.sum())


def chances(found: Posterior) -> dict[int, float]:
    return dict(zip(found.counts.tolist(), found.probabilities.tolist(), strict=True))


@given(st.integers(0, 6), st.sampled_from([Random(3), Barnardised(0.4)]))
def test_one_protected_count_by_itself_is_exact(true: int, law: Random) -> None:
    """With nothing else published, naive Bayes with flat priors is the enumeration."""
    table = Table(anonymous((1,)), np.asarray([true]))
    shown = true // 3 * 3 if isinstance(law, Random) else true
    release = Release(table.variables, (publish("t", table, law, np.asarray([shown])),))
    naive, exact = posterior(release, {"V1": 0}), exact_posterior(release, {"V1": 0})
    by_count = chances(exact)
    for count, chance in chances(naive).items():
        assert chance == pytest.approx(by_count.get(count, 0.0))


def population(seed: int) -> Table:
    """People in areas, with sizes of areas and shares of traits very unequal, as in a census."""
    generator = np.random.default_rng(seed)
    sizes = {"area": 30, "age": 6, "sex": 2, "job": 5}
    variables = tuple(Variable(name, tuple(str(i) for i in range(n))) for name, n in sizes.items())
    area = generator.dirichlet(np.full(30, 0.7))
    joint = np.einsum(
        "a,ag,gs,agj->agsj",
        area,
        generator.dirichlet(np.full(6, 1.0), 30),
        generator.dirichlet(np.full(2, 5.0), 6),
        generator.dirichlet(np.full(5, 0.5), (30, 6)),
    )
    return Table(variables, generator.multinomial(4_000, joint.ravel()).reshape(joint.shape))


def experiment(seed: int) -> list[float]:
    """Rank correlations as tables are added: samples alone, tables that bound, the table of the overlap itself."""
    truth, generator = population(seed), np.random.default_rng(seed + 1_000)

    def protected(protection: Protection, *names: str) -> Published:
        return protection.protect(publish(" x ".join(names), truth.over(names)), generator).table

    samples = [protected(Sampling(size=400), "area", "age", own) for own in ("sex", "job")]
    bounding = [protected(RandomRounding(3), *names) for names in (("area",), ("area", "sex"), ("age", "job"))]
    direct = protected(RandomRounding(3), "area", "age")
    found = []
    for tables in (samples, samples + bounding, [*samples, *bounding, direct]):
        matches = ranked_matches(Release(truth.variables, tuple(tables), truth), [t.name for t in samples])
        try:
            found.append(rank_correlation(matches)["correlation"])
        except GemelError:
            found.append(0.0)  # all matches look alike
    return found


def test_the_experiment_in_kind() -> None:
    """SE05: added tables raise the rank correlation, those that enter the posterior the most.

    Four generated populations. Samples alone give the same for every unique match (each has one record in both).
    """
    runs = np.asarray([experiment(seed) for seed in range(4)])
    alone, bounded, direct = runs.mean(axis=0)
    assert alone == 0
    assert bounded > 0.1
    assert direct > bounded + 0.2
    assert (runs[:, 2] > 0.5).all()


def test_bad_questions() -> None:
    nothing = Release(VARIABLES, (Published("nothing", (), np.asarray(-1)),))
    for words, ask in (
        ("two or more samples", lambda: unique_matches(EVERYTHING, ["sample 1", "rounded"])),
        ("no upper bound", lambda: posterior(nothing, CELL)),
        ("no count in the range", lambda: posterior(EVERYTHING, CELL, within=(0, 0))),
        ("no such level", lambda: posterior(EVERYTHING, {"Var2": 7})),
    ):
        with pytest.raises(GemelError, match=words):
            ask()
    assert posterior(EVERYTHING, CELL, within=(8, 8)).correct_match == pytest.approx(1 / 8)
    assert Exact().exact
