"""Three parties in one process, a thread each: for tests, benchmarks, and a linkage without services.

What they compute and send is what three processes would; only the carrier is a queue.
"""

from __future__ import annotations

import hashlib
import queue
import secrets
import threading
from collections.abc import Callable
from typing import TypeVar

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import ComputeParty
from gemel.shared.gates.channel import Channel
from gemel.shared.gates.party import Party
from gemel.shared.gates.streams import KEY_BYTES

Result = TypeVar("Result")
Queues = dict[tuple[ComputeParty, ComputeParty], "queue.SimpleQueue[bytes | None]"]


class LocalChannel:
    """A party's end of the queues between three parties of one process."""

    def __init__(self, own: ComputeParty, queues: Queues) -> None:
        self.own = own
        self._queues = queues

    def send(self, to: ComputeParty, content: bytes | bytearray | memoryview) -> None:
        self._queues[self.own, to].put(bytes(content))

    def receive(self, sender: ComputeParty) -> bytes:
        """The next message of a party; UNAVAILABLE if the session has ended."""
        content = self._queues[sender, self.own].get()
        if content is None:
            # For whoever asks next.
            self._queues[sender, self.own].put(None)
            raise GemelError(ErrorCode.UNAVAILABLE, "the session of the three parties has ended")
        return content

    def end(self) -> None:
        """End the session: whoever waits for this party's messages, or will, gets UNAVAILABLE."""
        for (sender, _), messages in self._queues.items():
            if sender == self.own:
                messages.put(None)


class LocalParty(Party):
    """A party whose messages go through queues of its process."""

    def __init__(
        self, keys: tuple[bytes, bytes], local: LocalChannel, wrapped: Callable[[LocalChannel], Channel]
    ) -> None:
        super().__init__(local.own, keys, wrapped(local))
        self._local = local

    def end(self) -> None:
        self._local.end()


Parties = tuple[LocalParty, LocalParty, LocalParty]


def local_parties(
    seed: bytes | None = None, wrapped: Callable[[LocalChannel], Channel] = lambda channel: channel
) -> Parties:
    """Three parties with keys of their own, connected by queues.

    Keys are derived from a `seed`, for what must come out the same each time; `wrapped`: what a party uses instead of
    its channel; tests change messages in it.
    """
    queues: Queues = {(a, b): queue.SimpleQueue() for a in ComputeParty for b in ComputeParty if a != b}
    keys = [
        secrets.token_bytes(KEY_BYTES) if seed is None else hashlib.sha256(b"local %d " % n + seed).digest()
        for n in range(3)
    ]
    one, two, three = (
        LocalParty((keys[own], keys[own.next]), LocalChannel(own, queues), wrapped) for own in ComputeParty
    )
    return one, two, three


def together(parties: Parties, *functions: Callable[[Party], Result]) -> tuple[Result, Result, Result]:
    """Run a function with each party, or one for each, in three threads; their three results.

    Raises the first error of any of them that is not only the end of the session; it ends the others.
    """
    each = functions * 3 if len(functions) == 1 else functions
    results: list[Result | None] = [None] * 3
    errors: list[BaseException] = []

    def run(place: int) -> None:
        try:
            results[place] = each[place](parties[place])
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            errors.append(error)
            parties[place].end()

    threads = [threading.Thread(target=run, args=(place,), name=f"party-{place}") for place in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise min(errors, key=lambda error: isinstance(error, GemelError) and error.code is ErrorCode.UNAVAILABLE)
    return tuple(results)  # type: ignore[return-value]
