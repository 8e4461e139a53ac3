"""A compute process whose job is some coins: ``python -m tests.shared.parties.party_program CONFIG``."""

from __future__ import annotations

import sys
from pathlib import Path

from gemel.common.progress import Progress
from gemel.coordinator.client.compute_service import serve
from gemel.coordinator.client.connection import Client
from gemel.ended_in_order import ended_in_order
from gemel.shared.parties.offered_session import OfferedSession
from gemel.shared.session.joined_session import JoinedSession

COINS = 30


def coins(joined: JoinedSession, progress: Progress) -> bytes:
    """Public randomness of all three."""
    party = joined.party()
    found = []
    for number in range(COINS):
        progress("coins", number / COINS)
        found.append(party.coin(1).tobytes())
    party.check("coins")
    return b"".join(found)


def take_part(joined: JoinedSession, offered: OfferedSession, member: Client, progress: Progress) -> None:
    """The job."""
    coins(joined, progress)


if __name__ == "__main__":
    with ended_in_order():
        serve(Path(sys.argv[1]), job=take_part)
