"""One member's misbehaving connections, in a process of their own; `benchmarks.fairness` starts it.

As many of each kind: silent (TCP without TLS), slow (a call whose message never comes), long polls, floods of calls as
fast as they are answered, uploads that are begun and not gone on with, messages above the size that is allowed, and
connections that send and never read an answer. It writes a line when all have begun, and ends with its standard input.

It takes only what the other processes leave of the processor: a member's own machine is not the service's.
"""

from __future__ import annotations

import os
import secrets
import socket
import ssl
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

import grpc
import polars as pl

from gemel.common.keys.check import key_check_value
from gemel.common.keys.derivation import Seed
from gemel.common.keys.identity import SigningPurpose
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import PARTIES, Role, Side
from gemel.common.pki.certificates import server_name
from gemel.common.pki.folders import PartyFolder
from gemel.common.rpc.access import OWN_PROTOCOL
from gemel.common.rpc.client import Connection
from gemel.common.rpc.tls import channel_credentials
from gemel.common.signatures.signature_sets import layout_of
from gemel.common.specification import encoding_digest, load_specification, specification_digest
from gemel.common.wire.manifest import Manifest, manifest_to_wire
from gemel.coordinator.client.coordinator_client import Coordinator
from gemel.custodian.encoding.records import encode_records
from gemel.protos.linkage.v1 import contribution_pb2, custody_pb2, custody_pb2_grpc

PROJECT = "fairness"
TEXT = f"""\
version: 1
project: {PROJECT}
mode: open
custodians: {{alice: {{identifier: id}}, bob: {{identifier: id}}}}
fields:
  - {{name: surname, kind: name, bits: 512}}
  - {{name: born, kind: date, date: {{order: ymd}}}}
release: {{coordinator: statistics}}
retention: {{uploads_days: 7, results_days: 30, maps_days: 90}}
"""
SPEC = load_specification(TEXT)
SEED = Seed(bytes(range(32)))


def make_project(address: str, parties: Mapping[str, PartyFolder]) -> None:
    """Bring the project to where its custodians contribute."""
    digest = specification_digest(SPEC)

    def connect(party: str) -> Connection:
        credentials = channel_credentials(parties[party].path, PARTIES[party])
        return Connection(address, server_name(Role.LINKER), credentials)

    with connect("coordinator") as connection:
        coordinator = Coordinator(connection, open_identity(None, parties["coordinator"].identity))
        coordinator.create(TEXT)
        coordinator.approve(PROJECT, digest)
    for side in Side:
        signature = open_identity(None, parties[side].identity).sign(SigningPurpose.APPROVAL, PROJECT.encode(), digest)
        approval = custody_pb2.ApproveRequest(project=PROJECT, specification_digest=digest, signature=signature)
        with connect(side) as connection:
            connection.call(connection.stub(custody_pb2_grpc.CustodyStub).Approve, approval)
    report = custody_pb2.ReportKeysRequest(
        project=PROJECT, epoch=1, key_check_value=_key_check(), canary_digest=bytes(32)
    )
    for side in Side:
        with connect(side) as connection:
            connection.call(connection.stub(custody_pb2_grpc.CustodyStub).ReportKeys, report)


def upload(name: str) -> contribution_pb2.BeginUploadRequest:
    """What begins an upload of Alice's, of one record."""
    return contribution_pb2.BeginUploadRequest(manifest=_manifest(), upload=name)


@cache
def _manifest() -> contribution_pb2.Manifest:
    # Made once: whoever sends many does not sign its records again for each, on the machine that is measured.
    frame = pl.DataFrame({"surname": ["a name"], "born": ["19700101"]})
    made = encode_records({column: frame[column] for column in frame.columns}, SPEC, SEED, 1)
    layout = layout_of(made.sets)
    return manifest_to_wire(Manifest(PROJECT, Side.ALICE, 1, encoding_digest(SPEC), _key_check(), layout))


def _key_check() -> bytes:
    return key_check_value(SEED, PROJECT, encoding_digest(SPEC), 1)


