"""What the coordinator and a steward do in a session: the seam to the computation itself."""

from __future__ import annotations

from tryst.common.keys.sealing_key import SealingKey
from tryst.common.progress import Progress
from tryst.common.rpc.fetched_contribution import fetched_contribution
from tryst.common.rpc.joined_session import JoinedSession
from tryst.coordinator.client.connection import Client
from tryst.coordinator.computing.offered_session import OfferedSession


def take_part(joined: JoinedSession, offered: OfferedSession, member: Client, progress: Progress) -> None:
    """This party's part of a computation.

    Raises
    ------
    TrystError
        As `fetched_contribution`; DEVIATION; UNAVAILABLE if the session has ended.
    """
    key = SealingKey.load(member.folder.sealing)
    progress("agree", 0.0)
    contributions = [
        fetched_contribution(joined.calls, given, offered.spec, member.members, offered.own, member.name, key)
        for given in offered.inputs
    ]
    party = joined.party()
    for each in contributions:
        party.compare(each.seed_digests, "secrets of shares")
    party.check("agree")
