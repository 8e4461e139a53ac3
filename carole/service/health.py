"""The health check of a running Carole on this machine, for containers and monitors."""

from __future__ import annotations

import json
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from grpc_health.v1 import health_pb2, health_pb2_grpc

from gemel.carole.configuration import CaroleConfiguration, load_carole
from gemel.carole.service.own_service import loopback
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.observability.readiness import State
from gemel.common.observability.settings import host_and_port
from gemel.common.parties import Role
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.members import Members
from gemel.common.rpc.client import Connection
from gemel.common.rpc.tls import channel_credentials

SECONDS = 5.0
"""A little more than the checks may take."""
MAX_BYTES = 1 << 16


def check_health(path: Path) -> str:
    """The address at which the Carole of this configuration is ready to serve.

    Where she has an HTTP endpoint, it is what her probes see; else she is called with her own certificate, so that no
    further access need be granted, which shows that she answers and not that she can write.

    Raises
    ------
    GemelError
        UNAVAILABLE if she does not answer, or is not ready; CONFIGURATION or CERTIFICATE for what cannot be used.
    """
    configuration = load_carole(path)
    if configuration.observability.listen:
        _check_ready(_own_address(configuration.observability.listen, "observability.listen"))
        return configuration.listen
    address = _own_address(configuration.listen, "listen")
    _check_answer(address, configuration)
    return address


def _check_ready(address: str) -> None:
    host, port = host_and_port(address)
    connection = HTTPConnection(host, port, timeout=SECONDS)
    try:
        connection.request("GET", "/readyz")
        checks = json.loads(connection.getresponse().read(MAX_BYTES))["checks"]
        failed = ", ".join(f"{name}: {state}" for name, state in checks.items() if state != State.OK)
    except (OSError, HTTPException, ValueError, KeyError, TypeError, AttributeError):
        raise GemelError(
            ErrorCode.UNAVAILABLE,
            "Carole does not answer",
            where=f"http://{address}/readyz",
            remedy="check that she runs, and `observability.listen` of her configuration",
        ) from None
    finally:
        connection.close()
    if failed:
        raise GemelError(
            ErrorCode.UNAVAILABLE,
            "Carole answers but is not ready",
            where=f"http://{address}/readyz",
            got=failed,
            remedy="her log says why: look for the event `not ready`",
        )


def _check_answer(address: str, configuration: CaroleConfiguration) -> None:
    credentials = channel_credentials(configuration.keys, Role.LINKER, members=configuration.members)
    listed = Members.load(configuration.members or PartyFolder(configuration.keys).members)
    with Connection(address, listed.in_role(Role.LINKER).server_name, credentials) as connection:
        stub = connection.stub(health_pb2_grpc.HealthStub)
        found = connection.call(stub.Check, health_pb2.HealthCheckRequest(), deadline=SECONDS)
    if found.status != health_pb2.HealthCheckResponse.SERVING:
        raise GemelError(
            ErrorCode.UNAVAILABLE,
            "Carole answers but is not serving",
            where=address,
            got=health_pb2.HealthCheckResponse.ServingStatus.Name(found.status),
            remedy="she is stopping; wait until she is restarted",
        )


def _own_address(listen: str, where: str) -> str:
    if int(listen.rpartition(":")[2]) == 0:
        raise GemelError(
            ErrorCode.CONFIGURATION,
            "port 0 is another one at every start",
            where=where,
            remedy="give a fixed port",
        )
    return loopback(listen)
