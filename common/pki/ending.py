"""Certificates that end soon: named while there is time to renew them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from cryptography import x509

SOON_DAYS = 30
"""Days before its end from which a certificate is named."""

URGENT_DAYS = 7
"""Days before its end from which it is named as urgent."""


@dataclass(frozen=True)
class EndingCertificate:
    """A certificate that ends within `SOON_DAYS`.

    Attributes
    ----------
    ends
        Its end, in UTC.
    days
        Whole days left; negative once it has ended.
    """

    ends: datetime
    days: int

    @property
    def is_urgent(self) -> bool:
        """Whether it ends within `URGENT_DAYS`."""
        return self.days < URGENT_DAYS

    def figures(self) -> dict[str, str | int]:
        """For a line of a log."""
        return {"ends": f"{self.ends:%Y-%m-%d %H:%M} UTC", "days": self.days}

    def __str__(self) -> str:
        when = f"{self.ends:%Y-%m-%d %H:%M} UTC"
        if self.days < 0:
            return f"the certificate ended on {when}: have it renewed"
        left = "today" if self.days == 0 else f"in {self.days} day{'s' * (self.days != 1)}"
        return f"the certificate ends {left}, on {when}: have it renewed{' now' if self.is_urgent else ''}"


def ending(certificate: x509.Certificate, now: datetime) -> EndingCertificate | None:
    """The certificate's end, if it comes within `SOON_DAYS`."""
    ends = certificate.not_valid_after_utc
    days = (ends - now).days
    return EndingCertificate(ends, days) if days < SOON_DAYS else None
