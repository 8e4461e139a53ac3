"""The health check of a running Carole on this machine, for containers and monitors."""

from __future__ import annotations

import json
import threading
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from grpc_health.v1 import health_pb2, health_pb2_grpc

from gemel.carole.configuration import CaroleConfiguration, load_carole
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.observability.settings import host_and_port
from gemel.common.parties import Role
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.list_pin import UNPINNED, ListPin
from gemel.common.rpc.client import Connection
from gemel.common.rpc.tls import channel_credentials
from gemel.serving.readiness import State

# Carole's own service, as her worker calls it: over loopback, with her own certificate.

ADDRESS_SECONDS = 60.0
"""How long the service may take to listen after its workers have been started."""


class OwnAddress:
    def __init__(self) -> None:
        self._heard = b""
        self._known = threading.Event()

    def hear(self, received: bytes) -> None:
        """What the parent writes: the address, and the end of the line."""
        self._heard += received
        if self._heard.endswith(b"\n"):
            self._known.set()

    def wait(self) -> str:
        """The address; UNAVAILABLE if it does not come."""
        if not self._known.wait(ADDRESS_SECONDS):
            raise GemelError(ErrorCode.UNAVAILABLE, "Carole's service does not listen yet", where="listen")
        return self._heard.decode().strip()


class OwnService:
    def __init__(self, configuration: CaroleConfiguration, address: OwnAddress, pin: ListPin = UNPINNED) -> None:
        self._configuration, self._address, self._pin = configuration, address, pin

    def connect(self) -> Connection:
        """A connection, with the certificate as it is now.

        Raises UNAVAILABLE if the address does not come; CONFIGURATION, CERTIFICATE.
        """
        return _connection(self._configuration, loopback(self._address.wait()), self._pin)


def _connection(configuration: CaroleConfiguration, address: str, pin: ListPin = UNPINNED) -> Connection:
    members = pin.load(configuration.members or PartyFolder(configuration.keys).members)
    credentials = channel_credentials(configuration.keys, Role.LINKER, members=configuration.members)
    return Connection(address, members.in_role(Role.LINKER).server_name, credentials)


def loopback(address: str) -> str:
    """An address that a service listens on, as it is called from its own machine."""
    host, _, port = address.rpartition(":")
    everywhere = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - looked for, not listened on
    return f"{everywhere.get(host, host)}:{port}"


SECONDS = 5.0
"""A little more than the checks may take."""
MAX_BYTES = 1 << 16


def check_health(path: Path) -> str:
    """The address at which the Carole of this configuration is ready to serve.

    Where she has an HTTP endpoint, it is what her probes see; else she is called with her own certificate, so that no
    further access need be granted, which shows that she answers and not that she can write. Raises UNAVAILABLE if she
    does not answer, or is not ready; CONFIGURATION or CERTIFICATE for what cannot be used.
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
        what = "Carole does not answer"
        remedy = "check that she runs, and `observability.listen` of her configuration"
        raise GemelError(ErrorCode.UNAVAILABLE, what, where=f"http://{address}/readyz", remedy=remedy) from None
    finally:
        connection.close()
    if failed:
        what = "Carole answers but is not ready"
        remedy = "her log says why: look for the event `not ready`"
        raise GemelError(ErrorCode.UNAVAILABLE, what, where=f"http://{address}/readyz", got=failed, remedy=remedy)


def _check_answer(address: str, configuration: CaroleConfiguration) -> None:
    with _connection(configuration, address) as connection:
        stub = connection.stub(health_pb2_grpc.HealthStub)
        found = connection.call(stub.Check, health_pb2.HealthCheckRequest(), deadline=SECONDS)
    if found.status != health_pb2.HealthCheckResponse.SERVING:
        what = "Carole answers but is not serving"
        got = health_pb2.HealthCheckResponse.ServingStatus.Name(found.status)
        remedy = "she is stopping; wait until she is restarted"
        raise GemelError(ErrorCode.UNAVAILABLE, what, where=address, got=got, remedy=remedy)


def _own_address(listen: str, where: str) -> str:
    if int(listen.rpartition(":")[2]) == 0:
        what = "port 0 is another one at every start"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=where, remedy="give a fixed port")
    return loopback(listen)
