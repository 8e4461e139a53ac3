"""A resolver's result: what each custodian opens, that Carole reads nothing of a pair, and what she refuses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.modes import people
from gemel.carole.engine import Candidates, LinkagePlan
from gemel.carole.engine.resolution.resolution_exchange import Resolved, ResolvedHandles, decide, sealed_result
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest
from gemel.carole.engine.resolution.resolution_result import ResolutionResult, check_result, unpack_result
from gemel.carole.engine.run.contribution import packed, unpacked
from gemel.carole.engine.run.result import FEWEST
from gemel.common.documents.linkage_document import Counts
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.sealing import SealContext
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.common.wire.resolved_share import ResolvedShare, open_share
from gemel.common.wire.row_handles import RowHandlesRequest, request_digest
from gemel.coordinator.provisioning import Provisioned
from gemel.custodian.encoding.columns import random_order
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import Keyed
from tests.carole.refusals import refusal

N, RUN = 300, "r" * 32


@dataclass
class Case:
    """A request decided: the record of each of its pairs in either file, and both requests for handles."""

    spec: Specification
    request: ResolutionRequest
    resolved: Resolved
    records: dict[Side, np.ndarray]
    rows: dict[Side, bytes]

    def sealed(self, parties: Provisioned, **release: object) -> bytes:
        granted = self.spec.release.model_copy(update=release)
        spec = self.spec.model_copy(update={"release": granted})
        return sealed_result(self.resolved, self.request, spec, parties.members, RUN)

    def shares(self, parties: Provisioned, **release: object) -> dict[Side, ResolvedShare]:
        """What each custodian that is granted pairs reads."""
        recipients = tuple(side for side in Side if release[str(side)] != "nothing")
        result = unpack_result(self.sealed(parties, **release), recipients)
        return {side: self.opened(share, parties, side) for side, share in result.shares.items()}

    def opened(self, sealed: bytes, parties: Provisioned, side: Side) -> ResolvedShare:
        key = SealingKey.load(parties.parties[str(side)].sealing)
        context = SealContext(self.spec.project, RUN, str(side))
        return open_share(key, context, sealed, self.rows[side], len(self.records[side]))


@pytest.fixture(scope="module")
def case() -> Case:
    keyed = Keyed(*people(N, 0.5, 2), draws=4)
    order = np.random.default_rng(1).permutation(len(keyed.kept.pattern))
    rows = {
        side: RowHandlesRequest("ab" * 16, row[order].astype(np.uint32)).pack()
        for side, row in zip(Side, keyed.rows, strict=True)
    }
    request = keyed.request(order, (request_digest(rows[Side.ALICE]), request_digest(rows[Side.BOB])))
    records = {side: record[order] for side, record in zip(Side, keyed.records, strict=True)}
    handles = [ResolvedHandles(random_order(N).astype(np.int32)[records[side]], N) for side in Side]
    return Case(keyed.spec, request, decide(request, *handles, keyed.plan, quiet, RUN), records, rows)


def test_both_custodians_have_the_same_links_by_their_own_places(case: Case, parties: Provisioned) -> None:
    alice, bob = case.shares(parties, alice="links", bob="pairs").values()
    assert alice.linked.all()
    assert len(bob.pair) == len(case.records[Side.BOB])
    assert set(alice.ids) == {name for name, link in zip(bob.ids, bob.linked, strict=True) if link}
    assert len(set(bob.ids)) == len(bob.ids)
    expected = np.sort(case.resolved.order[case.resolved.linkage.links])
    assert alice.pair.tolist() == expected.tolist() == bob.pair[bob.linked].tolist()
    assert len(expected) == case.resolved.document.linkage.links > 100
    # The same number of a link for both, and of many links.
    assert np.array_equal(alice.probability, bob.probability[bob.linked])
    assert np.unique(alice.probability, return_counts=True)[1].min() >= FEWEST
    # Sealed again, under another key of the ids.
    again = case.shares(parties, alice="links", bob="links")
    assert not set(again[Side.ALICE].ids) & set(alice.ids)


def test_drawn_linkages_and_exact_numbers_go_to_who_is_granted_them(case: Case, parties: Provisioned) -> None:
    alice, bob = case.shares(parties, alice="draws", bob="links", exact_probabilities="alice").values()
    assert bob.draw is None
    pairs, own = case.resolved.linkage.pairs, np.empty(len(case.resolved.order))
    own[case.resolved.order] = pairs.link_probability
    assert np.array_equal(alice.probability, own[alice.pair])
    drawn = case.resolved.linkage.draws
    for draw in range(4):
        place = alice.pair[alice.drawn[alice.draw == draw]]
        assert sorted(place.tolist()) == sorted(case.resolved.order[drawn.pair[drawn.draw == draw]].tolist())
        assert len(np.unique(case.records[Side.ALICE][place])) == len(place)


def test_carole_gets_nothing_as_long_as_the_request(case: Case, parties: Provisioned) -> None:
    """Beside sealed bytes, whose length the numbers of pairs decide, there is a document of counts."""
    granted = {"alice": "links", "bob": "nothing"}
    sealed = case.sealed(parties, **granted)
    arrays, document = unpacked(sealed)
    assert set(arrays) == {"share_alice"}
    links = document["linkage"]["links"]
    # Which candidates are linked changes no length: only how many are.
    linkage = case.resolved.linkage
    others = np.sort(np.random.default_rng(2).permutation(len(case.resolved.order))[:links])
    changed = (replace(linkage, links=chosen) for chosen in (linkage.links[:40], others))
    resolved = (replace(case.resolved, linkage=other) for other in changed)
    few, other = (replace(case, resolved=one).sealed(parties, **granted) for one in resolved)
    assert len(arrays["share_alice"]) - len(unpacked(few)[0]["share_alice"]) == 13 * (links - 40)
    assert len(other) == len(sealed)
    assert unpack_result(case.sealed(parties, alice="statistics", bob="nothing"), ()).shares == {}


def test_more_or_less_than_was_requested_is_refused(case: Case, parties: Provisioned) -> None:
    sealed = case.sealed(parties, alice="links", bob="links")
    arrays, document = unpacked(sealed)
    for content, recipients, why in (
        (sealed, (Side.BOB,), "1 arrays that were not requested"),
        (packed({"share_bob": arrays["share_bob"]}, document), tuple(Side), "no share_alice"),
        (packed(arrays, {"model": {}}), tuple(Side), "invalid statistics"),
    ):
        with refusal(ErrorCode.UPLOAD_CORRUPT, why):
            unpack_result(content, recipients)


def test_a_share_opens_for_its_owner_and_its_request_only(case: Case, parties: Provisioned, tmp_path: Path) -> None:
    result = unpack_result(case.sealed(parties, alice="links", bob="links"), tuple(Side))
    with pytest.raises(GemelError):
        case.opened(result.shares[Side.ALICE], parties, Side.BOB)
    other = replace(case, rows={side: RowHandlesRequest("ab" * 16, np.zeros(9, np.uint32)).pack() for side in Side})
    with pytest.raises(GemelError, match="another request"):
        other.opened(result.shares[Side.ALICE], parties, Side.ALICE)
    fewer = replace(case, records={side: records[:3] for side, records in case.records.items()})
    with pytest.raises(GemelError, match="not requested"):
        fewer.opened(result.shares[Side.ALICE], parties, Side.ALICE)


@dataclass
class Checked:
    """A request, its plan, and a true result of it."""

    found: Candidates
    plan: LinkagePlan
    result: ResolutionResult
    rows: tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope="module", params=["one_to_one", pytest.param("one_to_many", marks=pytest.mark.long), "none"])
def checked(request: pytest.FixtureRequest) -> Checked:
    """Files in which a tenth of the people has two records, so that candidates compete."""
    spec, files = people(200, 0.3, 4)
    for side in Side:
        again = files[side].head(20).with_columns(id=pl.col("id") + "-again")
        files[side] = pl.concat([files[side], again])
    keyed = Keyed(spec, files, assignment=request.param, draws=0 if request.param == "none" else 2)
    asked = keyed.request()
    handles = [ResolvedHandles(records, 220) for records in keyed.records]
    decided = decide(asked, *handles, keyed.plan, quiet, "run")
    return Checked(asked.found, keyed.plan, ResolutionResult(decided.document, {}), keyed.rows)


def lie(result: ResolutionResult, links: int, **changed: object) -> ResolutionResult:
    """As many links as a resolver would like, in a document that counts them."""
    former = result.document.linkage
    counted = {
        "links": links,
        "unlinked": Counts(**{side: max(0, number - links) for side, number in former.records}),
        "histogram": former.histogram.model_copy(update={"links": [links]}),
        **changed,
    }
    linkage = former.model_copy(update=counted)
    return replace(result, document=result.document.model_copy(update={"linkage": linkage}))


def refused(checked: Checked, result: ResolutionResult, why: str) -> None:
    with refusal(ErrorCode.UPLOAD_CORRUPT, why):
        check_result(result, checked.found, checked.rows, checked.plan)


def test_a_true_result_is_accepted(checked: Checked) -> None:
    assert checked.result.document.linkage.links > 70
    check_result(checked.result, checked.found, checked.rows, checked.plan)


def test_every_candidate_pair_as_a_link(checked: Checked) -> None:
    n = len(checked.found.pattern)
    everything = lie(checked.result, n)
    if checked.plan.assignment == "none":
        check_result(
            everything, checked.found, checked.rows, checked.plan
        )  # here a record may have any number of links
        refused(checked, lie(checked.result, n + 1), f"{n + 1} links of {n} candidate pairs")
    else:
        refused(checked, everything, "links of 220 and 220 records|links of .* rows of a file")


def test_links_that_are_too_improbable(checked: Checked) -> None:
    stated = checked.result.document.linkage

    def claiming(precision: float) -> dict[str, object]:
        claimed = stated.claims.precision.model_copy(update={"value": precision})
        return {"threshold": 0.5, "claims": stated.claims.model_copy(update={"precision": claimed})}

    fixed = replace(checked, plan=replace(checked.plan, threshold=0.5))
    refused(fixed, lie(checked.result, stated.links, threshold=0.2), "another threshold")
    refused(fixed, lie(checked.result, stated.links, **claiming(0.4)), "less probable on average")
    # A threshold that follows from the pairs is not known to Carole.
    assert checked.plan.known_threshold is None
    refused(checked, lie(checked.result, stated.links, threshold=0.6), "no expected F1")
    refused(checked, lie(checked.result, stated.links, **claiming(0.001)), "less probable on average")


def test_fewer_records_than_links(checked: Checked) -> None:
    if checked.plan.assignment == "none":
        pytest.skip("under this assignment a record may have any number of links")
    refused(
        replace(checked, found=replace(checked.found, n_a=50, n_b=60)), checked.result, "links of 50 and 60 records"
    )
