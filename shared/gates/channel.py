"""How a compute party exchanges messages with the other two, whatever carries them."""

from __future__ import annotations

from typing import Protocol

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import ComputeParty


class Channel(Protocol):
    """Ordered, authenticated messages between the three parties of one session.

    A carrier numbers and authenticates what it passes on: a message that was changed, left out, repeated or sent by
    another party raises `GemelError` (DEVIATION) at its receiver, naming the link.
    """

    @property
    def own(self) -> ComputeParty:
        """This party."""

    def send(self, to: ComputeParty, content: bytes | bytearray | memoryview) -> None:
        """Send a message; its buffer may be written again at the return; UNAVAILABLE if the session has ended."""

    def receive(self, sender: ComputeParty) -> bytes:
        """The next message of a party, waited for; UNAVAILABLE if the session has ended, DEVIATION if it is not the
        next one.
        """


_REMEDY = "find out with the others whose program or machine was changed, then begin the run again"


def deviation(
    stage: str, what: str, link: tuple[ComputeParty, ComputeParty], suspects: tuple[ComputeParty, ...]
) -> GemelError:
    """A deviation that one party has found at a stage: `what` does not hold between two parties, without a full stop.

    `suspects`: who can have deviated, as the party that reports it sees it: never itself.
    """
    first, second = sorted(link)
    what = f"{what} between {first.title} and {second.title}"
    got = f"a deviation of {' or '.join(party.title for party in sorted(suspects))}"
    return GemelError(ErrorCode.DEVIATION, what, where=stage, got=got, remedy=_REMEDY)
