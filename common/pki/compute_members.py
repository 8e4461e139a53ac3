"""The members who compute in mode shared: those whom the specification names, each of them a machine of its own.

What is sent is safe as long as no two of the three are one, and none is a custodian's. That organisations do not
collude no program can see; that one machine's key is in the list twice it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.sealing_key import MLKEM1024_PUBLIC_BYTES, MLKEM_PUBLIC_BYTES, SealingPublicKey
from gemel.common.keys.suite import Suite
from gemel.common.parties import ComputeParty, Role, Side
from gemel.common.pki.certified_names import PinnedKey
from gemel.common.pki.members import Member, Members
from gemel.common.specification import Specification

_REMEDY = "have the coordinator name three members of three organisations in `compute`, or link in mode block_keyed"


def compute_members(members: Members, spec: Specification) -> tuple[Member, Member, Member]:
    """Carole, the coordinator and the steward whom a specification of mode shared names, by `ComputeParty`.

    Raises
    ------
    GemelError
        SPECIFICATION if a member that it names is not in the list, or has another role, or if two of the
        three, or one of them and a custodian, have a name or a key in common.
    """
    named = {ComputeParty.COORDINATOR: spec.compute.coordinator, ComputeParty.STEWARD: spec.compute.steward}
    carole = members.in_role(Role.LINKER)
    coordinator, steward = (_named(members, party, name) for party, name in named.items())
    require_apart((carole, coordinator, steward, *(members.in_role(side.role) for side in Side)))
    return carole, coordinator, steward


def _named(members: Members, party: ComputeParty, name: str) -> Member:
    found = [member for member in members if member.name == name]
    if not found or found[0].role is not party.role:
        raise GemelError(
            ErrorCode.SPECIFICATION,
            f"compute.{party.role} must name a member in the role {party.role}",
            where="membership list",
            got=f"{name!r}, a {found[0].role}" if found else f"{name!r}, who is no member",
            remedy=_REMEDY,
        )
    return found[0]


def require_apart(members: Iterable[Member]) -> None:
    """Refuse members of whom two have a name, or a key of a certificate, identity or seal, in common."""
    owners: dict[tuple[str, object], Member] = {}
    for member in members:
        for what in _belongings(member):
            other = owners.setdefault(what, member)
            if other is not member:
                raise GemelError(
                    ErrorCode.SPECIFICATION,
                    f"in mode shared {other.role} and {member.role} must be two machines, and have {what[0]} in common",
                    where="membership list",
                    got=f"{other.name!r} and {member.name!r}: one machine's key in two roles",
                    remedy=_REMEDY,
                )


def _belongings(member: Member) -> list[tuple[str, object]]:
    certificate = member.certificate
    if isinstance(certificate, PinnedKey):
        known = [("a certificate's key", certificate.key)]
    else:
        names = (("a DNS name", certificate.dns), ("a SPIFFE ID", certificate.spiffe))
        known = [(what, name) for what, name in names if name]
    keys = [("a sealing key", part) for part in _parts(member.sealing)]
    return [("a name", member.name), ("an identity", member.identity.raw), *known, *keys]


def _parts(key: SealingPublicKey) -> Sequence[bytes]:
    """The public keys of which a sealing key is: none may be in another's."""
    first = MLKEM1024_PUBLIC_BYTES if key.suite is Suite.APPROVED else MLKEM_PUBLIC_BYTES
    return key.raw[:first], key.raw[first:]
