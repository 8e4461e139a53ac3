"""A connection that is closed while another thread has a method in its hand: an error, not the end of the program."""

from __future__ import annotations

import subprocess
import sys

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
