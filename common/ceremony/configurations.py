"""A member's configuration, written from what the ceremony knows; nothing in it is left to be copied.

Carole's and the coordinator's are written by modules of theirs, found by name: a custodian's installation has neither.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from gemel.common.ceremony.place import Place
from gemel.common.custodian.templates import custodian_yaml
from gemel.common.keys.fingerprint import in_groups
from gemel.common.observability.settings import local
from gemel.common.parties import SIDE_OF_ROLE, Party, Role
from gemel.common.pki.membership_file import Membership
from gemel.common.records.sources import Source

WRITERS = {
    Role.LINKER: "gemel.carole.joining",
    Role.COORDINATOR: "gemel.coordinator.client.joining",
    Role.STEWARD: "gemel.coordinator.client.joining",
    Role.ANALYST: "gemel.coordinator.client.joining",
}
"""Modules whose `configure` gives the text for a `Joined`, and whose `complete` does what is due once it is written."""


@dataclass(frozen=True)
class Joined:
    """A member that has compared the digits.

    Attributes
    ----------
    place
        Its files.
    membership
        What it has received.
    source
        Of a custodian: where its records are.
    """

    place: Place
    membership: Membership
    source: Source | None = None

    @property
    def members_digest(self) -> str:
        """What pins the list in a configuration."""
        return in_groups(self.membership.members.digest)


def require_program(role: Role) -> None:
    """Find out before anything is made whether this installation has what a role runs.

    Raises
    ------
    ModuleNotFoundError
        If not.
    """
    if role in WRITERS:
        importlib.import_module(WRITERS[role])


def configure(joined: Joined) -> str:
    """The text of the member's configuration."""
    place = joined.place
    if place.role in WRITERS:
        written: str = importlib.import_module(WRITERS[place.role]).configure(joined)
        return written
    assert joined.source is not None  # noqa: S101 - `joining` requires one of a custodian
    side = SIDE_OF_ROLE[place.role]
    chosen = joined.source.chosen
    kind = next(name for name in Source.model_fields if getattr(joined.source, name) is chosen)
    return custodian_yaml(
        Party(side, side.title()),
        carole=joined.membership.carole,
        peer_fingerprint=joined.membership.members.in_role(side.other.role).identity.fingerprint,
        source={kind: chosen.model_dump(mode="json", exclude_none=True)},
        keys="keys",
        state=place.below("state"),
        results=place.below("results"),
        listen=local(str(side)),
        members_digest=joined.members_digest,
    )


def complete(joined: Joined) -> str:
    """Do what is due once the configuration is there; a line about it, if there is anything."""
    role = joined.place.role
    if role not in WRITERS:
        return ""
    done: str = importlib.import_module(WRITERS[role]).complete(joined)
    return done
