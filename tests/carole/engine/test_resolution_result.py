"""A resolver's result: each custodian opens what it is granted of its own rows, and Carole reads nothing of a pair."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.modes import NOISE, people
from gemel.carole.engine import Resources, compare
from gemel.carole.engine.inputs.files import contribution_of
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.resolution.resolution_exchange import Resolved, ResolvedHandles, decide, sealed_result
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest, pack_request, unpack_request
from gemel.carole.engine.resolution.resolution_result import unpack_result
from gemel.carole.engine.run.contribution import packed, unpacked
from gemel.carole.engine.run.result import FEWEST
from gemel.carole.engine.run.specified import plan_of
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.derivation import Seed
from gemel.common.keys.sealing import SealContext
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import Side
from gemel.common.pki.provisioning import Provisioned
from gemel.common.specification import Specification
from gemel.common.wire.resolved_share import ResolvedShare, open_share
from gemel.common.wire.row_handles import RowHandlesRequest, request_digest
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.columns import random_order
from gemel.custodian.encoding.records import Encoded, encode_records
from tests.carole.engine.progress import quiet

N, RUN = 300, "r" * 32


@dataclass
class Case:
    """A request decided.

    Attributes
    ----------
    records
        The record of each pair of the request, in either file.
    rows
        Both requests for handles.
    """

    spec: Specification
    request: ResolutionRequest
    resolved: Resolved
    records: dict[Side, np.ndarray]
    rows: dict[Side, bytes]

    def sealed(self, parties: Provisioned, **release: object) -> bytes:
        granted = self.spec.release.model_copy(update=release)
        spec = self.spec.model_copy(update={"release": granted})
        return sealed_result(self.resolved, self.request, spec, parties.members, RUN)

    def opened(self, sealed: bytes, parties: Provisioned, side: Side) -> ResolvedShare:
        key = SealingKey.load(parties.parties[str(side)].sealing)
        context = SealContext(self.spec.project, RUN, str(side))
        return open_share(key, context, sealed, self.rows[side], len(self.records[side]))


@pytest.fixture(scope="module")
def case() -> Case:
    spec, files = people(N, 0.5, 2)
    spec = spec.model_copy(update={"mode": "block_keyed"})
    plan = replace(plan_of(spec), draws=4)
    made = {
        side: encode_records(clean(files[side], spec, side).columns, spec, Seed(bytes(range(32))), 1, noise=NOISE[side])
        for side in Side
    }
    parts = [contribution_of(made[side].sets, N) for side in Side]
    found, kept = compare(parts[0], parts[1], plan, Resources(1 << 30, 1), quiet)
    order = np.random.default_rng(1).permutation(len(kept.pattern))
    rows = {
        side: RowHandlesRequest("ab" * 16, row[order].astype(np.uint32)).pack()
        for side, row in zip(Side, (kept.row_a, kept.row_b), strict=True)
    }
    digests = request_digest(rows[Side.ALICE]), request_digest(rows[Side.BOB])
    request = unpack_request(pack_request(ResolutionRequest(found, digests, 1), order), plan)
    records = records_of(kept, made, order)
    handles = [ResolvedHandles(random_order(N).astype(np.int32)[records[side]], N) for side in Side]
    return Case(spec, request, decide(request, handles[0], handles[1], plan, quiet, RUN), records, rows)


def records_of(kept: KeptPairs, made: dict[Side, Encoded], order: np.ndarray) -> dict[Side, np.ndarray]:
    rows = zip(Side, (kept.row_a, kept.row_b), strict=True)
    return {side: made[side].order[of_pairs][order].astype(np.int32) for side, of_pairs in rows}


def test_both_custodians_have_the_same_links_by_their_own_places(case: Case, parties: Provisioned) -> None:
    result = unpack_result(case.sealed(parties, alice="links", bob="pairs"), tuple(Side))
    alice, bob = (case.opened(result.shares[side], parties, side) for side in Side)
    assert alice.linked.all()
    assert len(bob.pair) == len(case.records[Side.BOB])
    assert set(alice.ids) == {name for name, link in zip(bob.ids, bob.linked, strict=True) if link}
    assert len(set(bob.ids)) == len(bob.ids)
    expected = np.sort(case.resolved.order[case.resolved.linkage.links])
    assert alice.pair.tolist() == expected.tolist() == bob.pair[bob.linked].tolist()
    assert len(expected) == result.document.linkage.links > 100
    # The same number of a link for both, and of many links.
    assert np.array_equal(alice.probability, bob.probability[bob.linked])
    assert np.unique(alice.probability, return_counts=True)[1].min() >= FEWEST
    # Sealed again, under another key of the ids.
    again = unpack_result(case.sealed(parties, alice="links", bob="links"), tuple(Side))
    assert not set(case.opened(again.shares[Side.ALICE], parties, Side.ALICE).ids) & set(alice.ids)


def test_drawn_linkages_and_exact_numbers_go_to_who_is_granted_them(case: Case, parties: Provisioned) -> None:
    release = {"alice": "draws", "bob": "links", "exact_probabilities": "alice"}
    result = unpack_result(case.sealed(parties, **release), tuple(Side))
    alice, bob = (case.opened(result.shares[side], parties, side) for side in Side)
    assert bob.draw is None
    assert alice.draw is not None
    assert alice.drawn is not None
    pairs, own = case.resolved.linkage.pairs, np.empty(len(case.resolved.order))
    own[case.resolved.order] = pairs.link_probability
    assert np.array_equal(alice.probability, own[alice.pair])
    assert case.resolved.linkage.draws is not None
    for draw in range(4):
        place = alice.pair[alice.drawn[alice.draw == draw]]
        drawn = case.resolved.linkage.draws
        assert sorted(place.tolist()) == sorted(case.resolved.order[drawn.pair[drawn.draw == draw]].tolist())
        assert len(np.unique(case.records[Side.ALICE][place])) == len(place)


def test_carole_gets_nothing_as_long_as_the_request(case: Case, parties: Provisioned) -> None:
    """Beside sealed bytes, whose length the numbers of pairs decide, there is a document of counts."""
    sealed = case.sealed(parties, alice="links", bob="nothing")
    arrays, document = unpacked(sealed)
    assert set(arrays) == {"share_alice"}
    links = document["linkage"]["links"]
    # Which candidates are linked changes no length: only how many are.
    linkage = case.resolved.linkage
    few = replace(case, resolved=replace(case.resolved, linkage=replace(linkage, links=linkage.links[:40])))
    fewer = unpacked(few.sealed(parties, alice="links", bob="nothing"))[0]["share_alice"]
    assert len(arrays["share_alice"]) - len(fewer) == 13 * (links - 40)
    others = replace(linkage, links=np.sort(np.random.default_rng(2).permutation(len(case.resolved.order))[:links]))
    other = replace(case, resolved=replace(case.resolved, linkage=others)).sealed(parties, alice="links", bob="nothing")
    assert len(other) == len(sealed)
    assert unpack_result(case.sealed(parties, alice="statistics", bob="nothing"), ()).shares == {}


def test_more_or_less_than_was_requested_is_refused(case: Case, parties: Provisioned) -> None:
    sealed = case.sealed(parties, alice="links", bob="links")
    arrays, document = unpacked(sealed)

    def refused(content: bytes, recipients: tuple[Side, ...], why: str) -> None:
        with pytest.raises(GemelError, match=why) as caught:
            unpack_result(content, recipients)
        assert caught.value.code is ErrorCode.UPLOAD_CORRUPT

    refused(sealed, (Side.BOB,), "1 arrays that were not requested")
    refused(packed({"share_bob": arrays["share_bob"]}, document), tuple(Side), "no share_alice")
    refused(packed(arrays, {"model": {}}), tuple(Side), "invalid statistics")


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
