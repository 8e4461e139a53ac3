"""The section ``console`` of a member's configuration: where its console listens, and who may use it where it is
shared."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from gemel.common.configuration import Configuration, ConfiguredPath, Listen

LOOPBACK_NAMES = ("localhost",)
Right = Literal["coordinator", "steward", "custodian", "reader"]
"""What a subject may do: act as the member whose console it is, or read."""


def _https(text: str) -> str:
    parts = urlsplit(text)
    host = parts.hostname or ""
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise ValueError("expected an https address; http only of this machine itself")
    if not host or parts.query or parts.fragment or parts.username:
        raise ValueError("expected an address such as https://console.example.org")
    return text.rstrip("/")


Address = Annotated[str, AfterValidator(_https)]


def is_loopback(host: str) -> bool:
    """Whether a host is this machine itself, by its name or address."""
    if host in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class SignOnConfiguration(Configuration):
    """The organisation's single sign-on, an OpenID Connect provider."""

    issuer: Address
    """Its issuer; `/.well-known/openid-configuration` under it names all else."""
    client_id: str = Field(min_length=1)
    """The console's, as the provider knows it."""
    client_secret_file: ConfiguredPath | None = None
    """A file with its secret; none for a public client."""
    subjects: dict[str, Right] = Field(min_length=1)
    """Whom the console lets in, by the claim `sub`, and what for."""


class ConsoleConfiguration(Configuration):
    """How a member's console is served."""

    listen: Listen = "127.0.0.1:0"
    """Host and port; 0 is any free port."""
    url: Address | None = None
    """The address that browsers use, where it is not the one that it listens on."""
    certificate: ConfiguredPath | None = None
    """The web server's certificate, PEM; needed to listen on another address than loopback."""
    key: ConfiguredPath | None = None
    """Its key."""
    idle_minutes: float = Field(default=15, gt=0, le=24 * 60)
    """After so long without use a session ends."""
    longest_hours: float = Field(default=8, gt=0, le=24)
    """After so long it ends in any case."""
    sign_on: SignOnConfiguration | None = None
    """Where the console is shared; without it a console is opened by a one-time link, on loopback only."""

    @model_validator(mode="after")
    def _shared_by_sign_on(self) -> Self:
        host = self.listen.rpartition(":")[0]
        if (self.certificate is None) != (self.key is None):
            raise ValueError("certificate and key belong together")
        if not is_loopback(host) and self.sign_on is None:
            raise ValueError("a console that listens on another address than loopback needs sign_on")
        if not is_loopback(host) and self.certificate is None:
            raise ValueError("a console that listens on another address than loopback needs certificate and key")
        if self.url is not None and not is_loopback(urlsplit(self.url).hostname or "") and self.sign_on is None:
            raise ValueError("a console with an address of its own needs sign_on")
        return self
