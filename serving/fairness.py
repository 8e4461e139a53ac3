"""Each member's share of a server, so that no member's calls, however many, keep another's from being answered.

A member has a rate of calls, a number of calls that may be pending, of those a number that are worked on at a time, and
beside them a number of waiting calls: long polls, which hold a thread of a pool of their own while there is no news.

=====================  =========================================================================================
above                  a call
=====================  =========================================================================================
the rate               waits for its turn; where that is far off, it is refused
the pending calls      is refused
the calls worked on    waits until one of the member's own ends
the waiting calls      is answered at once with what there is
=====================  =========================================================================================

A refusal (TOO_MANY_CALLS, with the seconds after which to try again) is held back for about a second, at the cost of no
thread: a caller that repeats its call at once is slowed by it. The times differ at random, or refusals that came
together would come again together, and other members' calls wait behind the wave. Callers who are no members share one
share.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.pki.members import Member

LONGEST_TURN_SECONDS = 2.0
"""A call waits no longer for its turn."""

HOLD_SECONDS = 1.0
MAX_HELD = 256
"""Refusals of one member that are held back at a time; further ones are sent at once."""

MAX_WORKING, MAX_WAITING = 16, 32
"""The most that one member may be given of a server's threads."""

LOG_SECONDS = 60.0

LONG_POLLS = frozenset(
    {"/linkage.v1.Custody/NextTask", "/linkage.v1.Coordination/WatchRun", "/grpc.health.v1.Health/Watch"}
)
"""Methods that hold a call until there is news."""

IN_LOOP = frozenset(
    f"/linkage.v1.Computation/{method}"
    for method in ("NextComputation", "AttendSession", "SendMessage", "ReceiveMessage", "EndComputation")
)
"""Methods that only wait and pass on what is in memory: answered on the event loop, so that they hold no thread."""

COSTS = {
    **{f"/linkage.v1.Custody/{name}": 0.25 for name in ("PutChunk", "FetchArtifact", "PutArtifact", "FetchResult")},
    **{f"/linkage.v1.Coordination/{name}": 0.25 for name in ("FetchArtifact", "PutArtifact")},
    "/linkage.v1.Computation/FetchSet": 0.25,
    **dict.fromkeys(("/linkage.v1.Computation/SendMessage", "/linkage.v1.Computation/ReceiveMessage"), 0.01),
    "/linkage.v1.Custody/BeginUpload": 5.0,
}
"""What a call takes of its member's rate, where that is not 1.

A large file is thousands of calls that each carry a chunk of up to 1 MiB; an upload begins with a manifest to be parsed
and a commit. A computation in mode shared is hundreds of messages a second, which cost no thread: no party waits for
its turn there, and a caller that does nothing else is bounded all the same. One that is refused costs a whole call.
"""

log = structlog.get_logger()


@dataclass(frozen=True)
class MemberLimits:
    """What one member may use of a server."""

    calls_per_second: float = 50.0
    burst: int = 200
    """Sustained rate, and how many calls may come at once after a pause. A call with a chunk counts a quarter, the
    beginning of an upload five."""
    pending: int = 64
    """Calls that have come and are not answered yet."""
    working: int = 4
    """Of these, calls that are worked on."""
    waiting: int = 8
    """Long polls that are held."""


OWN_LIMITS = MemberLimits(calls_per_second=1000.0, burst=10_000, pending=1024, working=MAX_WORKING, waiting=MAX_WAITING)
"""Of the service's own processes: Carole's workers, of which there may be many, call as one member."""


class TokenBucket:
    """A rate with a burst: tokens come at `rate` a second, and at most `burst` are kept."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._tokens, self._at = float(burst), clock()

    def take(self, longest: float, tokens: float = 1.0) -> tuple[bool, float]:
        """Take tokens, in advance if need be; whether they were taken, and the seconds until they are there. They are
        not taken if that is more than `longest` seconds."""
        now = self._clock()
        self._tokens = min(float(self._burst), self._tokens + (now - self._at) * self._rate)
        self._at = now
        seconds = max(0.0, (tokens - self._tokens) / self._rate)
        if seconds > longest:
            return False, seconds
        self._tokens -= tokens
        return True, seconds


class MemberShare:
    """One member's calls on one server; used on the event loop alone."""

    def __init__(self, member: Member | None, limits: MemberLimits) -> None:
        self.member, self._limits = member, limits
        self._bucket = TokenBucket(limits.calls_per_second, limits.burst)
        self._pending = self._held = self._refused = 0
        self._logged = float("-inf")
        self.slots = asyncio.Semaphore(limits.working)
        """Of calls that are worked on."""
        self.places = asyncio.Semaphore(limits.waiting)
        """Of long polls."""

    @asynccontextmanager
    async def admitted(self, method: str) -> AsyncIterator[None]:
        """A call of this member, from its arrival to its end, once it is its turn."""
        if self._pending >= self._limits.pending:
            await self._refuse(f"more than {self._limits.pending} calls at a time", HOLD_SECONDS)
        taken, seconds = self._bucket.take(LONGEST_TURN_SECONDS, COSTS.get(method, 1.0))
        if not taken:
            await self._refuse(f"more than {self._limits.calls_per_second:g} calls a second", seconds)
        self._pending += 1
        try:
            if seconds > 0:
                await asyncio.sleep(seconds)
            yield
        finally:
            self._pending -= 1

    def charge(self) -> None:
        """Take a whole call from the rate, in advance if need be: one that costs little was refused."""
        self._bucket.take(float("inf"))

    async def _refuse(self, got: str, seconds: float) -> None:
        self._log(got)
        if self._held < MAX_HELD:
            self._held += 1
            try:
                await asyncio.sleep(min(seconds, HOLD_SECONDS) * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
            finally:
                self._held -= 1
        what = "this member makes more calls than its share"
        remedy = (
            "the call is to be repeated a little later; if this goes on, see whether a program of this member's"
            " runs twice"
        )
        raise GemelError(ErrorCode.TOO_MANY_CALLS, what, got=got, remedy=remedy, retry_seconds=seconds)

    def _log(self, reason: str) -> None:
        """One line a minute for each member, or its refusals would fill the log."""
        self._refused += 1
        now = time.monotonic()
        if now - self._logged >= LOG_SECONDS:
            name = "" if self.member is None else self.member.name
            log.warning("calls above a member's share", member=name, reason=reason, refused=self._refused)
            self._logged, self._refused = now, 0
