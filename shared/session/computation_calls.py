"""The calls of one party of a computation in mode shared, in one session."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import ComputeParty, Side
from gemel.common.rpc.client import CHUNK_SECONDS, CONTROL_SECONDS, Connection
from gemel.common.rpc.status import for_others
from gemel.common.wire.chunks import chunk_count, chunk_size
from gemel.common.wire.parties import party_from_wire, party_to_wire, side_to_wire
from gemel.protos.linkage.v1 import computation_pb2, computation_pb2_grpc

WAIT_MS = 5000
"""How long Carole holds a call that waits."""
MAX_TEXT = 500
_ATTEMPTS = 3


class ComputationCalls:
    """One party's calls to Carole's service in a session, a number of 16 bytes; `process` is this one's, none of her
    worker.

    Raises `GemelError`, by each call but `give_up`: UNAVAILABLE once the session has ended without anybody's fault, or
    where Carole does not answer; DEVIATION, or WRONG_STATE with the words of the party that has given up; NOT_ADMITTED
    for a member that is no party of it.
    """

    def __init__(self, connection: Connection, session: bytes, process: bytes = b"") -> None:
        self._connection, self._session, self._process = connection, session, process
        self._stub = connection.stub(computation_pb2_grpc.ComputationStub)

    def open(self, project: str, run: str) -> None:
        """Announce the session: Carole's worker."""
        request = computation_pb2.OpenSessionRequest(project=project, run=run, session=self._session)
        # Not repeated: a session of this number would be there already. The worker opens another one.
        self._connection.call(self._stub.OpenSession, request, deadline=CHUNK_SECONDS)

    def attend(self, known: Collection[ComputeParty], wait_ms: int = WAIT_MS) -> frozenset[ComputeParty]:
        """Take part, until others than those `known` have joined, or for `wait_ms`; who has joined."""
        present = [party_to_wire(each) for each in known]
        about = {"session": self._session, "process": self._process}
        request = computation_pb2.AttendSessionRequest(**about, wait_ms=wait_ms, present=present)
        response = self._call(self._stub.AttendSession, request, CONTROL_SECONDS + wait_ms / 1000)
        return frozenset(party_from_wire(each) for each in response.present)

    def send(self, to: ComputeParty, number: int, part: int, parts: int, data: bytes) -> None:
        """Send a part of a message, once there is room for it."""
        request = computation_pb2.SendMessageRequest(
            session=self._session, to=party_to_wire(to), number=number, part=part, parts=parts, data=data
        )
        while not self._call(self._stub.SendMessage, request, CHUNK_SECONDS).taken:
            pass  # she has held the call for some seconds

    def receive(self, sender: ComputeParty, number: int, part: int) -> tuple[int, bytes] | None:
        """The number of parts of a message and the bytes of one, or None if it has not come for `WAIT_MS`."""
        request = computation_pb2.ReceiveMessageRequest(
            session=self._session, sender=party_to_wire(sender), number=number, part=part, wait_ms=WAIT_MS
        )
        response = self._call(self._stub.ReceiveMessage, request, CHUNK_SECONDS)
        return (response.parts, response.data) if response.parts else None

    def chunks_of_set(self, side: Side, number: int, total_bytes: int, requested_bytes: int) -> Iterator[bytes]:
        """Those chunks of one set of a contribution, of so many bytes by the layout, that have its first
        `requested_bytes`.
        """
        asked = partial(computation_pb2.FetchSetRequest, session=self._session, side=side_to_wire(side), set=number)
        for index in range(chunk_count(requested_bytes)):
            data = self._call(self._stub.FetchSet, asked(index=index), CHUNK_SECONDS).data
            expected = chunk_size(index, total_bytes)
            if len(data) != expected:
                what = f"chunk {index} of set {number} has {expected} bytes by the layout"
                where = f"contribution of {side}"
                remedy = "try again; if the error persists, report it to Carole's operator"
                raise GemelError(ErrorCode.UPLOAD_CORRUPT, what, where=where, got=f"{len(data)} bytes", remedy=remedy)
            yield data

    def finish(self) -> None:
        self._call(self._stub.EndComputation, computation_pb2.EndComputationRequest(session=self._session))

    def give_up(self, error: GemelError) -> None:
        """End the session for all; what the others read of a failure of this party's own is its kind alone, of a
        deviation all.
        """
        shown = for_others(error)
        text = f"{shown.where}: {shown.what}" if shown.where else shown.what
        if shown.code is ErrorCode.DEVIATION and shown.got:
            text = f"{text}, got {shown.got}"
        request = computation_pb2.EndComputationRequest(
            session=self._session, code=int(error.code), what=text[:MAX_TEXT]
        )
        # Where this fails it has ended, or Carole is away and will miss this party.
        with suppress(GemelError):
            self._call(self._stub.EndComputation, request)

    def _call(self, method: Any, request: Any, deadline: float = CONTROL_SECONDS) -> Any:
        try:
            return self._connection.call(method, request, deadline=deadline, attempts=_ATTEMPTS)
        except GemelError as error:
            if error.code is not ErrorCode.NOT_FOUND:
                raise
            raise GemelError(ErrorCode.UNAVAILABLE, error.what, where=error.where, remedy=error.remedy) from None
