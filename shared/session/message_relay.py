"""Messages between the three parties of a computation, passed on in memory; of the event loop alone.

Between each two parties there is a link each way: parts of messages, numbered by their sender, kept until their
receiver asks for the one after. So a repeated call gets or sends the same again, whatever answer was lost. What waits
on a link is bounded: a sender waits until there is room. The relay reads no message, and is trusted with nothing but to
deliver.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from gemel.common.errors import GemelError, parameter

CAPACITY_BYTES = 16 << 20
"""Of a link; one part always fits, so six links of a session hold at most a little more than 96 MiB."""
PART_OVERHEAD_BYTES = 512
"""What a part takes besides its bytes, about."""
MAX_PARTS = 4096
"""Of a message."""


@dataclass(frozen=True)
class MessagePart:
    """A part of a message: which, of how many, and its bytes, sealed by its sender."""

    number: int
    part: int
    parts: int
    data: bytes = field(repr=False)

    @property
    def size(self) -> int:
        """Bytes that it takes, also where it is empty."""
        return len(self.data) + PART_OVERHEAD_BYTES

    @property
    def place(self) -> tuple[int, int]:
        """Its place among all parts of its link."""
        return self.number, self.part


class Link:
    def __init__(self, name: str, check: Callable[[], None], capacity: int = CAPACITY_BYTES) -> None:
        self._name, self._check, self._capacity = name, check, capacity
        self._held: deque[MessagePart] = deque()
        self._awaited, self._confirmed = (0, 0), (0, 0)
        self._changed: set[asyncio.Future[None]] = set()
        self._calls = 0
        self.held_bytes = 0
        """What waits."""

    async def put(self, given: MessagePart, seconds: float) -> bool:
        """Take a part, or have taken it before; False if there was no room for so long, or a later call has come.

        Raises `GemelError`: PARAMETER for a part that is not the next one; the session's own error.
        """
        if not 0 <= given.part < given.parts <= MAX_PARTS:
            raise self._refusal(f"part {given.part} of {given.parts}")
        end = asyncio.get_running_loop().time() + seconds
        # A call that waits holds its part; a sender, who sends one after the other, needs one of them.
        self._calls += 1
        call = self._calls
        self.wake()
        while True:
            self._check()
            if given.place < self._awaited:
                return True
            if given.place != self._awaited:
                raise self._refusal(f"part {given.part} of message {given.number}")
            if not self._held or self.held_bytes + given.size <= self._capacity:
                break
            if call != self._calls or not await self._wait(end):
                return False
        self._held.append(given)
        self.held_bytes += given.size
        ended = given.part + 1 == given.parts
        self._awaited = (given.number + 1, 0) if ended else (given.number, given.part + 1)
        self.wake()
        return True

    async def take(self, number: int, part: int, seconds: float) -> MessagePart | None:
        """A part, once it is there; None if it does not come for so long. Those before it are dropped.

        Raises `GemelError`: PARAMETER for a part that was confirmed before; the session's own error.
        """
        place, end = (number, part), asyncio.get_running_loop().time() + seconds
        if place < self._confirmed or place > self._awaited:
            raise self._refusal(f"a request for part {part} of message {number}")
        self._confirmed = place
        dropped = False
        while self._held and self._held[0].place < place:
            self.held_bytes -= self._held.popleft().size
            dropped = True
        if dropped:
            self.wake()
        while True:
            self._check()
            if self._held and self._held[0].place == place:
                return self._held[0]
            if place < self._confirmed or not await self._wait(end):
                return None

    def wake(self) -> None:
        changed, self._changed = self._changed, set()
        for future in changed:
            _give_up(future)

    def clear(self) -> None:
        """Drop what waits: the session has ended."""
        self._held.clear()
        self.held_bytes = 0
        self.wake()

    async def _wait(self, end: float) -> bool:
        loop = asyncio.get_running_loop()
        left = end - loop.time()
        if left <= 0:
            return False
        future: asyncio.Future[None] = loop.create_future()
        self._changed.add(future)
        timer = loop.call_later(left, _give_up, future)
        try:
            await future
        except asyncio.CancelledError:
            self._changed.discard(future)
            raise
        finally:
            timer.cancel()
        return True

    def _refusal(self, got: str) -> GemelError:
        number, part = self._awaited
        what = f"messages of a session come in order, and part {part} of message {number} is the next to be sent"
        return parameter(self._name, what, got)


def _give_up(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
