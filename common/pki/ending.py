"""Certificates that end soon: named while there is time to renew them.

What is soon depends on how long a certificate lasts: one for a year is renewed by people, one for an hour by a program
that begins when a third of its time is left at the latest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum

from cryptography import x509

from gemel.common.pki.certificates import read_certificates
from gemel.common.pki.members import Member

SOON = timedelta(days=30)
"""Time before its end from which a certificate is named, or a third of its whole time where that is less."""

URGENT = timedelta(days=7)
"""Time before its end from which it is named as urgent, or a tenth of its whole time where that is less."""


class Urgency(IntEnum):
    """How soon a certificate ends, as metrics show it."""

    NONE = 0
    SOON = 1
    URGENT = 2


@dataclass(frozen=True)
class EndingCertificate:
    """A certificate that ends soon."""

    ends: datetime
    left: timedelta
    """Until then; negative once it has ended."""
    is_urgent: bool

    def figures(self) -> dict[str, str | int]:
        return {"ends": f"{self.ends:%Y-%m-%d %H:%M} UTC", "days": self.left.days}

    def described(self, whose: str) -> str:
        """In a sentence; `whose` is "the certificate", or that of a member."""
        when = f"{self.ends:%Y-%m-%d %H:%M} UTC"
        if self.left < timedelta(0):
            return f"{whose} ended on {when}: have it renewed"
        days = self.left.days
        left = "today" if days == 0 else f"in {days} day{'s' * (days != 1)}"
        return f"{whose} ends {left}, on {when}: have it renewed{' now' if self.is_urgent else ''}"

    def __str__(self) -> str:
        return self.described("the certificate")


def urgency(certificate: x509.Certificate, now: datetime) -> Urgency:
    ends = certificate.not_valid_after_utc
    lasts, left = ends - certificate.not_valid_before_utc, ends - now
    if left < min(URGENT, lasts / 10):
        return Urgency.URGENT
    return Urgency.SOON if left < min(SOON, lasts / 3) else Urgency.NONE


def ending(certificate: x509.Certificate, now: datetime) -> EndingCertificate | None:
    found = urgency(certificate, now)
    if found is Urgency.NONE:
        return None
    ends = certificate.not_valid_after_utc
    return EndingCertificate(ends, ends - now, found is Urgency.URGENT)


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
