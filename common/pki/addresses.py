"""Carole's address, as those who set a linkage up type it, and what she listens on then."""

from __future__ import annotations

import ipaddress

from gemel.common.errors import parameter


def host_of(address: str) -> tuple[str, str]:
    """Host, without the brackets of IPv6, and port. Raises PARAMETER if it is no host and port."""
    host, _, port = address.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    whole = bool(bare) and (":" not in bare or host == f"[{bare}]")
    if not whole or not (port.isascii() and port.isdigit() and 0 < int(port) <= 65535):
        remedy = "write carole.example.org:7443, 192.0.2.7:7443 or [2001:db8::7]:7443"
        raise parameter("--address", "expected host:port, with a port of 1 to 65535", repr(address[:80]), remedy)
    return bare, port


def address_of(host: str, port: str) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def listening(host: str, port: str) -> str:
    """What Carole binds: every address of her machine, unless she is to be reached from this machine alone."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f"127.0.0.1:{port}" if host == "localhost" else f"0.0.0.0:{port}"
    if address.version == 6:
        return f"[::1]:{port}" if address.is_loopback else f"[::]:{port}"
    return f"{host}:{port}" if address.is_loopback else f"0.0.0.0:{port}"
