"""What a compute process shows: a line when it waits, when a session begins and ends, and for each stage in it."""

from __future__ import annotations

import time
from collections.abc import Callable

from gemel.common.errors import GemelError
from gemel.shared.parties.offered_session import OfferedSession
from gemel.shared.session.relayed_channel import RelayedChannel

DONE = "done in"
"""Begins the line, after blanks, of a session that has ended well."""
AGAIN_SECONDS = 15.0
"""How often a stage that goes on has a line of its own."""


class ComputingScreen:
    """Lines about the sessions of a process."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._waiting = ""
        self._stage, self._at = "", 0.0

    def waits(self, title: str, address: str) -> None:
        """Nothing is to be done; written once for each time of waiting."""
        self._wait(f"Waiting for a computation of Carole's ({address}), as {title}.")

    def lost(self, error: GemelError) -> None:
        self._wait(f"Waiting for Carole: {error}")

    def begins(self, session: OfferedSession) -> None:
        self._waiting, self._stage = "", ""
        terms = session.terms
        others = " and ".join(terms.members[party] for party in (session.own.next, session.own.previous))
        self._write(f"Computing for project {terms.project}, run {terms.run[:8]}, with {others}.")

    def progress(self, channel: RelayedChannel, stage: str, fraction: float) -> None:
        now = time.monotonic()
        if stage != self._stage or now - self._at >= AGAIN_SECONDS:
            self._stage, self._at = stage, now
            self._write(f"  {stage}: {fraction:.0%}; {_sizes(channel)}")

    def ends(self, channel: RelayedChannel, seconds: float) -> None:
        self._write(f"  {DONE} {seconds:.1f} s; {_sizes(channel)}. Carole goes on by herself.")

    def fails(self, error: GemelError, *, begins_again: bool) -> None:
        self._waiting = ""
        self._write(f"  {'interrupted' if begins_again else 'failed'}: {error}")

    def _wait(self, line: str) -> None:
        if line != self._waiting:
            self._waiting = line
            self._write(line)


def _sizes(channel: RelayedChannel) -> str:
    return f"{channel.sent_bytes / 1e6:,.1f} MB sent, {channel.received_bytes / 1e6:,.1f} MB received"
