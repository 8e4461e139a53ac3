"""A contribution of mode shared, as the coordinator or a steward reads it from Carole in a session."""

from __future__ import annotations

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import ComputeParty
from gemel.common.pki.members import Members
from gemel.common.rpc.transfer import MAX_BYTES
from gemel.common.signatures.layout import MAX_ROWS
from gemel.common.signatures.party_sets import PartyContribution
from gemel.common.specification import Specification, encoding_digest
from gemel.common.wire.manifest import manifest_from_wire
from gemel.common.wire.share_headers import HeaderAbout, open_header
from gemel.protos.linkage.v1 import computation_pb2
from gemel.shared.session.computation_calls import ComputationCalls


def fetched_contribution(
    calls: ComputationCalls,
    given: computation_pb2.ComputationInput,
    spec: Specification,
    epoch: int,
    members: Members,
    own: ComputeParty,
    name: str,
    key: SealingKey,
) -> PartyContribution:
    """A contribution, whose sets are fetched when they are read, from what Carole has shown of it.

    `spec`, `epoch`: that all have approved; `own`, `name`, `key`: this party. Raises `GemelError`: ENCODING_MISMATCH
    for one of another project, encoding or epoch; as `manifest_from_wire`, `open_header` and `PartyContribution`.
    """
    manifest = manifest_from_wire(given.manifest, MAX_BYTES, MAX_ROWS)
    encoding = encoding_digest(spec)
    # A contribution of an epoch that is over is Carole's to erase, and the custodian's signature is still on it.
    if (manifest.project, manifest.encoding_digest, manifest.epoch) != (spec.project, encoding, epoch):
        what = "a contribution must be of the project, the encoding and the epoch that all have approved"
        where = f"contribution of {manifest.side}"
        got = f"one of epoch {manifest.epoch} for epoch {epoch}, or of another project or encoding"
        raise GemelError(ErrorCode.ENCODING_MISMATCH, what, where=where, got=got, remedy="ask Carole's operator")
    side, layout = manifest.side, manifest.layout
    about = HeaderAbout(spec.project, side, encoding, epoch, given.upload, layout, name, own, spec.suite)
    custodian = members.in_role(side.role).identity
    header = open_header(key, custodian, about, manifest.sealed_seeds[own])

    def read(number: int, size: int) -> bytes:
        chunks = calls.chunks_of_set(side, number, layout.sets[number].total_bytes, size)
        return b"".join(chunks)[:size]

    return PartyContribution(own, header, layout, read)
