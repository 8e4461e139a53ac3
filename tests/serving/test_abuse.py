"""What strangers and broken callers send: nothing of it stops a service."""

from __future__ import annotations

import contextlib
import gzip
import socket
import ssl
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from gemel.common.parties import PARTIES
from gemel.common.rpc.access import OWN_PROTOCOL
from gemel.common.rpc.status import MAX_MESSAGE_BYTES
from gemel.common.rpc.tls import channel_credentials
from gemel.coordinator.provisioning import Provisioned
from gemel.protos.linkage.v1 import custody_pb2, custody_pb2_grpc
from gemel.serving.fairness import MemberLimits
from gemel.serving.server import RunningServer, ServerSettings, caller
from tests.common.rpc.serving import LINKER, connect, serving

METHOD = "/linkage.v1.Custody/Approve"
LIMITS = MemberLimits(calls_per_second=500.0, burst=200, pending=6, working=2, waiting=3)
SECONDS = 60.0


class Custody(custody_pb2_grpc.CustodyServicer):
    """Remembers the longest request; holds calls on the project "hold" until they are cut off."""

    def __init__(self) -> None:
        self.longest = 0
        self.held = threading.Semaphore(0)

    def Approve(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        assert caller(context).name
        self.longest = max(self.longest, request.ByteSize())
        if request.project == "hold":
            self.held.release()
            ended = threading.Event()
            if context.add_callback(ended.set):
                ended.wait(SECONDS)
        return custody_pb2.ApproveResponse()


@pytest.fixture
def servicer() -> Custody:
    return Custody()


@pytest.fixture
def server(parties: Provisioned, servicer: Custody) -> Iterator[RunningServer]:
    settings = ServerSettings(threads=8, member=LIMITS, handshake_timeout_ms=1_000)
    with serving(parties, (custody_pb2_grpc.add_CustodyServicer_to_server, servicer), settings=settings) as running:
        yield running


@contextlib.contextmanager
def channel(server: RunningServer, parties: Provisioned, name: str, **options: Any) -> Iterator[grpc.Channel]:
    """A channel without any limit of its own."""
    settings = [
        ("grpc.ssl_target_name_override", LINKER),
        ("grpc.max_send_message_length", -1),
        ("grpc.max_metadata_size", 1 << 26),
        ("grpc.use_local_subchannel_pool", 1),
    ]
    credentials = channel_credentials(parties.parties[name].path, PARTIES[name])
    with grpc.secure_channel(f"127.0.0.1:{server.port}", credentials, settings, **options) as opened:
        yield opened


def raw(opened: grpc.Channel) -> grpc.UnaryUnaryMultiCallable[bytes, bytes]:
    return opened.unary_unary(METHOD, request_serializer=bytes, response_deserializer=bytes)


def request(project: str) -> bytes:
    return custody_pb2.ApproveRequest(project=project).SerializeToString()


def serves(server: RunningServer, parties: Provisioned, name: str = "bob") -> None:
    """An ordinary call is answered."""
    with connect(parties, server.port, name) as connection:
        stub = connection.stub(custody_pb2_grpc.CustodyStub)
        connection.call(stub.Approve, custody_pb2.ApproveRequest(project="any"), attempts=5)


def test_a_message_that_unpacks_to_more_than_a_message_may_have_is_refused(
    server: RunningServer, parties: Provisioned, servicer: Custody
) -> None:
    bomb = request("x" * (64 << 20))
    assert len(gzip.compress(bomb)) < MAX_MESSAGE_BYTES // 8, "on the wire it is no more than others are"
    with channel(server, parties, "alice", compression=grpc.Compression.Gzip) as opened:
        with pytest.raises(grpc.RpcError) as caught:
            raw(opened)(bomb, timeout=SECONDS, metadata=OWN_PROTOCOL)
        assert caught.value.code() in (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.RESOURCE_EXHAUSTED)
    assert servicer.longest == 0, "no servicer has seen it"
    serves(server, parties)


def test_headers_without_end_are_refused(server: RunningServer, parties: Provisioned) -> None:
    with channel(server, parties, "alice") as opened:
        for size in (1 << 16, 1 << 20):
            with pytest.raises(grpc.RpcError) as caught:
                raw(opened)(request("any"), timeout=SECONDS, metadata=[*OWN_PROTOCOL, ("x-long", "x" * size)])
            assert caught.value.code() is not grpc.StatusCode.DEADLINE_EXCEEDED
        many = [(f"x-{number}", "x" * 64) for number in range(2_000)]
        with pytest.raises(grpc.RpcError):
            raw(opened)(request("any"), timeout=SECONDS, metadata=many)
    serves(server, parties)


@pytest.mark.parametrize("says", [b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n"])
def test_connections_that_never_finish_a_handshake_are_closed(
    server: RunningServer, parties: Provisioned, says: bytes
) -> None:
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(100)]
    try:
        for each in silent:
            each.sendall(says)
        serves(server, parties)
        for each in silent:
            each.settimeout(SECONDS)
            with contextlib.suppress(ConnectionResetError):
                while each.recv(1024):
                    pass
    finally:
        for each in silent:
            each.close()


def test_a_connection_that_is_cut_off_after_its_handshake_costs_others_nothing(
    server: RunningServer, parties: Provisioned
) -> None:
    own = parties.parties["alice"].path
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.load_cert_chain(own / "certificate.pem", own / "tls.key")
    context.set_alpn_protocols(["h2"])
    for sent in (b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 64):
        for _ in range(20):
            plain = socket.create_connection(("127.0.0.1", server.port))
            # Closed by a reset.
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with context.wrap_socket(plain, server_hostname=LINKER) as opened:
                opened.sendall(sent)
    serves(server, parties)


@pytest.mark.parametrize("cancel", [True, False], ids=["cancelled", "channel closed"])
def test_calls_that_their_caller_ends_give_their_places_back(
    server: RunningServer, parties: Provisioned, servicer: Custody, cancel: bool
) -> None:
    for _ in range(3 * LIMITS.pending):
        with channel(server, parties, "alice") as opened:
            held = raw(opened).future(request("hold"), timeout=SECONDS, metadata=OWN_PROTOCOL)
            assert servicer.held.acquire(timeout=SECONDS)
            if cancel:
                held.cancel()
        assert held.done()
    serves(server, parties)
    serves(server, parties, "alice")


PROGRAM = """
import grpc
from gemel.common.errors import GemelError
from gemel.common.rpc.client import Connection
from gemel.protos.linkage.v1 import custody_pb2, custody_pb2_grpc

connection = Connection("127.0.0.1:9", "carole", grpc.ssl_channel_credentials())
method = connection.stub(custody_pb2_grpc.CustodyStub).NextTask
connection.close()
try:
    connection.call(method, custody_pb2.NextTaskRequest())
except GemelError as error:
    print(error.code.name, error.what)
"""


def test_a_call_on_a_connection_that_was_closed_meanwhile_is_an_error() -> None:
    """In a process of its own: gRPC's own channel ends it by a segmentation fault."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "UNAVAILABLE the connection is closed"), done.stderr
