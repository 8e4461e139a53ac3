"""Decoys and dummies through whole runs: links are as without them, and decoys show how many links are false."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from benchmarks import claimed
from benchmarks.claimed import BuiltFiles, built_files, built_plan, with_built_decoys
from benchmarks.modes import Linked, judged, people
from gemel.carole.engine import Linkage, LinkagePlan, conclude
from gemel.carole.engine.decision.decoys import count_linked, of_one, records_and_decoys
from gemel.carole.engine.decision.estimated import Decision, Estimated
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.linkage.local import check_pairs
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.resolution.padded import conclude_padded, without
from gemel.carole.engine.run.result import ScoredPairs
from gemel.carole.evaluation.quality_estimate import DecoyCount, QualityEstimate
from gemel.carole.fellegi_sunter.prior import LinkProbabilities
from gemel.common.errors import ErrorCode
from gemel.common.specification.model.blocking import Padding
from gemel.common.specification.model.schemes import QualitySpec
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import ENOUGH, Keyed, codes_of, links_of, of_rows, pairs_of
from tests.carole.engine.runs import run as linked
from tests.carole.refusals import refusal

DECOYS = 300
N, COMMON = 400, 200
PEOPLE = 600
PLAN = replace(built_plan(1), check_field=None)


def files(seed: int = 1, common: int = COMMON) -> BuiltFiles:
    return built_files(N, common, np.random.default_rng(seed), clustered=False)


def both(plain: BuiltFiles, plan: LinkagePlan) -> tuple[Linkage, Linkage]:
    """A run without decoys, and one with them."""
    decoyed = with_built_decoys(plain, DECOYS, np.random.default_rng(2))
    return linked(plain.a, plain.b, plan), linked(decoyed.a, decoyed.b, replace(plan, decoys=DECOYS))


def estimate_of(run: Linkage) -> QualityEstimate:
    (found,) = (estimate for estimate in run.quality if estimate.method == "decoys")
    return found


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"assignment": "greedy", "draws": 2},
        {"threshold": 0.2, "fields": tuple(replace(f, value_frequencies=f.name == "surname") for f in PLAN.fields)},
    ],
)
def test_the_run_is_as_without_decoys(change: dict) -> None:
    without, run = both(files(), replace(PLAN, **change))
    np.testing.assert_array_equal(without.links, run.links)
    for name in ("row_a", "row_b", "weight", "link_probability"):
        np.testing.assert_array_equal(getattr(without.pairs, name), getattr(run.pairs, name))
    np.testing.assert_array_equal(without.patterns.count, run.patterns.count)
    assert max(int(run.pairs.row_a.max()), int(run.pairs.row_b.max())) < N
    documents = [findings(made, PLAN, ENOUGH, {}).linkage.plain() for made in (without, run)]
    for document in documents:
        del document["quality"]
    assert documents[0] == documents[1]
    found = estimate_of(run)
    assert found.observations == 2 * DECOYS
    assert 0.9 < found.precision.lower <= found.precision.value <= found.precision.upper <= 1
    right = claimed.matches_of(files(), run.pairs.row_a[run.links], run.pairs.row_b[run.links])
    assert not found.precision.excludes(float(right.mean()))


def test_records_that_count_as_one_person_count_once() -> None:
    """Forty records of the first file are there twice."""
    plain = files(3)
    twice = BuiltFiles(of_rows(plain.a, np.r_[:N, :40]), plain.b, COMMON)
    without, run = both(twice, PLAN)
    assert run.copies[0] is not None
    np.testing.assert_array_equal(without.links, run.links)
    alone = estimate_of(both(plain, PLAN)[1]).precision
    assert abs(estimate_of(run).precision.value - alone.value) < 0.02


def test_where_all_people_are_in_both_files_it_is_reported_that_decoys_show_nothing() -> None:
    _, run = both(files(common=N), PLAN)
    assert not run.quality
    assert "decoys_show_nothing" in codes_of(run)


def test_a_decoy_beside_a_linkage_has_its_exact_probability() -> None:
    """Against an enumeration of all linkages of three by three records and a decoy."""
    rng = np.random.default_rng(4)
    odds = np.exp(rng.normal(0, 2, (4, 3)))

    def total(rows: range, taken: set[int]) -> float:
        """Sum over linkages of these rows of A with columns that are not taken."""
        edges = [(i, j) for i in rows for j in range(3) if j not in taken]
        found = 1.0
        for size in range(1, 4):
            for chosen in combinations(edges, size):
                if all(i != k and j != m for (i, j), (k, m) in combinations(chosen, 2)):
                    found += float(np.prod([odds[edge] for edge in chosen]))
        return found

    others, everyone = range(3), range(4)
    free = np.array([total(others, {j}) for j in range(3)]) / total(others, set())
    expected = [odds[3, j] * total(others, {j}) / total(everyone, set()) for j in range(3)]
    decoy = np.array([0, 0, 0, 7])
    log_odds = np.log(np.append(odds[3] * free, 0.5))
    np.testing.assert_allclose(of_one(decoy, log_odds), [*expected, 1 / 3])
    # Odds that overflow.
    np.testing.assert_allclose(of_one(decoy, np.array([800.0, 799.0, -900.0, 900.0]))[[2, 3]], [0.0, 1.0])
    assert of_one(decoy[:0], log_odds[:0]).shape == (0,)


def test_a_decoy_as_like_as_a_certain_link_is_not_linked_and_a_better_one_is() -> None:
    """Three records of either file are equal but for two errors; odds of 2^60 leave no difference of 1 and P."""
    weight = np.array([60.0, 60.0, 60.0])
    row = np.arange(3, dtype=np.int32)
    pairs = ScoredPairs(row, row, row, weight, np.ones(3), np.ones(3))
    decision = Decision(pairs, np.arange(3), np.arange(3), 0.5)
    posterior = LinkProbabilities(np.ones(3), 3.0, -5.0, True, ())
    fit = cast(Estimated, SimpleNamespace(decision=decision, posterior=posterior, links=SimpleNamespace(recall=1.0)))
    found = cast(Candidates, SimpleNamespace(n_a=9, n_b=3, counted=lambda plan: (None, None)))
    decoy = np.arange(3, dtype=np.int32)
    of_a = decoy, row, np.array([59.9, 60.0, 60.5])
    none = decoy[:0], row[:0], np.empty(0)
    counts = count_linked((of_a, none), found, KeptPairs(row, row, row), fit, replace(PLAN, decoys=DECOYS))
    assert counts == (DecoyCount(DECOYS, 1, 0, 9, 3), DecoyCount(DECOYS, 0, 0, 3, 3))


def block_keyed(padding: Padding | None, decoys: int) -> Linkage:
    """As the resolver decides; the handle of a record is its row."""
    spec, given = people(PEOPLE, 0.2, 3)
    described = {"given_name": "name", "sex": "trait", "date_of_birth": "birth"}
    fields = tuple(f.model_copy(update={"describes": described.get(f.name, "household")}) for f in spec.fields)
    quality = QualitySpec(decoys=decoys) if decoys else None
    keyed = Keyed(spec.model_copy(update={"padding": padding, "quality": quality, "fields": fields}), given)
    linkage, whole, _ = conclude_padded(
        keyed.found, *keyed.records, (PEOPLE, PEOPLE), keyed.plan, quiet, (decoys, decoys)
    )
    assert max(map(max, links_of(whole))) < PEOPLE
    return linkage


def test_a_resolver_counts_them_and_links_none() -> None:
    without, run, padded = block_keyed(None, 0), block_keyed(None, DECOYS), block_keyed(4, DECOYS)
    sets = [links_of(made) for made in (without, run, padded)]
    assert all(len(first ^ second) <= 6 for first, second in pairwise(sets))
    assert len(sets[0]) > PEOPLE / 3
    assert run.records == without.records == (PEOPLE, PEOPLE)
    for made in (run, padded):
        assert not estimate_of(made).precision.excludes(float(np.mean(made.pairs.link_probability[made.links])))
    assert ["pairs_with_dummies" in codes_of(made) for made in (without, run, padded)] == [False, False, True]


def test_a_contribution_of_decoys_alone_is_refused() -> None:
    part = files().a
    with refusal(ErrorCode.EMPTY_SOURCE, "no records beside its decoys"):
        records_and_decoys(part, N)
    records, decoys = records_and_decoys(part, N - 1)
    assert (records.n_rows, decoys.n_rows) == (1, N - 1)


ROWS = 800


def compared(padding: Padding | None) -> tuple[Keyed, dict]:
    spec, files = people(ROWS, 0.2, 3)
    # Blocks of a beginning of the surname: so large that some dummies are taken for near pairs.
    names = next(rule for rule in spec.blocking if rule.name == "names")
    wide = names.model_copy(update={"keys": tuple(key.model_copy(update={"prefix": 3}) for key in names.keys[:1])})
    rules = tuple(wide if rule is names else rule for rule in spec.blocking)
    return Keyed(spec.model_copy(update={"padding": padding, "blocking": rules}), files), files


@pytest.fixture(scope="module")
def padded() -> Keyed:
    return compared("powers_of_two")[0]


@pytest.fixture(scope="module")
def plain() -> tuple[Keyed, dict]:
    return compared(None)


def test_links_are_as_without_padding(padded: Keyed, plain: tuple[Keyed, dict]) -> None:
    before, _ = conclude(plain[0].found, *plain[0].records, plain[0].plan, quiet)
    assert max(int(row.max()) for row in padded.records) >= ROWS
    plan = replace(padded.plan, draws=2)
    linkage, whole, _ = conclude_padded(padded.found, *padded.records, (ROWS, ROWS), plan, quiet)
    assert links_of(whole) == links_of(linkage)
    for draw in range(2):
        drawn = [pairs_of(part.pairs, part.draws.pair[part.draws.draw == draw]) for part in (linkage, whole)]
        assert drawn[0] == drawn[1]
    assert max(map(max, links_of(linkage))) < ROWS
    assert len(links_of(linkage) ^ links_of(before)) <= 8
    assert len(links_of(before)) > 0.45 * ROWS


def test_every_pair_is_reported_alike_to_carole(padded: Keyed) -> None:
    found, rows = padded.found, padded.records
    linkage, whole, order = conclude_padded(found, *rows, (ROWS, ROWS), padded.plan, quiet)
    assert order.tolist() == list(range(len(rows[0])))
    real = (rows[0] < ROWS) & (rows[1] < ROWS)
    assert np.count_nonzero(~real) > 0
    # Weight and match probability are the pattern's, whoever the records are.
    for name in ("weight", "match_probability"):
        value = np.full(len(found.patterns.count), np.nan)
        value[found.pattern] = getattr(whole.pairs, name)
        assert (value[found.pattern] == getattr(whole.pairs, name)).all()
    link = whole.pairs.link_probability
    assert ((link >= 0) & (link <= 1)).all()
    assert np.unique(link[~real]).size > 1
    # Records' pairs have the numbers that the documents are made of.
    assert np.sort(link[real]) == pytest.approx(np.sort(linkage.pairs.link_probability))
    assert "pairs_with_dummies" in codes_of(linkage)


def test_pairs_of_dummies_are_removed_from_the_counts(padded: Keyed) -> None:
    found, rows = padded.found, padded.records
    real = (rows[0] < ROWS) & (rows[1] < ROWS)
    left = without(found, real)
    assert left.patterns.n_pairs == found.patterns.n_pairs - int(np.count_nonzero(~real))
    assert (left.patterns.count > 0).all()
    assert (left.patterns.gamma[left.pattern] == found.patterns.gamma[found.pattern[real]]).all()
    assert (left.patterns.mask[left.pattern] == found.patterns.mask[found.pattern[real]]).all()
    # What is left of a pattern all of whose pairs were kept are the kept pairs of records.
    assert (
        (np.bincount(left.pattern, minlength=len(left.patterns.count))[left.selected]).tolist()
        == left.patterns.count[left.selected].tolist()
    )


def test_without_dummies_nothing_changes(plain: tuple[Keyed, dict]) -> None:
    keyed, files = plain
    expected, order = conclude(keyed.found, *keyed.records, keyed.plan, quiet)
    linkage, whole, places = conclude_padded(keyed.found, *keyed.records, (ROWS, ROWS), keyed.plan, quiet)
    assert whole is linkage
    assert (places == order).all()
    assert links_of(linkage) == links_of(expected)
    linked = Linked(linkage, np.array(sorted(links_of(linkage))), 0.0)
    assert judged(linked, files, "person")[0] > 0.95


def test_more_pairs_than_the_records_have_are_refused() -> None:
    check_pairs(100, 10, 10)
    with refusal(ErrorCode.PARAMETER, "pad less, block more finely"):
        check_pairs(101, 10, 10)
