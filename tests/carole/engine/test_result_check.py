"""What Carole refuses of a resolver's result: links that share a row, more links than records; not a true one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest

from benchmarks.modes import people
from tryst.carole.engine import Candidates, LinkagePlan, Resources, compare, rows_of_sets
from tryst.carole.engine.resolution_exchange import ResolvedHandles, decide
from tryst.carole.engine.resolution_request import (
    ResolutionRequest,
    ResolutionResult,
    pack_request,
    unpack_request,
    unpack_result,
)
from tryst.carole.engine.result_check import check_result
from tryst.carole.engine.specified import plan_of
from tryst.carole.fellegi_sunter.linkage_draws import DrawnLinks
from tryst.common.cleaning import clean
from tryst.common.documents.linkage_document import Counts
from tryst.common.encoding.records import encode_records
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.derivation import Seed
from tryst.common.keys.noise import NoiseKey
from tryst.common.parties import Side

DRAWS = 2


@dataclass
class Case:
    """A request, its plan, and a true result of it."""

    found: Candidates
    plan: LinkagePlan
    result: ResolutionResult


def quiet(stage: str, done: float) -> None:
    pass


@pytest.fixture(scope="module", params=["one_to_one", "one_to_many", "none"])
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
    parts = [rows_of_sets(made[side].sets, files[side].height) for side in Side]
    found, kept = compare(parts[0], parts[1], plan, Resources(1 << 30, 1), quiet)
    content = pack_request(ResolutionRequest(found, (bytes(32), bytes(32)), 1), np.arange(len(kept.pattern)))
    asked = unpack_request(content, plan)
    handles = [
        ResolvedHandles(made[side].order[rows].astype(np.int32), files[side].height)
        for side, rows in zip(Side, (kept.row_a, kept.row_b), strict=True)
    ]
    answer = decide(asked, handles[0], handles[1], plan, quiet, "run")
    return Case(asked.found, plan, unpack_result(answer, kept.row_a, kept.row_b, n_draws=drawn))


def lie(result: ResolutionResult, links: np.ndarray) -> ResolutionResult:
    """The links that a resolver would like, all certain, in a document that counts them."""
    pairs = replace(
        result.pairs, link_probability=np.where(np.isin(np.arange(result.pairs.weight.size), links), 1.0, 0)
    )
    former = result.document.linkage
    assert former.records is not None
    counted = {
        "links": len(links),
        "unlinked": Counts(**{side: max(0, number - len(links)) for side, number in former.records}),
        "histogram": former.histogram.model_copy(update={"links": [len(links)]}),
    }
    linkage = former.model_copy(update=counted)
    return replace(result, pairs=pairs, links=links, document=result.document.model_copy(update={"linkage": linkage}))


def refused(case: Case, result: ResolutionResult, why: str) -> None:
    with pytest.raises(TrystError, match=why) as caught:
        check_result(result, case.found, case.plan)
    assert caught.value.code is ErrorCode.UPLOAD_CORRUPT


def test_a_true_result_is_accepted(case: Case) -> None:
    assert len(case.result.links) > 70
    check_result(case.result, case.found, case.plan)


def test_every_candidate_pair_as_a_link(case: Case) -> None:
    everything = lie(case.result, np.arange(len(case.found.pattern)))
    if case.plan.assignment == "none":
        check_result(everything, case.found, case.plan)  # here a record may have any number of links
    else:
        refused(case, everything, "two links of one row|links of 220 and 220 records")


def test_two_links_of_one_row(case: Case) -> None:
    pairs = case.result.pairs
    once = {"one_to_one": (pairs.row_a, pairs.row_b), "one_to_many": (pairs.row_b,), "none": ()}
    for rows in once[case.plan.assignment]:
        row, number = np.unique(rows, return_counts=True)
        two = np.flatnonzero(rows == row[number > 1][0])[:2]
        refused(case, lie(case.result, two), "two links of one row")


def test_a_row_twice_in_a_drawn_linkage(case: Case) -> None:
    if case.result.draws is None:
        pytest.skip("no linkages are drawn under this assignment")
    n = len(case.found.pattern)
    refused(
        case,
        replace(case.result, draws=DrawnLinks(np.zeros(n, dtype=np.int32), np.arange(n))),
        "two links of one row",
    )


def test_fewer_records_than_links(case: Case) -> None:
    if case.plan.assignment == "none":
        pytest.skip("under this assignment a record may have any number of links")
    refused(replace(case, found=replace(case.found, n_a=50, n_b=60)), case.result, "links of 50 and 60 records")
