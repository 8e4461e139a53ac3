"""The process that computes for the coordinator or for a steward: from one session to the next, until it is stopped."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import replace

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import Role
from gemel.common.progress import Progress
from gemel.common.rpc.client import CONTROL_SECONDS
from gemel.common.rpc.computation_calls import WAIT_MS, ComputationCalls
from gemel.common.rpc.joined_session import JoinedSession, joined_session
from gemel.common.rpc.status import passes
from gemel.common.sharing.compute_parties import ComputeParty
from gemel.coordinator.client.connection import Client
from gemel.coordinator.computing.computing_screen import ComputingScreen
from gemel.coordinator.computing.offered_session import OfferedSession, verified
from gemel.protos.linkage.v1 import computation_pb2, computation_pb2_grpc

PROCESS_BYTES = 16
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.2, 10.0

Job = Callable[[JoinedSession, OfferedSession, Client, Progress], object]
"""What a party does in a session."""


class ComputeProcess:
    """Takes part in the computations that name a member."""

    def __init__(
        self,
        found: Client,
        role: Role,
        job: Job,
        screen: ComputingScreen,
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        self._ready = ready
        self._found, self._role, self._job, self._screen = found, role, job, screen
        self._process = secrets.token_bytes(PROCESS_BYTES)
        self._stub = found.connection.stub(computation_pb2_grpc.ComputationStub)

    def serve(self, *, once: bool = False) -> None:
        """Compute whatever comes; with `once` one computation, to its end.

        Raises
        ------
        GemelError
            With `once`, what the computation has failed by; AUDIT or SIGNATURE if Carole's log does not continue what
            this party has seen.
        """
        pause, wait_ms = _FIRST_PAUSE_SECONDS, 0
        while True:
            try:
                if wait_ms:
                    self._screen.waits(_PARTIES[self._role].title, self._found.connection.address)
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
        response = self._found.connection.call(self._stub.NextComputation, request, deadline=deadline)
        return response if response.project else None

    def _compute(self, offer: computation_pb2.NextComputationResponse) -> None:
        # The process may last for months: a member's key that was replaced meanwhile signs nothing any more.
        found, began = replace(self._found, members=self._found.trust.members), time.monotonic()
        calls = ComputationCalls(found.connection, offer.session, self._process)
        try:
            found.log.check()
            session = verified(offer, found.members, found.name)
        except GemelError as error:
            calls.give_up(error)
            raise
        self._screen.begins(session)
        calls.attend((), 0)
        members, identity, key = session.members, found.identity, SealingKey.load(found.folder.sealing)
        with joined_session(calls, session.own, session.terms, members, identity, key) as joined:
            self._job(
                joined, session, found, lambda stage, fraction: self._screen.progress(joined.channel, stage, fraction)
            )
        self._screen.ends(joined.channel, time.monotonic() - began)


_PARTIES = {Role.COORDINATOR: ComputeParty.COORDINATOR, Role.STEWARD: ComputeParty.STEWARD}
