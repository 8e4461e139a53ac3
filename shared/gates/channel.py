"""How a compute party exchanges messages with the other two, whatever carries them."""

from __future__ import annotations

from typing import Protocol

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
        """Send a message; it is on its way when the call returns, and the buffer may be written again.

        Raises
        ------
        GemelError
            UNAVAILABLE if the session has ended.
        """

    def receive(self, sender: ComputeParty) -> bytes:
        """The next message of a party, waited for.

        Raises
        ------
        GemelError
            UNAVAILABLE if the session has ended; DEVIATION if the message is not the next one of this party.
        """
