"""The process that computes for the coordinator or for a steward: from one session to the next, until it is stopped."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

from gemel.carole.engine.run.specified import plan_of
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import ComputeParty, Role, Side
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.members import Members
from gemel.common.progress import Progress
from gemel.common.rpc.client import CONTROL_SECONDS, Connection
from gemel.common.rpc.status import passes
from gemel.common.witnessing.log_reader import LogReader
from gemel.protos.linkage.v1 import computation_pb2, computation_pb2_grpc
from gemel.shared.parties.computing_screen import ComputingScreen
from gemel.shared.parties.offered_session import OfferedSession, verified
from gemel.shared.run.job import Terms, assist
from gemel.shared.session.computation_calls import WAIT_MS, ComputationCalls
from gemel.shared.session.fetched_contribution import fetched_contribution
from gemel.shared.session.joined_session import JoinedSession, joined_session, row_part

PROCESS_BYTES = 16
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.2, 10.0
MEMORY_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
"""What a computation may use: all that the machine has. Carole's, which needs more, is bounded by her configuration."""


class Member(Protocol):
    """The coordinator or a steward, connected to Carole."""

    @property
    def name(self) -> str: ...
    @property
    def connection(self) -> Connection: ...
    @property
    def identity(self) -> Identity: ...
    @property
    def folder(self) -> PartyFolder: ...
    @property
    def members(self) -> Members: ...
    @property
    def log(self) -> LogReader: ...

    def at_present(self) -> Member:
        """The same member, with the list of members as it is now."""


Job = Callable[[JoinedSession, OfferedSession, Member, Progress], object]


class ComputeProcess:
    """Takes part in the computations that name a member."""

    def __init__(
        self, member: Member, role: Role, job: Job, screen: ComputingScreen, ready: Callable[[], None] = lambda: None
    ) -> None:
        self._ready = ready
        self._member, self._role, self._job, self._screen = member, role, job, screen
        self._process = secrets.token_bytes(PROCESS_BYTES)
        self._stub = member.connection.stub(computation_pb2_grpc.ComputationStub)

    def serve(self, *, once: bool = False) -> None:
        """Compute whatever comes; with `once` one computation, to its end, with the error that it has failed by.

        Raises `GemelError`: AUDIT or SIGNATURE if Carole's log does not continue what this party has seen.
        """
        pause, wait_ms = _FIRST_PAUSE_SECONDS, 0
        while True:
            try:
                if wait_ms:
                    self._screen.waits(_PARTIES[self._role].title, self._member.connection.address)
                offer = self._next(wait_ms)
                if not wait_ms:
                    self._ready()
                    wait_ms = WAIT_MS
                pause = _FIRST_PAUSE_SECONDS
            except GemelError as error:
                if not passes(error.code):
                    raise
                self._screen.lost(error)
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
                continue
            if offer is None:
                continue
            try:
                self._compute(offer)
            except GemelError as error:
                begins_again = error.code is ErrorCode.UNAVAILABLE
                self._screen.fails(error, begins_again=begins_again)
                if once and not begins_again:
                    raise
                time.sleep(_FIRST_PAUSE_SECONDS)
            else:
                if once:
                    return

    def _next(self, wait_ms: int) -> computation_pb2.NextComputationResponse | None:
        request = computation_pb2.NextComputationRequest(wait_ms=wait_ms, process=self._process)
        deadline = CONTROL_SECONDS + wait_ms / 1000
        response = self._member.connection.call(self._stub.NextComputation, request, deadline=deadline)
        return response if response.project else None

    def _compute(self, offer: computation_pb2.NextComputationResponse) -> None:
        # The process may last for months: a member's key that was replaced meanwhile signs nothing any more.
        member, began = self._member.at_present(), time.monotonic()
        calls = ComputationCalls(member.connection, offer.session, self._process)
        try:
            member.log.check()
            session = verified(offer, member.members, member.name)
        except GemelError as error:
            calls.give_up(error)
            raise
        self._screen.begins(session)
        calls.attend((), 0)
        members, identity, key = session.members, member.identity, SealingKey.load(member.folder.sealing)
        with joined_session(calls, session.own, session.terms, members, identity, key) as joined:
            self._job(joined, session, member, partial(self._screen.progress, joined.channel))
        self._screen.ends(joined.channel, time.monotonic() - began)


_PARTIES = {Role.COORDINATOR: ComputeParty.COORDINATOR, Role.STEWARD: ComputeParty.STEWARD}


def take_part(joined: JoinedSession, offered: OfferedSession, member: Member, progress: Progress) -> None:
    """This party's part of a computation; as `fetched_contribution` and `shared.run.job.assist`."""
    key = SealingKey.load(member.folder.sealing)
    progress("agree", 0.0)
    about = offered.spec, offered.epoch, member.members, offered.own, member.name, key
    contributions = [fetched_contribution(joined.calls, given, *about) for given in offered.inputs]
    by_side = {each.upload.side: each for each in contributions}
    if len(contributions) != len(Side) or len(by_side) != len(Side):
        what = "a contribution of Alice and one of Bob are compared"
        where = f"project {offered.terms.project}"
        got = f"{len(contributions)} of {' and '.join(side.title() for side in by_side) or 'no one'}"
        raise GemelError(ErrorCode.ENCODING_MISMATCH, what, where=where, got=got, remedy="ask Carole's operator")
    uploads = {side: each.upload.upload for side, each in by_side.items()}
    terms = Terms(offered.terms.specification_digest, plan_of(offered.spec), MEMORY_BYTES)
    own = row_part(joined, member.identity, member.members, uploads)
    assist(joined.party(), (by_side[Side.ALICE], by_side[Side.BOB]), terms, own, progress)
