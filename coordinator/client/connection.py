"""From the coordinator's configuration file to a connection with Carole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tryst.carole.engine.resolution_exchange import Reader
from tryst.common.configuration import load_configuration
from tryst.common.keys.identity import Identity
from tryst.common.parties import Role
from tryst.common.pki.certificates import server_name
from tryst.common.pki.folders import PartyFolder
from tryst.common.rpc.client import Connection
from tryst.common.rpc.tls import channel_credentials
from tryst.coordinator.client.client_configuration import CoordinatorConfiguration
from tryst.coordinator.client.coordinator_client import Coordinator
from tryst.coordinator.client.terminal import show_ending


@contextmanager
def connect(config: Path) -> Iterator[Coordinator]:
    """A coordinator connected to the Carole of its configuration; errors as `client`."""
    with client(config, Role.COORDINATOR) as (connection, identity, folder):
        yield Coordinator(connection, identity, Reader.load(folder, Role.COORDINATOR))


@contextmanager
def client(config: Path, role: Role) -> Iterator[tuple[Connection, Identity, PartyFolder]]:
    """A connection to the Carole of a configuration, with the identity and the folder of the party that calls her.

    A certificate that ends soon is named on standard error.

    Raises
    ------
    TrystError
        CONFIGURATION or CERTIFICATE, before anything is sent.
    """
    settings = load_configuration(config, CoordinatorConfiguration)
    folder = PartyFolder(settings.keys)
    show_ending(folder)
    with connection_of(settings.carole.address, settings.keys, role) as connection:
        yield connection, Identity.load(folder.identity), folder


def connection_of(address: str, keys: Path, role: Role = Role.COORDINATOR) -> Connection:
    """A connection to the Carole at `address`, with the certificate in the folder `keys`."""
    return Connection(address, server_name(Role.LINKER), channel_credentials(keys, role))
