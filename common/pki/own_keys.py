"""Whether a party's own keys are those that the membership list has for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.key_file import PublicKey
from gemel.common.pki.members import Member


def check_own(member: Member, held: Mapping[str, Sequence[PublicKey]], where: str) -> None:
    """Refuse a list with another key for this party than it has.

    Parameters
    ----------
    member
        The party in the list.
    held
        Public keys that it has, any of which may be listed, by the name of the member's attribute.
    where
        The party's folder.

    Raises
    ------
    GemelError
        CONFIGURATION.
    """
    for key, own in held.items():
        listed = getattr(member, key)
        if listed not in own:
            raise GemelError(
                ErrorCode.CONFIGURATION,
                f"the membership list has another {key} key for {member.name} than this party",
                where=where,
                got=listed.fingerprint,
                remedy="get the current membership list from the coordinator, or send it the enrolment request in this "
                "folder again",
            )
