"""Carole's service for the three parties of a computation in mode shared: her worker, the coordinator, a steward.

It hands out sessions, and sets of the contributions to those in a session, and passes messages on. All but
`OpenSession` and `FetchSet` is answered on the event loop, from memory (`serving.fairness.IN_LOOP`).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from grpc import ServicerContext

from gemel.carole.projects.project import Project
from gemel.carole.service.computation_sessions import Absence, Session, Sessions, lost
from gemel.carole.service.context import ServiceContext, known_id, project_name
from gemel.carole.service.wire import approvals_to_wire
from gemel.carole.store.payloads.stored_sets import StoredContribution, StoredSet
from gemel.carole.store.uploads import SharesOfUpload
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.logging_setup import log
from gemel.common.parties import ComputeParty, Side
from gemel.common.pki.members import compute_members
from gemel.common.rpc.status import MAX_MESSAGE_BYTES
from gemel.common.rpc.trust import Trust
from gemel.common.signatures.layout import CODES, KNOWN
from gemel.common.specification import Specification
from gemel.common.wire.chunks import CHUNK_BYTES
from gemel.common.wire.manifest import Manifest, manifest_to_wire
from gemel.common.wire.parties import party_from_wire, party_to_wire, side_from_wire
from gemel.protos.linkage.v1 import computation_pb2 as pb
from gemel.protos.linkage.v1 import computation_pb2_grpc
from gemel.serving.dispatch import run_in_loop
from gemel.serving.server import caller
from gemel.shared.session.handshake import SESSION_BYTES
from gemel.shared.session.message_relay import MessagePart

# A run of mode shared as it is offered to the coordinator and the steward, who verify all of it themselves.


@dataclass(frozen=True)
class ComputedRun:
    spec: Specification
    offer: pb.NextComputationResponse
    contributions: Mapping[Side, StoredContribution]


def computed_run(service: ServiceContext, name: str, run: str) -> ComputedRun:
    text, spec = service.specification(name)
    project = service.store.projects.get(name)
    active = project.active_run
    if active is None or active.run != run or spec.mode != "shared":
        what = "the run is not active, or not of mode shared"
        raise GemelError(ErrorCode.WRONG_STATE, what, where=f"{name}, run {run}")
    opened = {side: service.store.uploads.open(name, side) for side in Side}
    inputs = [_input(project, side, service.store.uploads.shares(name, side)) for side in Side]
    offer = pb.NextComputationResponse(
        project=name,
        specification=text,
        run=run,
        epoch=project.epoch,
        approvals=approvals_to_wire(project),
        inputs=inputs,
    )
    return ComputedRun(spec, offer, opened)


def require_size(offer: pb.NextComputationResponse) -> None:
    """Refuse an offer that fits into no message, with UPLOAD_LIMIT."""
    if offer.ByteSize() > MAX_MESSAGE_BYTES:
        what = "the specification and the layouts of both contributions must fit into a message"
        got = f"{offer.ByteSize()} bytes for {MAX_MESSAGE_BYTES}"
        raise GemelError(ErrorCode.UPLOAD_LIMIT, what, where=offer.project, got=got)


def _input(project: Project, side: Side, found: SharesOfUpload) -> pb.ComputationInput:
    manifest = Manifest(
        project.name,
        side,
        found.epoch,
        project.encoding_digest,
        project.reports[side].key_check_value,
        found.layout,
        found.sealed_seeds,
    )
    return pb.ComputationInput(upload=found.upload, manifest=manifest_to_wire(manifest))


MAX_WAIT_MS = 5000
MAX_TEXT = 500
PUT_SECONDS = 5.0
"""How long a sender waits for room before it calls again."""

_PROCESS_BYTES = 16

Response = TypeVar("Response")


class Computation(computation_pb2_grpc.ComputationServicer):
    def __init__(self, service: ServiceContext, trust: Trust, absence: Absence | None = None) -> None:
        self._service, self._store, self._trust = service, service.store, trust
        self.sessions = Sessions(absence)
        # A reader has a chunk in memory, and is of one thread at a time.
        self._reading = threading.Lock()

    def close(self) -> None:
        """End every session: Carole stops."""
        run_in_loop(self._close())

    async def _close(self) -> None:
        self.sessions.close()

    def OpenSession(self, request: pb.OpenSessionRequest, context: ServicerContext) -> pb.OpenSessionResponse:
        name, run, number = project_name(request.project), known_id(request.run), _session(request.session)
        run_in_loop(self._add(self._session_of(computed_run(self._service, name, run), number)))
        log.info("computation opened", project=name, run=run)
        return pb.OpenSessionResponse()

    def FetchSet(self, request: pb.FetchSetRequest, context: ServicerContext) -> pb.FetchSetResponse:
        """A chunk of one set of a contribution; not of the codes, which are Carole's alone."""
        session = run_in_loop(self._checked(request.session, caller(context).name))
        with self._reading:
            found = self._set(session, side_from_wire(request.side), request.set)
            start = found.start + request.index * CHUNK_BYTES
            stop = min(start + CHUNK_BYTES, found.start + found.layout.total_bytes)
            if start > stop or (start == stop and request.index):
                raise _no_such("chunk", request.index)
            return pb.FetchSetResponse(data=bytes(found.reader.read(start, stop)))

    async def NextComputation(
        self, request: pb.NextComputationRequest, context: ServicerContext
    ) -> pb.NextComputationResponse:
        """The session that waits for the caller; waits a little when there is none."""
        member, process = caller(context).name, request.process
        if len(process) != _PROCESS_BYTES:
            raise parameter("process", "a process has 16 random bytes", f"{len(process)} bytes")

        def look() -> pb.NextComputationResponse | None:
            if self.sessions.closed:
                return pb.NextComputationResponse()
            return self.sessions.offered(member, process)

        found = await _awaited(look, lambda: self.sessions.changed, _seconds(request.wait_ms, context), context)
        return found or pb.NextComputationResponse()

    async def AttendSession(
        self, request: pb.AttendSessionRequest, context: ServicerContext
    ) -> pb.AttendSessionResponse:
        """Take part; returns when others have joined, or an error once the session has ended."""
        session, party = self.sessions.known(request.session, caller(context).name)
        session.join(party, request.process)
        known = {party_from_wire(each) for each in request.present}

        def look() -> pb.AttendSessionResponse | None:
            session.check()
            if session.joined == known:
                return None
            return _present(session)

        try:
            found = await _awaited(look, lambda: session.changed, _seconds(request.wait_ms, context), context)
        except asyncio.CancelledError:
            session.broken(party)
            raise
        except GemelError:
            if party not in session.done:
                raise
            found = None
        session.seen(party)
        return found or _present(session)

    async def SendMessage(self, request: pb.SendMessageRequest, context: ServicerContext) -> pb.SendMessageResponse:
        """Take a part of a message, once there is room for it."""
        session, party = self.sessions.known(request.session, caller(context).name)
        to = party_from_wire(request.to)
        if to is party:
            raise parameter("to", "a party sends nothing to itself")
        part = MessagePart(request.number, request.part, request.parts, request.data)
        return pb.SendMessageResponse(taken=await session.links[party, to].put(part, PUT_SECONDS))

    async def ReceiveMessage(
        self, request: pb.ReceiveMessageRequest, context: ServicerContext
    ) -> pb.ReceiveMessageResponse:
        """A part of a message from another party, waited for."""
        session, party = self.sessions.known(request.session, caller(context).name)
        sender = party_from_wire(request.sender)
        if sender is party:
            raise parameter("sender", "a party receives nothing from itself")
        seconds = _seconds(request.wait_ms, context)
        try:
            found = await session.links[sender, party].take(request.number, request.part, seconds)
        except GemelError:
            if party not in session.done:
                raise
            found = None  # who has done its part waits for nothing
        if found is None:
            return pb.ReceiveMessageResponse()
        return pb.ReceiveMessageResponse(parts=found.parts, data=found.data)

    async def EndComputation(
        self, request: pb.EndComputationRequest, context: ServicerContext
    ) -> pb.EndComputationResponse:
        """The caller has done its part, or ends the session for all."""
        session, party = self.sessions.known(request.session, caller(context).name)
        if request.code == 0:
            session.finish(party)
        elif session.ended is None:
            error = _given_up(party, request)
            log.warning(
                "computation given up", project=session.project, run=session.run, by=party.title, error=str(error)
            )
            session.end(error)
        return pb.EndComputationResponse()

    def _session_of(self, found: ComputedRun, number: bytes) -> Callable[[], Session]:
        members = compute_members(self._trust.members, found.spec)
        names = (members[0].name, members[1].name, members[2].name)
        offers = {}
        for party in (ComputeParty.COORDINATOR, ComputeParty.STEWARD):
            offers[party] = offer = pb.NextComputationResponse()
            offer.CopyFrom(found.offer)
            offer.session = number
            require_size(offer)
        sessions, contributions = self.sessions, dict(found.contributions)
        project, run = found.offer.project, found.offer.run
        return lambda: Session(project, run, number, names, offers, sessions.absence, contributions, sessions.capacity)

    async def _add(self, make: Callable[[], Session]) -> None:
        self.sessions.add(make())

    async def _checked(self, number: bytes, member: str) -> Session:
        session, _ = self.sessions.known(number, member)
        session.check()
        return session

    def _set(self, session: Session, side: Side, number: int) -> StoredSet:
        there = session.contributions.get(side)
        if there is None or not self._store.projects.get(session.project).contributed(side):
            raise lost("a contribution is no longer there")
        if number >= len(there.layout.sets):
            raise _no_such("set", number)
        if there.layout.sets[number].rule in (CODES, *KNOWN):
            what = "codes of variables are no part of the computation"
            raise GemelError(ErrorCode.NOT_ADMITTED, what, where=f"set {number}")
        return there.reference(number)


