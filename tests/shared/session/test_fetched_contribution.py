"""The coordinator and the steward take no contribution but one of the epoch that the specification is approved for."""

from __future__ import annotations

from typing import cast

from gemel.common.errors import ErrorCode
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import ComputeParty, Side
from gemel.common.signatures.custodian_shares import ShareSecrets
from gemel.common.signatures.layout import SAMPLES, FieldLayout, Layout, SetLayout
from gemel.common.specification import encoding_digest, load_specification
from gemel.common.wire.manifest import Manifest, manifest_to_wire
from gemel.common.wire.share_headers import HeaderAbout, seal_header
from gemel.coordinator.provisioning import Provisioned
from gemel.protos.linkage.v1 import computation_pb2
from gemel.shared.session.computation_calls import ComputationCalls
from gemel.shared.session.fetched_contribution import fetched_contribution
from tests.carole.conftest import parties
from tests.carole.refusals import refusal
from tests.common.specification.test_shared import TEXT

__all__ = ["parties"]

SPEC = load_specification(TEXT)
FIELD = FieldLayout("surname", 128, 0, "shared")
LAYOUT = Layout((SetLayout("born", 4, (FIELD,), ("born",), tags=()), SetLayout(SAMPLES, 1000, (FIELD,), tags=())), 4)
UPLOAD = "ab" * 16
STEWARD = ComputeParty.STEWARD


def test_a_contribution_of_a_former_epoch_is_refused_whatever_its_custodian_has_signed(parties: Provisioned) -> None:
    key, encoding = SealingKey.load(parties.parties["steward"].sealing), encoding_digest(SPEC)

    def given(epoch: int) -> computation_pb2.ComputationInput:
        about = HeaderAbout(SPEC.project, Side.ALICE, encoding, epoch, UPLOAD, LAYOUT, "steward", STEWARD, SPEC.suite)
        alice = open_identity(None, parties.parties["alice"].identity)
        sealed = seal_header(alice, about, key.public, ShareSecrets.fresh().of(STEWARD))
        manifest = Manifest(SPEC.project, Side.ALICE, epoch, encoding, b"k" * 8, LAYOUT, (sealed,) * 3)
        return computation_pb2.ComputationInput(upload=UPLOAD, manifest=manifest_to_wire(manifest))

    def fetched(made_in: int, approved: int) -> int:
        calls = cast(ComputationCalls, None)  # no set is read
        found = fetched_contribution(calls, given(made_in), SPEC, approved, parties.members, STEWARD, "steward", key)
        return found.n_records

    assert fetched(2, 2) == 4
    for made_in, approved in ((1, 2), (2, 1)):
        with refusal(ErrorCode.ENCODING_MISMATCH, f"epoch {made_in} for epoch {approved}"):
            fetched(made_in, approved)
