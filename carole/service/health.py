"""The health check of a running Carole on this machine, for containers and monitors."""

from __future__ import annotations

from pathlib import Path

from grpc_health.v1 import health_pb2, health_pb2_grpc

from tryst.carole.configuration import load_carole
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Role
from tryst.common.pki.certificates import server_name
from tryst.common.rpc.client import Connection
from tryst.common.rpc.tls import channel_credentials

SECONDS = 5.0


def check_health(path: Path) -> str:
    """The address at which the Carole of this configuration serves.

    She is called with her own certificate, so no further access need be granted.

    Raises
    ------
    TrystError
        UNAVAILABLE if she does not answer, or is stopping; CONFIGURATION or CERTIFICATE for what cannot be used.
    """
    configuration = load_carole(path)
    address = _own_address(configuration.listen)
    credentials = channel_credentials(configuration.keys, Role.LINKER)
    with Connection(address, server_name(Role.LINKER), credentials) as connection:
        stub = connection.stub(health_pb2_grpc.HealthStub)
        found = connection.call(stub.Check, health_pb2.HealthCheckRequest(), deadline=SECONDS)
    if found.status != health_pb2.HealthCheckResponse.SERVING:
        raise TrystError(
            ErrorCode.UNAVAILABLE,
            "Carole answers but is not serving",
            where=address,
            got=health_pb2.HealthCheckResponse.ServingStatus.Name(found.status),
            remedy="she is stopping; wait until she is restarted",
        )
    return address


def _own_address(listen: str) -> str:
    host, _, port = listen.rpartition(":")
    if int(port) == 0:
        raise TrystError(
            ErrorCode.CONFIGURATION,
            "port 0 is another one at every start",
            where="listen",
            remedy="give Carole a fixed port, such as 7443",
        )
    everywhere = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - looked for, not listened on
    return f"{everywhere.get(host, host)}:{port}"
