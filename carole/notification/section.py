"""The section `notify` of Carole's configuration: who is notified of what, and by which way. It holds no secret."""

from __future__ import annotations

import hashlib
import os
import ssl
from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, Discriminator, Field, model_validator

from gemel.common.configuration import Configuration, ConfiguredPath
from gemel.common.errors import ErrorCode, GemelError, file_error
from gemel.common.keys.private_files import read_private

LOOPBACK = ("127.0.0.1", "::1", "localhost")
MIN_SECRET_BYTES = 16

EventName = Literal["held", "failed", "refused", "released", "waiting", "certificate"]


def _url(text: str) -> str:
    try:
        found = urlsplit(text)
        port_is_good = found.port is None or found.port > 0
    except ValueError:
        port_is_good = False
    if not port_is_good or found.scheme not in ("https", "http") or not found.hostname or found.username is not None:
        raise ValueError("expected https://host/path, without a user or a password")
    if not text.isascii() or any(character <= " " for character in text):
        raise ValueError("expected a URL of ASCII characters, without a space")
    if found.scheme == "http" and found.hostname not in LOOPBACK:
        raise ValueError("expected https://: without TLS only a receiver on this machine is notified")
    return text


def _program(words: tuple[str, ...]) -> tuple[str, ...]:
    if not Path(words[0]).is_absolute():
        raise ValueError("expected a list of words, the first of them the absolute path of a program")
    return words


_Address = Annotated[str, Field(pattern=r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,253}$")]


class Way(Configuration):
    """What all ways have."""

    events: Annotated[tuple[EventName, ...], Field(min_length=1)] = get_args(EventName)
    """Of which events; all by default."""

    @property
    @abstractmethod
    def receiver(self) -> str:
        """What tells this receiver from another."""

    @property
    def key(self) -> str:
        """By which the outbox knows the way: the same as long as it leads to the same receiver."""
        return hashlib.sha256(self.receiver.encode()).hexdigest()[:16]

    def check(self) -> None:
        """Refuse files that cannot be used; CONFIGURATION. Nothing is sent."""


class TlsWay(Way):
    """A way over a network."""

    authorities: ConfiguredPath | None = None
    """Certificates of the authorities of the receiver's certificate, in PEM; by default those that everyone trusts."""

    def context(self) -> ssl.SSLContext:
        """By which the receiver's certificate is verified. Raises CONFIGURATION if the authorities cannot be read."""
        try:
            return ssl.create_default_context(cafile=None if self.authorities is None else str(self.authorities))
        except ssl.SSLError:
            what = "expected certificates of authorities in PEM"
            remedy = "name the file of the authority that issued the receiver's certificate"
            raise GemelError(ErrorCode.CONFIGURATION, what, where=str(self.authorities), remedy=remedy) from None
        except OSError as error:
            assert self.authorities is not None  # noqa: S101 - else none is read
            what = "the receiver's authorities cannot be read"
            raise file_error(ErrorCode.CONFIGURATION, what, self.authorities, error) from None

    def check(self) -> None:
        self.context()


class WebhookWay(TlsWay):
    """A POST of the message to a URL, signed with a secret that the receiver has too."""

    way: Literal["webhook"]
    url: Annotated[str, AfterValidator(_url), Field(repr=False)]
    """``https://``, or ``http://`` on this machine."""
    secret_file: ConfiguredPath
    """With the secret, readable by this user alone."""

    @property
    def receiver(self) -> str:
        return f"webhook {self.url}"

    def secret(self) -> bytes:
        """The secret, without white space around it. Raises CONFIGURATION."""
        found = read_private(self.secret_file, "the secret of a webhook").strip()
        if len(found) < MIN_SECRET_BYTES:
            what = f"the secret of a webhook must have at least {MIN_SECRET_BYTES} characters"
            got = f"{len(found)} characters"
            remedy = "make one with `openssl rand -hex 32`, and give it to the receiver"
            raise GemelError(ErrorCode.CONFIGURATION, what, where=str(self.secret_file), got=got, remedy=remedy)
        return found

    def check(self) -> None:
        super().check()
        self.secret()


class MailWay(TlsWay):
    """An e-mail, by SMTP with TLS."""

    way: Literal["email"]
    server: Annotated[str, Field(pattern=r"^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+):[0-9]{1,5}$")]
    """host:port of the mail server."""
    security: Literal["starttls", "tls", "none"] = "starttls"
    """TLS after STARTTLS, from the beginning, or, on this machine only, none."""
    user: str = ""
    """Name to log in with; empty: without."""
    password_file: ConfiguredPath | None = None
    """With the password, readable by this user alone."""
    sender: _Address
    to: Annotated[tuple[_Address, ...], Field(min_length=1, max_length=20)]

    @model_validator(mode="after")
    def _complete(self) -> MailWay:
        host, port = self.place
        if not 0 < port <= 65535:
            raise ValueError("server must be host:port, with a port of 1 to 65535")
        if bool(self.user) != (self.password_file is not None):
            raise ValueError("user and password_file are given together, or neither")
        if self.security == "none" and host not in LOOPBACK:
            raise ValueError("security: none is for a mail server on this machine; else starttls or tls")
        return self

    @property
    def place(self) -> tuple[str, int]:
        host, _, port = self.server.rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def receiver(self) -> str:
        return f"email {' '.join(self.to)}"

    def password(self) -> str:
        """The password, or nothing. Raises CONFIGURATION."""
        if self.password_file is None:
            return ""
        try:
            return read_private(self.password_file, "the password of a mail server").decode("ascii").strip("\r\n")
        except UnicodeDecodeError:
            what = "expected a password of ASCII characters"
            raise GemelError(ErrorCode.CONFIGURATION, what, where=str(self.password_file)) from None

    def check(self) -> None:
        super().check()
        self.password()


class CommandWay(Way):
    """A program, which gets the message on its standard input."""

    way: Literal["command"]
    program: Annotated[tuple[str, ...], Field(min_length=1, max_length=64), AfterValidator(_program)]
    """Its absolute path and its arguments. No shell reads them."""

    @property
    def receiver(self) -> str:
        return "\0".join(("command", *self.program))

    def check(self) -> None:
        if not os.access(self.program[0], os.X_OK) or not Path(self.program[0]).is_file():
            what = "the program of a notification cannot be started"
            got = "no program, or none that this user may start"
            remedy = "correct its path, or make it executable"
            raise GemelError(ErrorCode.CONFIGURATION, what, where=self.program[0], got=got, remedy=remedy)


WayConfiguration = Annotated[WebhookWay | MailWay | CommandWay, Discriminator("way")]


def distinct(ways: tuple[WayConfiguration, ...]) -> tuple[WayConfiguration, ...]:
    """Refuse two entries with one receiver, which would have each message twice."""
    keys = [way.key for way in ways]
    for place, key in enumerate(keys):
        if key in keys[:place]:
            raise ValueError(f"entries {keys.index(key) + 1} and {place + 1} have the same receiver; make them one")
    return ways
