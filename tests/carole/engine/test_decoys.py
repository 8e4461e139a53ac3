"""Decoys through whole runs: they change no link, are in no result, and show how many links are false."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from benchmarks import claimed
from benchmarks.claimed import BuiltFiles, built_files, built_plan, with_built_decoys
from benchmarks.modes import people
from gemel.carole.engine import Linkage, LinkagePlan, Resources, compare, link
from gemel.carole.engine.decision.decoys import DecoyPairs, count_linked, of_one, records_and_decoys
from gemel.carole.engine.decision.estimated import Decision, Estimated
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.inputs.files import contribution_of
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.resolution.padded import conclude_padded
from gemel.carole.engine.run.plan import LatentPlan
from gemel.carole.engine.run.result import ScoredPairs
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.evaluation.quality_estimate import DecoyCount, QualityEstimate
from gemel.carole.fellegi_sunter.prior import LinkProbabilities
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.noise import NoiseKey
from gemel.common.parties import Side
from gemel.common.specification.model.blocking import Padding
from gemel.common.specification.model.schemes import QualitySpec
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.decoys import with_decoys
from gemel.custodian.encoding.records import Encoded, encode_records
from tests.carole.engine.progress import quiet
from tests.carole.engine.test_block_keyed import SEED

ENOUGH = Resources(1 << 30, 1)
DECOYS = 300
N, COMMON = 400, 200
PEOPLE = 600
PLAN = replace(built_plan(1, 0), check_field=None)


def files(seed: int = 1, common: int = COMMON) -> BuiltFiles:
    return built_files(N, common, np.random.default_rng(seed), clustered=False)


def both(plain: BuiltFiles, plan: LinkagePlan) -> tuple[Linkage, Linkage]:
    """A run without decoys, and one with them."""
    decoyed = with_built_decoys(plain, DECOYS, np.random.default_rng(2))
    without = link(plain.a, plain.b, plan, ENOUGH, quiet)
    return without, link(decoyed.a, decoyed.b, replace(plan, decoys=DECOYS), ENOUGH, quiet)


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
    rows = np.concatenate([np.arange(N), np.arange(40)])
    fields = {name: replace(field, codes=field.codes[rows]) for name, field in plain.a.fields.items()}
    twice = BuiltFiles(replace(plain.a, n_rows=N + 40, fields=fields), plain.b, COMMON)
    without, run = both(twice, PLAN)
    assert run.copies[0] is not None
    np.testing.assert_array_equal(without.links, run.links)
    alone = estimate_of(both(plain, PLAN)[1]).precision
    assert abs(estimate_of(run).precision.value - alone.value) < 0.02


def test_where_all_people_are_in_both_files_it_is_reported_that_decoys_show_nothing() -> None:
    _, run = both(files(common=N), PLAN)
    assert not run.quality
    assert "decoys_show_nothing" in {warning.code for warning in run.warnings}


def test_a_wrong_model_is_found_and_warned_of() -> None:
    """Kin of the people in one file are in the other, and the model takes fields to be independent."""
    found = claimed.kin(5, 0)
    interval = found.found["decoys", "precision"]
    assert found.claimed.precision > 0.95 > 0.85 > found.true.precision
    assert interval.upper < found.claimed.precision


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
    posterior = LinkProbabilities(np.ones(3), 3.0, -5.0, True, 1, ())
    fit = cast(Estimated, SimpleNamespace(decision=decision, posterior=posterior, links=SimpleNamespace(recall=1.0)))
    found = cast(Candidates, SimpleNamespace(n_a=9, n_b=3, counted=lambda plan: (None, None)))
    decoy = np.arange(3, dtype=np.int32)
    of_a = DecoyPairs(decoy, row, np.array([59.9, 60.0, 60.5]))
    none = DecoyPairs(decoy[:0], row[:0], np.empty(0))
    counts = count_linked((of_a, none), found, KeptPairs(row, row, row), fit, replace(PLAN, decoys=DECOYS))
    assert counts == (DecoyCount(DECOYS, 1, 0, 9, 3), DecoyCount(DECOYS, 0, 0, 3, 3))


def block_keyed(padding: Padding | None, decoys: int | None) -> Linkage:
    """As the resolver decides; the handle of a record is its row."""
    spec, given = people(PEOPLE, 0.2, 3)
    quality = None if decoys is None else QualitySpec(decoys=decoys)
    fields = tuple(
        field.model_copy(update={"personal": field.name in ("given_name", "sex", "date_of_birth")})
        for field in spec.fields
    )
    spec = spec.model_copy(update={"mode": "block_keyed", "padding": padding, "quality": quality, "fields": fields})
    made: list[Encoded] = []
    for side in Side:
        columns = clean(given[side], spec, side).columns
        noise = NoiseKey(bytes([7 + len(made)] * 32))
        if decoys:
            columns = with_decoys(columns, spec, noise)
        made.append(encode_records(columns, spec, SEED, 1, noise=noise, decoys=decoys or 0))
    plan = plan_of(spec)
    parts = [contribution_of(encoded.sets, encoded.records) for encoded in made]
    found, kept = compare(parts[0], parts[1], plan, ENOUGH, quiet)
    a, b = (e.order[r].astype(np.int32) for e, r in zip(made, (kept.row_a, kept.row_b), strict=True))
    n = decoys or 0
    linkage, whole, _ = conclude_padded(found, a, b, (PEOPLE, PEOPLE), plan, quiet, (n, n))
    at = whole.links
    assert (whole.pairs.row_a[at] < PEOPLE).all()
    assert (whole.pairs.row_b[at] < PEOPLE).all()
    return linkage


def test_a_resolver_counts_them_and_links_none() -> None:
    without, run, padded = block_keyed(None, None), block_keyed(None, DECOYS), block_keyed(4, DECOYS)
    sets = [
        set(zip(made.pairs.row_a[made.links].tolist(), made.pairs.row_b[made.links].tolist(), strict=True))
        for made in (without, run, padded)
    ]
    assert all(len(first ^ second) <= 6 for first, second in pairwise(sets))
    assert len(sets[0]) > PEOPLE / 3
    assert run.records == without.records == (PEOPLE, PEOPLE)
    for made in (run, padded):
        assert not estimate_of(made).precision.excludes(float(np.mean(made.pairs.link_probability[made.links])))
    codes = [{warning.code for warning in made.warnings} for made in (without, run, padded)]
    assert ["pairs_with_dummies" in found for found in codes] == [False, False, True]


def test_what_decoys_cannot_be_combined_with_is_refused() -> None:
    for change in ({"assignment": "many_to_one"}, {"assignment": "none"}, {"latent": LatentPlan(keys=("town",))}):
        with pytest.raises(GemelError) as refused:
            replace(PLAN, decoys=DECOYS, **change)
        assert refused.value.code is ErrorCode.PARAMETER


def test_a_contribution_of_decoys_alone_is_refused() -> None:
    part = files().a
    with pytest.raises(GemelError, match="no records beside its decoys") as refused:
        records_and_decoys(part, N)
    assert refused.value.code is ErrorCode.EMPTY_SOURCE
    records, decoys = records_and_decoys(part, N - 1)
    assert (records.n_rows, decoys.n_rows) == (1, N - 1)
