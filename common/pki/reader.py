"""The party that opens the custodians' sealed handles: its sealing key and the membership list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import PublicKey
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import Role
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.members import Member, Members


@dataclass(frozen=True)
class Reader:
    """The party that opens the sealed handles: the coordinator's process, or Carole."""

    name: str
    members: Members
    """Among them the custodians, who must have signed the handles."""
    key: SealingKey = field(repr=False)

    @classmethod
    def load(cls, folder: PartyFolder, role: Role, members: Members | None = None) -> Reader:
        """From a party's key folder; the membership list too, unless it is given. Raises CONFIGURATION, CERTIFICATE;
        NOT_FOUND if the list does not have the folder's sealing key."""
        known, key = members or Members.load(folder.members), SealingKey.load(folder.sealing)
        member = known.holding(key)
        if member.role is not role:
            what = f"the folder's sealing key must be that of a {role}"
            got = f"that of {member.name}, a {member.role}"
            remedy = "name the folder of this party's own keys"
            raise GemelError(ErrorCode.CONFIGURATION, what, where=str(folder.path), got=got, remedy=remedy)
        return cls(member.name, known, key)


def check_own(member: Member, held: Mapping[str, Sequence[PublicKey]], where: str) -> None:
    """Refuse a list with another key for this party than any that it has, by the name of the member's attribute."""
    for key, own in held.items():
        listed = getattr(member, key)
        if listed not in own:
            what = f"the membership list has another {key} key for {member.name} than this party"
            remedy = (
                "get the current membership list from the coordinator, or send it the enrolment request in this "
                "folder again"
            )
            raise GemelError(ErrorCode.CONFIGURATION, what, where=where, got=listed.fingerprint, remedy=remedy)
