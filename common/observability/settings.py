"""The section ``observability`` of a service's configuration: who can see how the service is, and how much."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Self

from pydantic import AfterValidator, model_validator

from gemel.common.configuration import Configuration

_PORTS = {"carole": 9464, "alice": 9465, "bob": 9466}
"""One per party, so that all can run on one machine."""


def _ip_and_port(value: str) -> str:
    if not value:
        return value
    found = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):([0-9]{1,5})", value)
    try:
        if found is None or int(found[3]) > 65535:
            raise ValueError
        # By address, not by name: a file on the machine decides what `localhost` means.
        ipaddress.ip_address(found[1] or found[2])
    except ValueError:
        raise ValueError('expected IP:port, such as 127.0.0.1:9464 or [::1]:9464, or "" for none') from None
    return value


def local(party: str) -> str:
    """The loopback address that a new configuration of this party has."""
    return f"127.0.0.1:{_PORTS[party]}"


def host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


class Observability(Configuration):
    """What the service shows over HTTP, and what its log says of calls."""

    listen: Annotated[str, AfterValidator(_ip_and_port)] = ""
    """IP:port of ``/metrics``, ``/livez`` and ``/readyz``; empty: none of them. Port 0 takes a free one."""
    allow_remote: bool = False
    """Whether `listen` may be an address that other machines can reach; there is no password."""
    label_projects: bool = False
    """Whether metrics and spans name projects and members."""
    access_log: bool = True
    """Whether every call is logged."""
    share_request_ids: bool = False
    """Whether a call's id crosses to the other organisation, and a caller's own id is logged here."""

    @model_validator(mode="after")
    def _on_this_machine(self) -> Self:
        if self.listen and not self.allow_remote:
            host, _ = host_and_port(self.listen)
            if not ipaddress.ip_address(host).is_loopback:
                raise ValueError(
                    "listen must be a loopback address, 127.0.0.1 or [::1]: whoever reaches the page can read it; "
                    "with allow_remote: true any address may be given"
                )
        return self


def section(listen: str = "", *, allow_remote: bool = False) -> str:
    remote = "  allow_remote: true         # others than this machine may read it: restrict who, by the network\n"
    return (
        "observability:\n"
        f'  listen: "{listen}"{" " * max(1, 17 - len(listen))}# HTTP: /metrics, /livez, /readyz; "" for none\n'
        f"{remote if allow_remote else ''}"
        "  label_projects: false      # whether metrics name projects and members\n"
        "  access_log: true           # one line of the log per call\n"
        "  share_request_ids: false   # whether a call's id crosses between organisations, where both agree\n"
    )
