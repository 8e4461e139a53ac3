"""Estimates of the links' quality: through whole runs, right and wrong models, and the bootstrap's own draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import claimed
from benchmarks.claimed import CHECK, built_files, built_plan
from gemel.carole.engine import Candidates, conclude
from gemel.carole.engine.decision.quality import Decided, Fitted, drawn_matches, quality_warnings, replicates
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.inputs.files import WholeFiles
from gemel.carole.engine.pairs.check_agreement import CheckAgreement
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.resolution.padded import without
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest, pack_request, unpack_request
from gemel.carole.evaluation.quality_estimate import Claim, Claims, Interval, QualityEstimate
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.common.errors import ErrorCode
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import DIGESTS, ENOUGH, codes_of, compared, constant, run
from tests.carole.refusals import refusal

FILES = built_files(500, 250, np.random.default_rng(1), clustered=True)
SMALL = built_files(160, 80, np.random.default_rng(2), clustered=False)
PLAN = built_plan(1, 0)


@pytest.fixture(scope="module")
def halfway() -> tuple[Candidates, KeptPairs]:
    return compared(WholeFiles(FILES.a, FILES.b), PLAN)[:2]


def test_the_check_field_is_no_evidence_and_changes_no_link() -> None:
    checked, unchecked = (run(FILES.a, FILES.b, plan) for plan in (PLAN, replace(PLAN, check_field=None)))
    assert [field.name for field in checked.model.fields] == [field.name for field in PLAN.fields]
    np.testing.assert_array_equal(checked.links, unchecked.links)
    np.testing.assert_array_equal(checked.pairs.link_probability, unchecked.pairs.link_probability)
    assert not unchecked.quality
    (estimate,) = checked.quality
    assert (estimate.method, estimate.recall) == ("check_field", None)
    assert 0.8 < estimate.precision.lower <= estimate.precision.value <= estimate.precision.upper <= 1
    assert any(CHECK in words for words in estimate.supposes)


def test_agreement_is_that_of_the_values(halfway: tuple[Candidates, KeptPairs]) -> None:
    found, kept = halfway
    a, b = FILES.a.fields[CHECK], FILES.b.fields[CHECK]
    value_a, value_b = a.signatures[a.codes], b.signatures[b.codes]
    same = (value_a[kept.row_a] == value_b[kept.row_b]).all(axis=1)
    np.testing.assert_array_equal(found.checked.agrees, same.astype(np.int8))
    everyone = (value_a[:, None] == value_b[None]).all(axis=2).mean()
    assert found.checked.strangers == pytest.approx(everyone)


def test_kin_that_the_model_takes_for_matches_are_found_and_warned_of() -> None:
    found = claimed.kin(5, 0)
    assert found.claimed.precision.value > 0.95 > 0.85 > found.true.precision
    checked, decoys = (found.found[method, "precision"] for method in ("check_field", "decoys"))
    assert checked.lower < found.true.precision < checked.upper < found.claimed.precision.lower
    assert decoys.upper < found.claimed.precision.lower


@pytest.mark.parametrize("assignment", ["one_to_one", "greedy", "many_to_one", "one_to_many", "none"])
def test_estimates_under_each_assignment(assignment: str) -> None:
    plan = replace(PLAN, assignment=assignment, replicates=39)
    linkage = run(SMALL.a, SMALL.b, plan)
    assert {"bootstrap", "check_field"} >= {estimate.method for estimate in linkage.quality} >= {"bootstrap"}
    document = findings(linkage, PLAN, ENOUGH, {}).linkage
    assert [estimate.method for estimate in document.quality] == [estimate.method for estimate in linkage.quality]
    claims, apart = linkage.claims, 0
    for estimate in document.quality:
        assert estimate.precision.lower <= estimate.precision.value <= estimate.precision.upper
        for interval, claim in ((estimate.precision, claims.precision), (estimate.recall, claims.recall)):
            apart += interval is not None and (interval.upper < claim.lower or claim.upper < interval.lower)
    assert sum(warning.code == "claim_outside_interval" for warning in linkage.warnings) == apart


def test_an_estimate_contradicts_the_claim_where_the_intervals_do_not_meet() -> None:
    number = Interval(100.0, 90.0, 110.0)
    claims = Claims(Interval(0.95, 0.9, 0.97), Interval(0.9, 0.8, 0.95), number, number, number, None)
    plan = replace(PLAN, check_field=None)

    def warned(precision: Interval, recall: Interval | None = None) -> list[str]:
        estimate = QualityEstimate("bootstrap", precision, recall, 39, ())
        return [warning.text for warning in quality_warnings(claims, (estimate,), plan)]

    assert warned(Interval(0.85, 0.8, 0.91)) == []  # it excludes the figure itself
    (text,) = warned(Interval(0.85, 0.8, 0.89))
    assert text.startswith("By the model the links have a precision of 90.00% to 97.00%, but by the bootstrap one of ")
    assert len(warned(Interval(0.99, 0.98, 0.99999), Interval(0.5, 0.4, 0.6))) == 2
    assert "98.00% to 99.99%." in warned(Interval(0.99, 0.98, 0.99999))[0]
    of_all = Interval(0.8, 0.7, 0.9).of_whole(Interval(0.5, 0.4, 0.6))
    assert (of_all.value, of_all.lower, of_all.upper) == pytest.approx((0.4, 0.28, 0.54))
    assert Interval(0.8, 0.7, 0.9).of_whole(None) == Interval(0.8, 0.7, 0.9)


def test_the_same_seed_gives_the_same_estimates() -> None:
    plan = replace(PLAN, replicates=39)
    first, again, other = (run(SMALL.a, SMALL.b, replace(plan, seed=k)).quality for k in (1, 1, 2))
    assert first == again != other


def test_a_field_that_shows_nothing_is_named() -> None:
    """Everyone has the same value."""
    linkage = run(constant(FILES.a, CHECK), constant(FILES.b, CHECK), PLAN)
    assert not linkage.quality
    (warning,) = (warning for warning in linkage.warnings if warning.code == "check_field_shows_nothing")
    assert CHECK in warning.text


def test_without_a_link_there_is_no_estimate() -> None:
    apart = built_files(200, 0, np.random.default_rng(3), clustered=False)
    linkage = run(apart.a, apart.b, replace(PLAN, replicates=39, threshold=0.999999))
    assert len(linkage.links) == 0
    assert not linkage.quality
    assert "claim_outside_interval" not in codes_of(linkage)


def test_a_resolver_gets_the_agreement_with_the_pairs_and_estimates_as_carole_would(
    halfway: tuple[Candidates, KeptPairs],
) -> None:
    found, kept = halfway
    order = np.random.default_rng(1).permutation(len(kept.pattern))
    packed = pack_request(ResolutionRequest(found, DIGESTS, 1), order)
    got = unpack_request(packed, PLAN).found
    here, _ = conclude(found, kept.row_a, kept.row_b, PLAN, quiet)
    there, _ = conclude(got, kept.row_a[order], kept.row_b[order], PLAN, quiet)
    assert there.quality == here.quality != ()
    with refusal(ErrorCode.UPLOAD_CORRUPT, "check field"):
        unpack_request(packed, replace(PLAN, check_field=None))
    strange = replace(found, checked=CheckAgreement(np.full(len(kept.pattern), 3, dtype=np.int8), 0.5))
    with refusal(ErrorCode.UPLOAD_CORRUPT, "neither yes, no nor missing"):
        unpack_request(pack_request(ResolutionRequest(strange, DIGESTS, 1), order), PLAN)
    real = np.arange(len(order)) % 3 > 0
    np.testing.assert_array_equal(without(got, real).checked.agrees, got.checked.agrees[real])


def test_a_contribution_without_the_check_field_is_refused() -> None:
    lacking = replace(FILES.b, fields={name: field for name, field in FILES.b.fields.items() if name != CHECK})
    with refusal(ErrorCode.ENCODING_MISMATCH, "field sex"):
        run(FILES.a, lacking, PLAN)


DRAWS = 4000


def pairs(*rows: tuple[int, int], pattern: int = 0) -> KeptPairs:
    a, b = np.array(rows, dtype=np.int32).T
    return KeptPairs(a, b, np.full(len(rows), pattern, dtype=np.int32))


@pytest.mark.parametrize("once", [(True, True), (True, False), (False, True), (False, False)])
def test_matches_are_drawn_as_often_as_they_are_probable_and_no_record_twice(once: tuple[bool, bool]) -> None:
    kept = pairs((0, 0), (0, 1), (1, 1), (2, 2), (3, 2))
    probability = np.array([0.6, 0.3, 0.2, 0.5, 0.1])
    rng = np.random.default_rng(11)
    drawn = np.array([drawn_matches(kept.row_a, kept.row_b, probability, once, rng) for _ in range(DRAWS)])
    for rows, at_most_once in zip((kept.row_a, kept.row_b), once, strict=True):
        most = max(drawn[:, rows == row].sum(axis=1).max() for row in np.unique(rows))
        assert (most == 1) == at_most_once
    # Where both sides are held to one match, a pair loses when its record of B is drawn twice: half of those times.
    lost = np.zeros(5)
    if all(once):
        lost = np.array([0, 0.3 * 0.2, 0.3 * 0.2, 0.5 * 0.1, 0.5 * 0.1]) / 2
    error = np.sqrt(probability / DRAWS)
    assert (np.abs(drawn.mean(axis=0) - (probability - lost)) < 4 * error).all()


def test_an_honest_claim_is_found_honest_and_a_boast_a_boast() -> None:
    """Two hundred pairs of one likely and one unlikely vector; the decision links the likely ones."""
    n = 200
    kept = KeptPairs(
        np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32), np.repeat([0, 1], n // 2).astype(np.int32)
    )
    probability = np.repeat([0.9, 0.2], n // 2)
    patterns = PatternCounts(
        np.array([[1], [0], [-1]], dtype=np.int8), np.zeros(3, dtype=np.uint32), np.array([n // 2, n // 2, 10_000])
    )
    fitted = Fitted(patterns, kept, (kept.row_a, kept.row_b), probability, np.array([0.0, 0.0, 10.0]), (True, True))
    seen = []

    def decide(counts: PatternCounts, drawn: KeptPairs, stays: np.ndarray) -> Decided:
        seen.append(counts)
        assert len(drawn.pattern) == stays.sum()
        assert counts.n_pairs == patterns.n_pairs
        assert np.bincount(drawn.pattern, minlength=3).tolist()[:2] == counts.count[:2].tolist()
        return np.flatnonzero(drawn.pattern == 0), Claim(0.9, 90 / 120)

    claimed, true = replicates(fitted, decide, 60, np.random.default_rng(2), lambda _: None)
    assert len(seen) == 60
    # Of 110 matches that are drawn, 90 in 120 have the likely vector; of the others 10 in 90.
    assert true[:, 0].mean() == pytest.approx(82.5 / 92.5, abs=0.02)
    assert true[:, 1].mean() == pytest.approx(90 / 120, abs=0.02)
    assert (claimed == (0.9, 90 / 120)).all()
    assert any(counts.count[2] > 10_000 for counts in seen)  # matches too dissimilar to be kept
