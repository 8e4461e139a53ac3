"""Estimates of the links' quality: through whole runs, right and wrong models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import claimed
from benchmarks.claimed import CHECK, built_files, built_plan
from gemel.carole.engine import Candidates, conclude
from gemel.carole.engine.decision.quality import quality_warnings
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.inputs.files import WholeFiles
from gemel.carole.engine.pairs.check_agreement import CheckAgreement
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.resolution.padded import without
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest, pack_request, unpack_request
from gemel.carole.evaluation.quality_estimate import Claims, Interval, QualityEstimate
from gemel.common.errors import ErrorCode
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import DIGESTS, ENOUGH, codes_of, compared, constant, run
from tests.carole.refusals import refusal

FILES = built_files(500, 250, np.random.default_rng(1), clustered=True)
PLAN = built_plan(1)


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
    assert estimate.method == "check_field"
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
    found = claimed.kin(5)
    assert found.claimed.value > 0.95 > 0.85 > found.true
    checked, decoys = (found.found[method] for method in ("check_field", "decoys"))
    assert checked.lower < found.true < checked.upper < found.claimed.lower
    assert decoys.upper < found.claimed.lower


@pytest.mark.parametrize("assignment", ["one_to_one", "greedy", "many_to_one", "one_to_many", "none"])
def test_estimates_under_each_assignment(assignment: str) -> None:
    linkage = run(FILES.a, FILES.b, replace(PLAN, assignment=assignment))
    (estimate,) = findings(linkage, PLAN, ENOUGH, {}).linkage.quality
    assert estimate.method == "check_field"
    interval, claim = estimate.precision, linkage.claims.precision
    assert interval.lower <= interval.value <= interval.upper
    apart = interval.upper < claim.lower or claim.upper < interval.lower
    assert ("claim_outside_interval" in codes_of(linkage)) == apart


def test_an_estimate_contradicts_the_claim_where_the_intervals_do_not_meet() -> None:
    number = Interval(100.0, 90.0, 110.0)
    claims = Claims(Interval(0.95, 0.9, 0.97), Interval(0.9, 0.8, 0.95), number, number, number, None)
    plan = replace(PLAN, check_field=None)

    def warned(precision: Interval) -> list[str]:
        estimate = QualityEstimate("decoys", precision, 2000, ())
        return [warning.text for warning in quality_warnings(claims, (estimate,), plan)]

    assert warned(Interval(0.85, 0.8, 0.91)) == []  # it excludes the figure itself
    (text,) = warned(Interval(0.85, 0.8, 0.89))
    assert text.startswith("By the model the links have a precision of 90.00% to 97.00%, but by decoys one of ")
    assert "98.00% to 99.99%." in warned(Interval(0.99, 0.98, 0.99999))[0]


def test_the_same_seed_gives_the_same_estimates() -> None:
    first, again, other = (run(FILES.a, FILES.b, replace(PLAN, seed=k)).quality for k in (1, 1, 2))
    assert first == again != other


def test_a_field_that_shows_nothing_is_named() -> None:
    """Everyone has the same value."""
    linkage = run(constant(FILES.a, CHECK), constant(FILES.b, CHECK), PLAN)
    assert not linkage.quality
    (warning,) = (warning for warning in linkage.warnings if warning.code == "check_field_shows_nothing")
    assert CHECK in warning.text


def test_without_a_link_there_is_no_estimate() -> None:
    apart = built_files(200, 0, np.random.default_rng(3), clustered=False)
    linkage = run(apart.a, apart.b, replace(PLAN, threshold=0.999999))
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
