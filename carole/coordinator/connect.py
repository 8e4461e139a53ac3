"""From the coordinator's configuration file to a connection with Carole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from carole.coordinator.client import Coordinator
from carole.coordinator.configuration import CoordinatorConfiguration
from common.configuration import load_configuration
from common.keys.identity import Identity
from common.rpc.client import Connection
from common.rpc.tls import channel_credentials


@contextmanager
def connect(config: Path) -> Iterator[Coordinator]:
    """A coordinator connected to the Carole of its configuration.

    Raises
    ------
    TrystError
        CONFIGURATION or CERTIFICATE, before anything is sent.
    """
    settings = load_configuration(config, CoordinatorConfiguration)
    identity = Identity.load(settings.keys / "identity.pem")
    credentials = channel_credentials(settings.keys)
    with Connection(settings.carole.address, settings.carole.server_name, credentials) as connection:
        yield Coordinator(connection, identity)
