"""The three members that compute together: of the right roles, each with keys of its own, and none of them a custodian.

What is sent is safe as long as no two of the three are one, and none is a custodian's. That organisations do not
collude no program can see; that one machine's key is in the list twice it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.key_file import PUBLIC_BYTES
from tryst.common.keys.sealing_key import (
    HYBRID_PUBLIC_BYTES,
    MLKEM1024_PUBLIC_BYTES,
    MLKEM_PUBLIC_BYTES,
    SealingPublicKey,
)
from tryst.common.parties import Role, Side
from tryst.common.pki.certified_names import PinnedKey
from tryst.common.pki.members import Member, Members
from tryst.common.sharing.compute_parties import ComputeParty


def compute_members(members: Members, coordinator: str, steward: str) -> tuple[Member, Member, Member]:
    """The members that compute, by number of the party: Carole, and those that the specification names.

    Raises
    ------
    TrystError
        NOT_FOUND if there is no member of a name; NOT_ADMITTED if one has another role, or two of them, or one of them
        and a custodian, have a key in common: who had two parties' keys would see what no one may see.
    """
    found = members.in_role(Role.LINKER), members.named(coordinator), members.named(steward)
    for member, party in zip(found, ComputeParty, strict=True):
        if member.role is not party.role:
            raise TrystError(
                ErrorCode.NOT_ADMITTED,
                f"a {party.role} must take this part of the computation",
                where=f"member {member.name}",
                got=f"a {member.role}",
                remedy="name another member under `compute` in the specification",
            )
    require_apart((*found, *(members.in_role(side.role) for side in Side)))
    return found


def require_apart(members: Iterable[Member]) -> None:
    """Refuse members of whom two have a name, or a key of a certificate, identity or seal, in common.

    Raises
    ------
    TrystError
        NOT_ADMITTED.
    """
    owners: dict[tuple[str, object], Member] = {}
    for member in members:
        for what in _belongings(member):
            other = owners.setdefault(what, member)
            if other is not member:
                raise TrystError(
                    ErrorCode.NOT_ADMITTED,
                    "custodians and the parties of a computation must be different members, each with keys of its own",
                    where=f"members {other.name} and {member.name}",
                    got=f"the same {what[0]} for both: one machine's key in two roles",
                    remedy="let each make its own keys on a machine of its own, by `tryst party enrol`",
                )


def _belongings(member: Member) -> list[tuple[str, object]]:
    certificate = member.certificate
    if isinstance(certificate, PinnedKey):
        known = [("key of the certificate", certificate.key)]
    else:
        names = (("DNS name", certificate.dns), ("SPIFFE ID", certificate.spiffe))
        known = [(what, name) for what, name in names if name]
    keys = [("sealing key", part) for part in _parts(member.sealing)]
    return [("name", member.name), ("identity", member.identity.raw), *known, *keys]


def _parts(key: SealingPublicKey) -> Sequence[bytes]:
    """The public keys of which a sealing key is: a former one may be a half of another's."""
    if len(key.raw) == PUBLIC_BYTES:
        return (key.raw,)
    first = MLKEM_PUBLIC_BYTES if len(key.raw) == HYBRID_PUBLIC_BYTES else MLKEM1024_PUBLIC_BYTES
    return key.raw[:first], key.raw[first:]
