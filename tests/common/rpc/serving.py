"""Carole's server, and connections of its callers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gemel.common.parties import PARTIES, Role
from gemel.common.pki.certificates import server_name
from gemel.common.rpc.client import Connection
from gemel.common.rpc.tls import channel_credentials
from gemel.common.rpc.trust import Trust
from gemel.coordinator.provisioning import Provisioned
from gemel.serving.server import RunningServer, Service, start_server

LINKER = server_name(Role.LINKER)


@contextmanager
def serving(parties: Provisioned, *services: Service, **settings: Any) -> Iterator[RunningServer]:
    """A server with the services, until the block ends."""
    trust = Trust(parties.parties["carole"].path, Role.LINKER)
    running = start_server("127.0.0.1:0", services, trust, **settings)
    yield running
    running.stop(0.1)


def connect(parties: Provisioned, port: int, name: str, **options: Any) -> Connection:
    """A connection of the party of this name."""
    credentials = channel_credentials(parties.parties[name].path, PARTIES[name])
    return Connection(f"127.0.0.1:{port}", LINKER, credentials, **options)
