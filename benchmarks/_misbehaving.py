"""One member's misbehaving connections, in a process of their own; `benchmarks.fairness` starts it.

A quarter each are silent (TCP without TLS), slow (a call whose message never comes), long polls, and floods of calls
as fast as they are answered. It writes a line when all have begun, and ends with its standard input.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import grpc

from tryst.common.parties import Role
from tryst.common.pki.certificates import server_name
from tryst.common.rpc.tls import channel_credentials
from tryst.protos.linkage.v1 import custody_pb2

METHOD = "/linkage.v1.Custody/NextTask"
KINDS = ("silent", "slow", "long poll", "flood")


def misbehave(address: str, keys: Path, count: int) -> Counter[str]:
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

    def never() -> Iterator[bytes]:
        ended.wait(10)
        yield from ()

    def calls(kind: str) -> None:
        options = [("grpc.ssl_target_name_override", server_name(Role.LINKER)), ("grpc.use_local_subchannel_pool", 1)]
        with grpc.secure_channel(address, credentials, options=options) as channel:
            poll = channel.unary_unary(METHOD, custody_pb2.NextTaskRequest.SerializeToString, None)
            slow = channel.stream_unary(METHOD, None, None)
            wait_ms = 5000 if kind == "long poll" else 0
            begun.wait()
            while not ended.is_set():
                try:
                    if kind == "slow":
                        slow(never(), timeout=10)
                    else:
                        poll(custody_pb2.NextTaskRequest(wait_ms=wait_ms), timeout=20)
                    counted[f"{kind}: OK"] += 1
                except grpc.RpcError as error:
                    counted[f"{kind}: {error.code().name}"] += 1

    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        target, given = (silent, ()) if kind == "silent" else (calls, (kind,))
        threading.Thread(target=target, args=given, daemon=True).start()
    begun.wait()
    print("begun", flush=True)
    sys.stdin.read()
    ended.set()
    return counted


if __name__ == "__main__":
    for what, times in sorted(misbehave(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])).items()):
        print(f"{what} {times}")
