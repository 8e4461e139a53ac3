"""A session that Carole offers, verified by one of the other two parties before it takes part in it.

Carole is trusted with none of what she shows: the specification must be one that both custodians and a coordinator have
signed, as the membership list of this party knows them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.epochs import approval_parts
from gemel.common.keys.identity import SigningPurpose
from gemel.common.parties import CUSTODIANS, ComputeParty, Role
from gemel.common.pki.members import Member, Members, compute_members
from gemel.common.specification import Specification, load_specification, specification_digest
from gemel.protos.linkage.v1 import computation_pb2, project_pb2
from gemel.shared.session.handshake import SESSION_BYTES, SessionTerms

_RUN = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True)
class OfferedSession:
    """A session, verified."""

    own: ComputeParty
    terms: SessionTerms
    spec: Specification
    members: Sequence[Member]
    epoch: int
    inputs: Sequence[computation_pb2.ComputationInput]


def verified(offer: computation_pb2.NextComputationResponse, members: Members, name: str) -> OfferedSession:
    """An offer of Carole's, for the member of this name.

    Raises `GemelError`: SPECIFICATION for a text that is none, or not of mode shared or of this project; PARAMETER for
    a malformed session or run; SIGNATURE if a custodian or every coordinator has not signed it; NOT_ADMITTED if it does
    not name this member, or as `compute_members`.
    """
    spec = load_specification(offer.specification, f"specification of {offer.project[:64]!r}")
    if spec.project != offer.project or spec.mode != "shared":
        raise _refusal(offer, ErrorCode.SPECIFICATION, "its specification must be the project's, and of mode shared")
    if len(offer.session) != SESSION_BYTES:
        raise _refusal(offer, ErrorCode.PARAMETER, f"a session's number has {SESSION_BYTES} bytes")
    if not _RUN.fullmatch(offer.run):
        raise _refusal(offer, ErrorCode.PARAMETER, "a run's name has 32 hexadecimal digits")
    digest = specification_digest(spec)
    _require_approved(offer, members, digest)
    three = compute_members(members, spec)
    own = [party for party in ComputeParty if three[party].name == name]
    if len(own) != 1 or own[0] is ComputeParty.CAROLE:
        raise _refusal(offer, ErrorCode.NOT_ADMITTED, f"the specification does not name {name} under `compute`")
    names = (three[0].name, three[1].name, three[2].name)
    terms = SessionTerms(spec.project, offer.run, offer.session, digest, names, spec.suite)
    return OfferedSession(own[0], terms, spec, three, offer.epoch, tuple(offer.inputs))


def _require_approved(offer: computation_pb2.NextComputationResponse, members: Members, digest: bytes) -> None:
    signed = {
        member.role
        for approval in offer.approvals
        for member in members
        if member.name == approval.member and _is_signed(approval, member, offer, digest)
    }
    missing = sorted(str(role) for role in {*CUSTODIANS, Role.COORDINATOR} - signed)
    if missing:
        raise _refusal(offer, ErrorCode.SIGNATURE, f"its specification is not signed by: {', '.join(missing)}")


def _is_signed(
    approval: project_pb2.Approval, member: Member, offer: computation_pb2.NextComputationResponse, digest: bytes
) -> bool:
    parts = approval_parts(offer.project, digest, offer.epoch)
    return member.identity.is_signed(approval.signature, SigningPurpose.APPROVAL, *parts)


def _refusal(offer: computation_pb2.NextComputationResponse, code: ErrorCode, what: str) -> GemelError:
    what = f"Carole offers a computation that this party takes no part in: {what}"
    remedy = "look at the project with `gemel project status`, and ask Carole's operator"
    return GemelError(code, what, where=f"project {offer.project[:64]!r}", remedy=remedy)
