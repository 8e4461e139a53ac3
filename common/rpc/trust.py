"""What a running service trusts, and shows of itself: read again when its files change, without a restart.

A member removed from the list is refused from the next call on, on connections that are open too, and its open streams
end; a renewed certificate is shown from the next handshake on. Files that cannot be used change nothing: what was valid
stays in force until they are mended. An organisation that replaces several files does so one after another, so for a
moment they need not fit together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import grpc
import structlog
from cryptography import x509

from gemel.common.errors import GemelError
from gemel.common.parties import Role
from gemel.common.periodic import Periodic
from gemel.common.pki.admission import Admission
from gemel.common.pki.certificates import read_certificates, read_public
from gemel.common.pki.checks import utc_now
from gemel.common.pki.ending import EndingCertificate, ShownCertificates, ending, endings
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.list_pin import UNPINNED, ListPin
from gemel.common.pki.members import Member, Members
from gemel.common.rpc.tls import TlsFiles

log = structlog.get_logger()

LOOK_SECONDS = 2.0
"""How often the files are looked at."""

ADMITTED_SECONDS = 1.0
"""How long a certificate that was admitted is not checked again, as long as list and authorities are the same: the
messages of a computation are hundreds of calls a second."""
_MAX_ADMITTED = 1024

REMIND_SECONDS = 24 * 3600.0
"""How often a certificate that will end soon is named in the log."""


def certificates_in_use(own: bytes, linker: bytes, callers: bytes) -> dict[str, x509.Certificate]:
    """Every certificate (PEM) that a service works with, by ``own``, ``linker-1``, ``callers-1`` and so on. Authorities
    are named by their place: no organisation is named."""
    found = {"own": read_certificates(own, "own")[0]}
    for name, bundle in (("linker", linker), ("callers", callers)):
        found |= {f"{name}-{i}": each for i, each in enumerate(read_certificates(bundle, name), 1)}
    return found


@dataclass(frozen=True)
class _Read:
    """One reading of the files, checked as a whole."""

    tls: TlsFiles
    members: Members
    admission: Admission
    in_use: dict[str, x509.Certificate]
    served: grpc.ServerCertificateConfiguration = field(repr=False)


@dataclass(frozen=True)
class _Admitted:
    """A certificate that was admitted: whose it is, by which reading, and until when that is not looked at again."""

    member: Member
    by: _Read
    until: float


class Trust:
    """The membership list, the authorities and the own certificate, which must name the role, of a service.

    By default the list is the one in the party's folder, and all its members are admitted. Raises CONFIGURATION or
    CERTIFICATE, as `TlsFiles.load`, `ListPin.load` and `Admission`.
    """

    def __init__(
        self,
        keys: Path,
        role: Role,
        *,
        members: Path | None = None,
        only: Iterable[str] | None = None,
        pin: ListPin = UNPINNED,
    ) -> None:
        self._folder = PartyFolder(keys)
        self._role = role
        self._list = members or self._folder.members
        self._only = None if only is None else frozenset(only)
        self._pin = pin
        self._stamp = self._files()
        self._accept: Callable[[Members], None] = lambda members: None
        self._read = self._load()
        self._admitted: dict[bytes, _Admitted] = {}
        self._shown: _Read | None = None
        self._shown_by = ShownCertificates()

    def __call__(self, peer: bytes) -> Member:
        """The member whose certificate this is; as `Admission`, by the newest list."""
        read, now = self._read, time.monotonic()
        found = self._admitted.get(peer)
        if found is not None and found.by is read and now < found.until:
            return found.member
        member = read.admission(peer)
        self._shown_by.note(member, peer)
        if len(self._admitted) >= _MAX_ADMITTED:
            self._admitted.clear()
        self._admitted[peer] = _Admitted(member, read, now + ADMITTED_SECONDS)
        return member

    @property
    def members(self) -> Members:
        return self._read.members

    @property
    def tls(self) -> TlsFiles:
        return self._read.tls

    def ending(self, now: datetime | None = None) -> EndingCertificate | None:
        return ending(self._read.in_use["own"], now or utc_now())

    def in_use(self) -> dict[str, x509.Certificate]:
        return self._read.in_use

    def members_certificates(self) -> dict[Member, x509.Certificate]:
        """The certificates of all members that are known: the own one, and what callers have shown."""
        own = self.members.in_role(self._role)
        return {own: self._read.in_use["own"], **self._shown_by.of(each for each in self.members if each != own)}

    def endings(self, now: datetime | None = None) -> dict[str, EndingCertificate]:
        return endings(self.members_certificates(), now or utc_now())

    def credentials(self) -> grpc.ServerCredentials:
        """For the server: a handshake shows the newest certificate and requires one of the newest authorities."""
        self._shown = self._read
        return grpc.dynamic_ssl_server_credentials(self._read.served, self._newest, require_client_authentication=True)

    def reload(self) -> bool:
        """Read the files again if one has changed since the last time; whether they were read. Raises as the
        constructor; what was read before stays in force. Not again for the same files."""
        stamp = self._files()
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        read = self._load()
        self._accept(read.members)
        self._read = read
        return True

    def require(self, accept: Callable[[Members], None]) -> None:
        """Apply a condition, which raises `GemelError`, to the list that is in force and to every later one."""
        accept(self._read.members)
        self._accept = accept

    def _load(self) -> _Read:
        tls = TlsFiles.load(self._folder.path, self._role, members=self._list)
        members = self._pin.load(self._list)
        self._pin.check_authorities(members, tls.linker, str(self._folder.linker))
        authorities = read_public(self._folder.callers, "the authorities of callers")
        admission = Admission.from_pem(members, authorities, only=self._only)
        in_use = certificates_in_use(tls.certificate, tls.linker, tls.callers)
        return _Read(tls, members, admission, in_use, tls.served())

    def _newest(self) -> grpc.ServerCertificateConfiguration | None:
        """What gRPC asks for before each handshake: None where nothing is new."""
        newest = self._read
        if newest is self._shown:
            return None
        self._shown = newest
        return newest.served

    def _files(self) -> tuple[tuple[int, ...], ...]:
        """What changes when a file is replaced or written: place, size and time; nothing for a missing file."""
        folder = self._folder
        stamps: list[tuple[int, ...]] = []
        pinned = () if self._pin.configuration is None else (self._pin.configuration,)
        for path in (self._list, folder.certificate, folder.tls_key, folder.callers, folder.linker, *pinned):
            try:
                found = path.stat()
            except OSError:
                stamps.append(())
            else:
                stamps.append((found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns))
        return tuple(stamps)


class TrustWatch:
    """Looks at the files of a service's trust every few seconds, in a thread of its own, and calls `changed` after
    reading."""

    def __init__(self, trust: Trust, changed: Callable[[], None] = lambda: None) -> None:
        self._trust = trust
        self._changed = changed
        self._until_reminder = 0.0
        self._reminded: bool | None = None
        self._periodic = Periodic("trust", LOOK_SECONDS, self._work)

    def start(self) -> None:
        """Begin to look; a certificate that ends soon is named at once, and again when it is urgent, and each day."""
        self._remind()
        self._periodic.start()

    def stop(self) -> None:
        self._periodic.stop()

    def _work(self) -> bool:
        self._until_reminder -= LOOK_SECONDS
        self._look()
        self._remind()
        return True

    def _look(self) -> None:
        try:
            if self._trust.reload():
                log.info("membership list and certificates read again", members=len(self._trust.members))
                self._changed()
        except GemelError as error:
            log.error(
                "changed membership list or certificates cannot be used; the former ones stay in force",
                reason=str(error),
            )

    def _remind(self) -> None:
        soon = self._trust.ending()
        urgent = None if soon is None else soon.is_urgent
        if soon is not None and (urgent != self._reminded or self._until_reminder <= 0):
            log.warning("certificate ends soon", **soon.figures())
            self._until_reminder = REMIND_SECONDS
        self._reminded = urgent
