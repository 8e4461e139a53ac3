"""Where a running custodian's service answers its operator: a small file in its state folder.

In a module of its own, so that an operator's command does not load the service's packages.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from gemel.common.configuration import Configuration, load_configuration
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.private_files import write_private

ADDRESS_FILE = "operator.yaml"
"""In the state folder."""


class Address(Configuration):
    """What a running service reports about itself."""

    address: str
    pid: int


def announce(state: Path, address: str) -> None:
    """Write where this process answers."""
    content = json.dumps({"address": address, "pid": os.getpid()})
    write_private(state / ADDRESS_FILE, content.encode(), replace=True)


def running_address(state: Path, party: str) -> Address:
    """Where the service with this state folder answers."""
    path = state / ADDRESS_FILE
    if not path.exists():
        raise GemelError(
            ErrorCode.UNAVAILABLE,
            f"{party.title()}'s service is not running",
            where=str(state),
            remedy=f"start it with `gemel {party} serve`",
        )
    return load_configuration(path, Address)