async def _awaited(
    look: Callable[[], Response | None],
    changed: Callable[[], asyncio.Event],
    seconds: float,
    context: ServicerContext,
) -> Response | None:
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while True:
        event = changed()
        found = look()
        left = end - loop.time()
        if found is not None or left <= 0 or not context.is_active():
            return found
        try:
            await asyncio.wait_for(event.wait(), left)
        except TimeoutError:
            return look()


def _seconds(wait_ms: int, context: ServicerContext) -> float:
    remaining = context.time_remaining() or 0.0
    return min(wait_ms, MAX_WAIT_MS) / 1000 if remaining > MAX_WAIT_MS / 1000 else max(0.0, remaining - 0.5)


def _present(session: Session) -> pb.AttendSessionResponse:
    return pb.AttendSessionResponse(present=[party_to_wire(each) for each in sorted(session.joined)])


def _given_up(party: ComputeParty, request: pb.EndComputationRequest) -> GemelError:
    """What the others read: who gave up, and why in its words, which are another organisation's."""
    words = "".join(sign if sign.isprintable() else " " for sign in request.what)[:MAX_TEXT]
    if request.code == ErrorCode.DEVIATION:
        remedy = "find out with the others whose program or machine was changed, before another run"
        return GemelError(ErrorCode.DEVIATION, words, where=f"computation, as {party.title} found", remedy=remedy)
    if request.code == ErrorCode.UNAVAILABLE:
        return lost(f"{party.title} has left it")
    remedy = "start another run when this has been put right"
    return GemelError(ErrorCode.WRONG_STATE, f"{party.title} cannot go on: {words}", where="computation", remedy=remedy)


def _session(given: bytes) -> bytes:
    if len(given) != SESSION_BYTES:
        what = f"a session's number has {SESSION_BYTES} bytes"
        raise parameter("session", what, f"{len(given)} bytes")
    return given


def _no_such(what: str, number: int) -> GemelError:
    return GemelError(ErrorCode.NOT_FOUND, f"there is no such {what}", where=f"{what} {number}")
