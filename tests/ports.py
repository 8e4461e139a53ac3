"""Ports for services whose address must be known before they start, or stay the same when they start again."""

from __future__ import annotations

import random
import socket

# Below the range that a machine gives to connections and to listeners without a port of their own (32768 and above on
# Linux): what another run of the tests opens in the meantime has none of these.
_LOWEST, _HIGHEST = 18_000, 32_000
_draw = random.SystemRandom()


def free_port(host: str = "127.0.0.1") -> int:
    """A port at which nothing listens now, drawn by each run and worker of the tests for itself."""
    for _ in range(100):
        port = _draw.randint(_LOWEST, _HIGHEST)
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
    raise AssertionError(f"no free port from {_LOWEST} to {_HIGHEST} in 100 draws")
