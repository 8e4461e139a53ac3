"""What Carole refuses of a resolver's result: links that share a row, more links than records; not a true one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest

from benchmarks.modes import people
from gemel.carole.engine import Candidates, LinkagePlan, Resources, compare
from gemel.carole.engine.inputs.files import contribution_of
from gemel.carole.engine.resolution.resolution_exchange import ResolvedHandles, decide
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest, pack_request, unpack_request
from gemel.carole.engine.resolution.resolution_result import ResolutionResult, check_result
from gemel.carole.engine.run.specified import plan_of
from gemel.common.documents.linkage_document import Counts
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.parties import Side
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.records import encode_records
from tests.carole.engine.progress import quiet

DRAWS = 2


@dataclass
class Case:
    """A request, its plan, and a true result of it."""

    found: Candidates
    plan: LinkagePlan
    result: ResolutionResult
    rows: tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope="module", params=["one_to_one", pytest.param("one_to_many", marks=pytest.mark.long), "none"])
def case(request: pytest.FixtureRequest) -> Case:
    """Files in which a tenth of the people has two records, so that candidates compete."""
    spec, files = people(200, 0.3, 4)
    spec = spec.model_copy(update={"mode": "block_keyed"})
    for side in Side:
        again = files[side].head(20).with_columns(id=pl.col("id") + "-again")
        files[side] = pl.concat([files[side], again])
    drawn = 0 if request.param == "none" else DRAWS
    plan = replace(plan_of(spec), assignment=request.param, draws=drawn)
    made = {
        side: encode_records(
            clean(files[side], spec, side).columns, spec, Seed(bytes(range(32))), 1, noise=NoiseKey(bytes(32))
        )
        for side in Side
    }
    parts = [contribution_of(made[side].sets, files[side].height) for side in Side]
    found, kept = compare(parts[0], parts[1], plan, Resources(1 << 30, 1), quiet)
    content = pack_request(ResolutionRequest(found, (bytes(32), bytes(32)), 1), np.arange(len(kept.pattern)))
    asked = unpack_request(content, plan)
    handles = [
        ResolvedHandles(made[side].order[rows].astype(np.int32), files[side].height)
        for side, rows in zip(Side, (kept.row_a, kept.row_b), strict=True)
    ]
    decided = decide(asked, handles[0], handles[1], plan, quiet, "run")
    return Case(asked.found, plan, ResolutionResult(decided.document, {}), (kept.row_a, kept.row_b))


def lie(result: ResolutionResult, links: int, **changed: object) -> ResolutionResult:
    """As many links as a resolver would like, in a document that counts them."""
    former = result.document.linkage
    assert former.records is not None
    counted = {
        "links": links,
        "unlinked": Counts(**{side: max(0, number - links) for side, number in former.records}),
        "histogram": former.histogram.model_copy(update={"links": [links]}),
        **changed,
    }
    linkage = former.model_copy(update=counted)
    return replace(result, document=result.document.model_copy(update={"linkage": linkage}))


def refused(case: Case, result: ResolutionResult, why: str) -> None:
    with pytest.raises(GemelError, match=why) as caught:
        check_result(result, case.found, case.rows, case.plan)
    assert caught.value.code is ErrorCode.UPLOAD_CORRUPT


def test_a_true_result_is_accepted(case: Case) -> None:
    assert case.result.document.linkage.links > 70
    check_result(case.result, case.found, case.rows, case.plan)


def test_every_candidate_pair_as_a_link(case: Case) -> None:
    n = len(case.found.pattern)
    everything = lie(case.result, n)
    if case.plan.assignment == "none":
        check_result(everything, case.found, case.rows, case.plan)  # here a record may have any number of links
        refused(case, lie(case.result, n + 1), f"{n + 1} links of {n} candidate pairs")
    else:
        refused(case, everything, "links of 220 and 220 records|links of .* rows of a file")


def test_links_that_are_too_improbable(case: Case) -> None:
    refused(case, lie(case.result, case.result.document.linkage.links, threshold=0.2), "another threshold")
    claimed = case.result.document.linkage.expected
    assert claimed is not None
    poor = claimed.model_copy(update={"precision": 0.4})
    refused(case, lie(case.result, case.result.document.linkage.links, expected=poor), "less probable on average")


def test_fewer_records_than_links(case: Case) -> None:
    if case.plan.assignment == "none":
        pytest.skip("under this assignment a record may have any number of links")
    refused(replace(case, found=replace(case.found, n_a=50, n_b=60)), case.result, "links of 50 and 60 records")
