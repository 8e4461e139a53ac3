"""Carole's own service, as her worker calls it: over loopback, with her own certificate.

The worker is started before the service listens, and the port may be any free one: the address comes from its parent.
"""

from __future__ import annotations

import threading

from gemel.carole.configuration import CaroleConfiguration
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.list_pin import UNPINNED, ListPin
from gemel.common.rpc.client import Connection
from gemel.common.rpc.tls import channel_credentials

ADDRESS_SECONDS = 60.0
"""How long the service may take to listen after its workers have been started."""


class OwnAddress:
    """Where the service listens, once the worker's parent has written it."""

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
    """How the worker calls the service."""

    def __init__(self, configuration: CaroleConfiguration, address: OwnAddress, pin: ListPin = UNPINNED) -> None:
        self._keys, self._list = configuration.keys, configuration.members
        self._address, self._pin = address, pin

    def connect(self) -> Connection:
        """A connection, with the certificate as it is now.

        Raises
        ------
        GemelError
            UNAVAILABLE if the address does not come; CONFIGURATION, CERTIFICATE.
        """
        members = self._pin.load(self._list or PartyFolder(self._keys).members)
        credentials = channel_credentials(self._keys, Role.LINKER, members=self._list)
        return Connection(loopback(self._address.wait()), members.in_role(Role.LINKER).server_name, credentials)


def loopback(address: str) -> str:
    """An address that a service listens on, as it is called from its own machine."""
    host, _, port = address.rpartition(":")
    everywhere = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - looked for, not listened on
    return f"{everywhere.get(host, host)}:{port}"
