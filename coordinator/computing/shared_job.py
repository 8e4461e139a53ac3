"""What the coordinator and a steward do in a session: the seam to the computation itself."""

from __future__ import annotations

from tryst.common.progress import Progress
from tryst.common.rpc.joined_session import JoinedSession
from tryst.coordinator.client.connection import Client
from tryst.coordinator.computing.offered_session import OfferedSession


def take_part(joined: JoinedSession, offered: OfferedSession, member: Client, progress: Progress) -> None:
    """This party's part of a computation."""
    party = joined.party()
    progress("agree", 0.0)
    party.compare(offered.terms.specification_digest, "specification")
    party.check("agree")
    progress("agree", 1.0)
