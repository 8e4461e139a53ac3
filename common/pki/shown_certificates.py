"""The certificates that members have shown when they called, for whoever has to know in time that one ends.

They are kept in memory: after a restart a member's is unknown until it calls again.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from cryptography import x509

from gemel.common.pki.certificates import read_certificates
from gemel.common.pki.ending import EndingCertificate, ending
from gemel.common.pki.members import Member


class ShownCertificates:
    """The newest certificate that each member has shown."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[bytes, x509.Certificate]] = {}

    def note(self, member: Member, peer: bytes) -> None:
        """Keep what an admitted member has shown; PEM, its own certificate first."""
        known = self._found.get(member.name)
        if known is None or known[0] != peer:
            self._found[member.name] = (peer, read_certificates(peer, member.name)[0])

    def of(self, members: Iterable[Member]) -> dict[Member, x509.Certificate]:
        """The certificates of those members who have called."""
        return {member: self._found[member.name][1] for member in members if member.name in self._found}


def endings(certificates: dict[Member, x509.Certificate], now: datetime) -> dict[str, EndingCertificate]:
    """Which members' certificates end soon, by the members' names."""
    found = {member.name: ending(certificate, now) for member, certificate in certificates.items()}
    return {name: soon for name, soon in found.items() if soon is not None}
