"""The membership list pinned in a party's configuration, by the digest that all compare over the phone.

Whoever can put another list in place of a party's, without the party's configuration, changes nothing then: not who is
admitted, not whose signatures count, not the key that handles and shares are sealed to; nor can an authority be added
by which another service would be taken for Carole. A list is replaced with its pin, in either order: until the two
agree a running service keeps the former list.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict

from gemel.common.configuration import Configuration, hexadecimal, load_configuration
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import in_groups
from gemel.common.parties import Role
from gemel.common.pki.certificates import read_certificates, spki_fingerprint
from gemel.common.pki.members import Members

ListDigest = Annotated[str, hexadecimal(64)]
"""A digest as `gemel party accept` shows it, in any grouping."""


def pin_line(digest: str = "") -> str:
    """The line of a configuration with the pin, or, as long as the digest is not known, that tells of it."""
    if digest:
        return f'members_digest: "{digest}"  # of the membership list; a new list needs its own'
    return (
        "# members_digest: ...  # the last line of `gemel party accept`, compared over the phone: takes no other list"
    )


class MembersSection(Configuration):
    """A party's configuration, as far as it is of the membership list."""

    model_config = ConfigDict(extra="ignore")

    members_digest: ListDigest | None = None


@dataclass(frozen=True)
class ListPin:
    """Which list a party takes."""

    configuration: Path | None = None
    """The party's file, read for every list: the pin may be changed while a service runs. None: every list is taken."""

    @property
    def digest(self) -> str | None:
        """The pinned digest, in hexadecimal; None if no list is pinned. Raises CONFIGURATION if the configuration
        cannot be read."""
        if self.configuration is None:
            return None
        return load_configuration(self.configuration, MembersSection).members_digest

    def check_authorities(self, members: Members, authorities: bytes, where: str) -> None:
        """Refuse authorities (PEM) of Carole's certificate that a pinned list does not have for her."""
        listed = members.in_role(Role.LINKER).certificate.authorities
        found = [spki_fingerprint(each) for each in read_certificates(authorities, where)]
        others = [digits[:16] for digits in found if digits not in listed]
        if others and self.digest is not None:
            what = "this file has authorities that the pinned membership list does not have for Carole's certificate"
            remedy = "accept list and authorities again, by `gemel party accept`"
            raise GemelError(ErrorCode.CONFIGURATION, what, where=where, got=", ".join(others), remedy=remedy)

    def load(self, path: Path) -> Members:
        """Read the membership list. Raises CONFIGURATION, as `Members.load`, or if it is not the pinned list."""
        members = Members.load(path)
        pinned = self.digest
        if pinned is not None and pinned != members.digest.hex():
            what = "the membership list is not the one that `members_digest` in the configuration pins"
            got = f"a list with the digest {in_groups(members.digest)}"
            remedy = "compare this digest with the other parties over the phone; only if all have it, enter it"
            raise GemelError(ErrorCode.CONFIGURATION, what, where=str(path), got=got, remedy=remedy)
        return members


UNPINNED = ListPin()
