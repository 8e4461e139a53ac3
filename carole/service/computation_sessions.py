"""Sessions of computations in mode shared: who takes part, who is away, how each ends.

A session is opened by Carole's worker for a run, and joined by the coordinator and the steward that the specification
names; once made it is of the event loop alone. It ends for all three when one gives it up, or was away for
`Absence.seconds`; a run may have another one then. Nothing of it is on disk: a restart of Carole's ends it too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gemel.carole.store.payloads.stored_sets import StoredContribution
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.logging_setup import log
from gemel.common.parties import ComputeParty, Side
from gemel.protos.linkage.v1 import computation_pb2
from gemel.shared.session.handshake import link_name
from gemel.shared.session.message_relay import CAPACITY_BYTES, Link

KEPT_SECONDS = 120.0
"""How long an ended session is remembered, so that each of its parties reads why it ended."""


@dataclass(frozen=True)
class Absence:
    """How long a party of a session may be away, seconds: without any call, and once its call's connection broke."""

    seconds: float = 20.0
    broken: float = 3.0


@dataclass
class Session:
    """One session: `joined` are those who take part, `done` those who have done their part."""

    project: str
    run: str
    number: bytes
    members: tuple[str, str, str]
    """Their names, by `ComputeParty`."""
    offers: Mapping[ComputeParty, computation_pb2.NextComputationResponse]
    """What `NextComputation` answers to a party."""
    absence: Absence
    contributions: dict[Side, StoredContribution] = field(default_factory=dict, repr=False)
    """Readers of both, with their keys: no longer than the session."""
    capacity: int = CAPACITY_BYTES
    joined: set[ComputeParty] = field(default_factory=set)
    done: set[ComputeParty] = field(default_factory=set)
    ended: GemelError | None = None

    def __post_init__(self) -> None:
        pairs = [(sender, to) for sender in ComputeParty for to in ComputeParty if sender is not to]
        self.links = {
            (sender, to): Link(f"session, {link_name(sender, to)}", self.check, self.capacity) for sender, to in pairs
        }
        self._until: dict[ComputeParty, float] = {}
        self.processes: dict[ComputeParty, bytes] = {}
        self.changed = asyncio.Event()

    def party_of(self, member: str) -> ComputeParty:
        for party in ComputeParty:
            if self.members[party] == member:
                return party
        what = "the computation is for the three members that the specification names"
        raise GemelError(ErrorCode.NOT_ADMITTED, what, where="session", remedy="see `compute` in the specification")

    def check(self) -> None:
        """Raise the error by which the session has ended, if it has."""
        if self.ended is not None:
            raise self.ended

    def seen(self, party: ComputeParty) -> None:
        """A call of a party has come."""
        self._until[party] = _now() + self.absence.seconds

    def broken(self, party: ComputeParty) -> None:
        """The connection of a party's call has broken: it is soon missed if it does not call again."""
        self._until[party] = min(self._until.get(party, 0.0), _now() + self.absence.broken)

    def join(self, party: ComputeParty, process: bytes) -> None:
        """A party takes part; one process of each."""
        self.check()
        if self.processes.setdefault(party, process) != process:
            what = "another process of this member takes part in the session"
            remedy = "let one process compute for a member; a second one goes on once the first has ended"
            raise GemelError(ErrorCode.WRONG_STATE, what, where="session", remedy=remedy)
        self.seen(party)
        if party not in self.joined:
            self.joined.add(party)
            self.wake()

    def finish(self, party: ComputeParty) -> None:
        """A party has done its part; the session ends well once all have."""
        self.done.add(party)
        if len(self.done) == len(ComputeParty):
            self.end(lost("all parties have done their part"))

    def end(self, error: GemelError) -> None:
        """End it for all, unless it has ended before."""
        if self.ended is None:
            self.ended = error
            for link in self.links.values():
                link.clear()
            self.contributions.clear()
            self.wake()

    def wake(self) -> None:
        """Let those who attend look again."""
        self.changed.set()
        self.changed = asyncio.Event()

    def excuse(self, seconds: float) -> None:
        """Carole has herself answered no one for so long: no party was away meanwhile."""
        for party in self._until:
            self._until[party] += seconds

    def absent(self) -> ComputeParty | None:
        """A party that has joined and is away for too long."""
        late = (party for party in self.joined - self.done if self._until[party] < _now())
        return next(late, None)

    @property
    def held_bytes(self) -> int:
        """Bytes of messages that wait."""
        return sum(link.held_bytes for link in self.links.values())


class Sessions:
    def __init__(self, absence: Absence | None = None, capacity: int = CAPACITY_BYTES) -> None:
        self.absence, self.capacity = absence or Absence(), capacity
        self._by_number: dict[bytes, Session] = {}
        self._watches: set[asyncio.Task[None]] = set()
        self.closed = False
        """Whether Carole stops: nothing is waited for any more."""
        self.changed = asyncio.Event()

    async def add(self, session: Session) -> None:
        """Offer a session; a former one of its run ends."""
        if session.number in self._by_number:
            raise parameter("session", "the session's number must be new")
        for former in self._living():
            if (former.project, former.run) == (session.project, session.run):
                former.end(lost("Carole has opened another one for the run"))
        self._by_number[session.number] = session
        session.join(ComputeParty.CAROLE, b"")
        watch = asyncio.get_running_loop().create_task(self._watch(session))
        self._watches.add(watch)
        watch.add_done_callback(self._watches.discard)
        self.changed.set()
        self.changed = asyncio.Event()

    async def close(self) -> None:
        """End every session, and let every call that waits return."""
        self.closed = True
        for session in self._living():
            session.end(lost("Carole's service stops"))
        for watch in self._watches:
            watch.cancel()
        self.changed.set()

    def known(self, number: bytes, member: str) -> tuple[Session, ComputeParty]:
        """A session, and which of its parties a member is; NOT_FOUND if there is none, or no longer; NOT_ADMITTED."""
        session = self._by_number.get(number)
        if session is None:
            raise lost("there is no such session, or no longer")
        party = session.party_of(member)
        session.seen(party)
        return session, party

    def offered(self, member: str, process: bytes) -> computation_pb2.NextComputationResponse | None:
        """The session that waits for a member; one that the same process had joined it has left."""
        for session in self._living():
            if member in session.members:
                party = session.party_of(member)
                if party in session.done:
                    continue  # others may still have messages of it to receive
                if session.processes.get(party) == process:
                    session.end(lost(f"{party.title} has left it"))
                elif party not in session.joined and party in session.offers:
                    return session.offers[party]
        return None

    def _living(self) -> Iterator[Session]:
        return (session for session in list(self._by_number.values()) if session.ended is None)

    async def _watch(self, session: Session) -> None:
        """End a session whose party is away; forget it a while after its end."""
        pause = min(1.0, session.absence.broken / 2)
        while session.ended is None:
            if (party := session.absent()) is not None:
                log.warning("computation broken", project=session.project, run=session.run, absent=party.title)
                session.end(lost(f"{party.title} does not answer any more"))
            before = _now()
            await asyncio.sleep(pause)
            session.excuse(_now() - before - pause)
        await asyncio.sleep(KEPT_SECONDS)
        del self._by_number[session.number]


def lost(why: str) -> GemelError:
    """The error of a session that has ended without anybody's fault."""
    remedy = "another one may be opened"
    return GemelError(ErrorCode.NOT_FOUND, f"the session has ended: {why}", where="session", remedy=remedy)


def _now() -> float:
    return asyncio.get_running_loop().time()
