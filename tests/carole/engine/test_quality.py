"""Estimates of the links' quality through whole runs: right and wrong models, every mode and assignment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import claimed
from benchmarks.claimed import BITS, CHECK, built_files, built_plan
from gemel.carole.engine import Linkage, LinkagePlan, Resources, conclude, link
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.inputs.files import WholeFiles
from gemel.carole.engine.linkage.local import Run
from gemel.carole.engine.pairs.check_agreement import CheckAgreement
from gemel.carole.engine.resolution.padded import without
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest, pack_request, unpack_request
from gemel.carole.engine.run.plan import LatentPlan
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.signatures.signature_sets import FieldSignatures
from tests.carole.engine.progress import quiet

ENOUGH = Resources(1 << 30, 1)
FILES = built_files(500, 250, np.random.default_rng(1), clustered=True)
SMALL = built_files(160, 80, np.random.default_rng(2), clustered=False)
PLAN = built_plan(1, 0)


def linked(plan: LinkagePlan) -> Linkage:
    return link(FILES.a, FILES.b, plan, ENOUGH, quiet)


def test_the_check_field_is_no_evidence_and_changes_no_link() -> None:
    checked, unchecked = linked(PLAN), linked(replace(PLAN, check_field=None))
    assert [field.name for field in checked.model.fields] == [field.name for field in PLAN.fields]
    np.testing.assert_array_equal(checked.links, unchecked.links)
    np.testing.assert_array_equal(checked.pairs.link_probability, unchecked.pairs.link_probability)
    assert not unchecked.quality
    (estimate,) = checked.quality
    assert (estimate.method, estimate.recall) == ("check_field", None)
    assert 0.8 < estimate.precision.lower <= estimate.precision.value <= estimate.precision.upper <= 1
    assert any(CHECK in words for words in estimate.supposes)


def test_agreement_is_that_of_the_values() -> None:
    run = Run(WholeFiles(FILES.a, FILES.b), PLAN, ENOUGH, quiet)
    with ThreadPoolExecutor(1) as pool:
        found, kept, _ = run.compared(pool)
    a, b = FILES.a.fields[CHECK], FILES.b.fields[CHECK]
    value_a, value_b = a.signatures[a.codes], b.signatures[b.codes]
    assert found.checked is not None
    same = (value_a[kept.row_a] == value_b[kept.row_b]).all(axis=1)
    np.testing.assert_array_equal(found.checked.agrees, same.astype(np.int8))
    everyone = (value_a[:, None] == value_b[None]).all(axis=2).mean()
    assert found.checked.strangers == pytest.approx(everyone)


def test_kin_that_the_model_takes_for_matches_are_found_and_warned_of() -> None:
    found = claimed.kin(5, 0)
    assert found.claimed.precision > 0.95 > 0.85 > found.true.precision
    interval = found.found["check_field", "precision"]
    assert interval.lower < found.true.precision < interval.upper < found.claimed.precision


@pytest.mark.parametrize("assignment", ["one_to_one", "greedy", "many_to_one", "one_to_many", "none"])
def test_estimates_under_each_assignment(assignment: str) -> None:
    plan = replace(PLAN, assignment=assignment, replicates=39)
    run = link(SMALL.a, SMALL.b, plan, ENOUGH, quiet)
    assert {"bootstrap", "check_field"} >= {estimate.method for estimate in run.quality} >= {"bootstrap"}
    for estimate in run.quality:
        assert estimate.precision.lower <= estimate.precision.value <= estimate.precision.upper
    document = findings(run, PLAN, ENOUGH, {}).linkage
    assert [estimate.method for estimate in document.quality] == [estimate.method for estimate in run.quality]
    excluded = [
        estimate.method
        for estimate in document.quality
        for interval, claim in (
            (estimate.precision, document.expected.precision),
            (estimate.recall, document.expected.recall),
        )
        if interval is not None and not interval.lower <= claim <= interval.upper
    ]
    warned = [warning for warning in run.warnings if warning.code == "claim_outside_interval"]
    assert len(warned) == len(excluded)


def test_the_same_seed_gives_the_same_estimates() -> None:
    plan = replace(PLAN, replicates=39)
    first, again, other = (link(SMALL.a, SMALL.b, replace(plan, seed=k), ENOUGH, quiet).quality for k in (1, 1, 2))
    assert first == again != other


def test_a_field_that_shows_nothing_is_named() -> None:
    """Everyone has the same value."""
    sign = FILES.a.fields[CHECK].signatures[:1]
    constant = [
        replace(part, fields={**part.fields, CHECK: FieldSignatures(BITS, sign, np.zeros(part.n_rows, dtype=np.int32))})
        for part in (FILES.a, FILES.b)
    ]
    run = link(constant[0], constant[1], PLAN, ENOUGH, quiet)
    assert not run.quality
    (warning,) = (warning for warning in run.warnings if warning.code == "check_field_shows_nothing")
    assert CHECK in warning.text


def test_without_a_link_there_is_no_estimate() -> None:
    apart = built_files(200, 0, np.random.default_rng(3), clustered=False)
    run = link(apart.a, apart.b, replace(PLAN, replicates=39, threshold=0.999999), ENOUGH, quiet)
    assert len(run.links) == 0
    assert not run.quality
    assert not any(warning.code == "claim_outside_interval" for warning in run.warnings)


def test_a_resolver_gets_the_agreement_with_the_pairs_and_estimates_as_carole_would() -> None:
    run = Run(WholeFiles(FILES.a, FILES.b), PLAN, ENOUGH, quiet)
    with ThreadPoolExecutor(1) as pool:
        found, kept, _ = run.compared(pool)
    order = np.random.default_rng(1).permutation(len(kept.pattern))
    packed = pack_request(ResolutionRequest(found, (b"\1" * 32, b"\2" * 32), 1), order)
    got = unpack_request(packed, PLAN).found
    here, _ = conclude(found, kept.row_a, kept.row_b, PLAN, quiet)
    there, _ = conclude(got, kept.row_a[order], kept.row_b[order], PLAN, quiet)
    assert there.quality == here.quality != ()
    with pytest.raises(GemelError, match="check field") as refused:
        unpack_request(packed, replace(PLAN, check_field=None))
    assert refused.value.code is ErrorCode.UPLOAD_CORRUPT
    assert got.checked is not None
    strange = replace(found, checked=CheckAgreement(np.full(len(kept.pattern), 3, dtype=np.int8), 0.5))
    with pytest.raises(GemelError, match="neither yes, no nor missing"):
        unpack_request(pack_request(ResolutionRequest(strange, (b"\1" * 32, b"\2" * 32), 1), order), PLAN)
    real = np.arange(len(order)) % 3 > 0
    left = without(got, real)
    assert left.checked is not None
    np.testing.assert_array_equal(left.checked.agrees, got.checked.agrees[real])


def test_a_check_field_that_is_used_elsewhere_or_a_latent_step_is_refused() -> None:
    for change in (
        {"check_field": PLAN.fields[0]},
        {"latent": LatentPlan(keys=("town",))},
        {"check_field": None, "replicates": 39, "latent": LatentPlan(keys=("town",))},
    ):
        with pytest.raises(GemelError) as refused:
            replace(PLAN, **change)
        assert refused.value.code is ErrorCode.PARAMETER


def test_a_contribution_without_the_check_field_is_refused() -> None:
    lacking = replace(FILES.b, fields={name: field for name, field in FILES.b.fields.items() if name != CHECK})
    with pytest.raises(GemelError, match="field sex") as refused:
        link(FILES.a, lacking, PLAN, ENOUGH, quiet)
    assert refused.value.code is ErrorCode.ENCODING_MISMATCH