METHOD = "/linkage.v1.Custody/NextTask"
KINDS = ("silent", "slow", "long poll", "flood", "begun upload", "oversized", "unread")
BEGIN = "/linkage.v1.Custody/BeginUpload"
PAUSE_SECONDS = 1.0
"""Before the next handshake, or the next megabytes: what these cost, both sides pay on this one machine."""
OVERSIZED = bytes(4 << 20)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
PING = bytes([0, 0, 8, 6, 0, 0, 0, 0, 0]) + bytes(8)


def misbehave(address: str, keys: Path, count: int, kinds: Sequence[str] = KINDS) -> Counter[str]:
    """Open `count` connections and misbehave on them until standard input ends; statuses of the calls by kind."""
    credentials = channel_credentials(keys, Role.CUSTODIAN_A)
    ended = threading.Event()
    counted: Counter[str] = Counter()
    begun = threading.Barrier(count + 1)

    def silent() -> None:
        host, _, port = address.rpartition(":")
        begun.wait()
        while not ended.is_set():
            # The server ends it after some seconds; then comes the next.
            with socket.create_connection((host, int(port))) as connection:
                connection.settimeout(1.0)
                while not ended.is_set():
                    try:
                        if not connection.recv(1):
                            break
                    except TimeoutError:
                        continue
                    except OSError:
                        break

    def unread() -> None:
        host, _, port = address.rpartition(":")
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.load_cert_chain(keys / "certificate.pem", keys / "tls.key")
        context.set_alpn_protocols(["h2"])
        begun.wait()
        while not ended.is_set():
            try:
                with context.wrap_socket(socket.create_connection((host, int(port))), server_hostname=host) as opened:
                    opened.sendall(PREFACE)
                    while not ended.wait(0.05):  # until the server ends it
                        opened.sendall(PING)
            except OSError:
                counted["unread: ended by the server"] += 1
                ended.wait(PAUSE_SECONDS)

    def never() -> Iterator[bytes]:
        ended.wait(10)
        yield from ()

    def calls(kind: str) -> None:
        options = [
            ("grpc.ssl_target_name_override", server_name(Role.LINKER)),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.max_send_message_length", -1),
        ]
        with grpc.secure_channel(address, credentials, options=options) as channel:
            poll = channel.unary_unary(METHOD, custody_pb2.NextTaskRequest.SerializeToString, None)
            slow = channel.stream_unary(METHOD, None, None)
            plain = channel.unary_unary(METHOD, None, None)
            begin = channel.unary_unary(BEGIN, contribution_pb2.BeginUploadRequest.SerializeToString, None)
            wait_ms = 5000 if kind == "long poll" else 0
            begun.wait()
            while not ended.is_set():
                try:
                    if kind == "slow":
                        slow(never(), timeout=10, metadata=OWN_PROTOCOL)
                    elif kind == "oversized":
                        plain(OVERSIZED, timeout=10, metadata=OWN_PROTOCOL)
                    elif kind == "begun upload":
                        begin(upload(secrets.token_hex(16)), timeout=10, metadata=OWN_PROTOCOL)
                    else:
                        poll(custody_pb2.NextTaskRequest(wait_ms=wait_ms), timeout=20, metadata=OWN_PROTOCOL)
                    counted[f"{kind}: OK"] += 1
                except grpc.RpcError as error:
                    counted[f"{kind}: {error.code().name}"] += 1
                if kind == "oversized":
                    ended.wait(PAUSE_SECONDS)

    upload("")  # signed before anything is measured
    for number in range(count):
        kind = kinds[number % len(kinds)]
        target = {"silent": silent, "unread": unread}.get(kind, partial(calls, kind))
        threading.Thread(target=target, daemon=True).start()
    begun.wait()
    print("begun", flush=True)
    sys.stdin.read()
    ended.set()
    return counted


if __name__ == "__main__":
    os.nice(19)
    for what, times in sorted(misbehave(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]).items()):
        print(f"{what} {times}")
