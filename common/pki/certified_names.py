"""What a member's certificate is known by: a pinned key, or names that its organisation's own PKI certifies.

An organisation with a PKI of its own (cert-manager, SPIFFE) renews certificates every few hours, each for a new key.
The membership list then pins the *authorities* that may vouch for the member, and the names that its certificate must
have. Authorities are pinned for each member, so that none of them can vouch for another; where those of two members are
the same, the names tell them apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from cryptography import x509

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.pki.certificates import Names, host_names, uris

MAX_AUTHORITIES = 8

_SPIFFE = re.compile(r"spiffe://[a-z0-9._-]{1,255}(/(?!\.{1,2}(/|\Z))[A-Za-z0-9._-]+)+")
_MAX_SPIFFE = 2048


@dataclass(frozen=True)
class PinnedKey:
    """The key of a member's certificate, and who issues it, each as SHA-256."""

    authority: str
    key: str

    @property
    def authorities(self) -> tuple[str, ...]:
        """The one that may vouch for the member."""
        return (self.authority,)


@dataclass(frozen=True)
class CertifiedNames:
    """Who may vouch for a member, and for which name."""

    authorities: tuple[str, ...]
    """SHA-256 of their public keys. A chain from the certificate must lead to one of them."""
    dns: str = ""
    """A name among those in its certificate; empty for none. Whoever calls the member's service verifies it."""
    spiffe: str = ""
    """The SPIFFE ID that is the one URI in its certificate; empty for none."""

    def are_in(self, certificate: x509.Certificate) -> bool:
        """Whether a certificate has these names; who issued it is another question."""
        # Lower case of other alphabets can be ASCII: the Kelvin sign's is k.
        named = not self.dns or self.dns in (name.lower() for name in host_names(certificate) if name.isascii())
        return named and (not self.spiffe or uris(certificate) == [self.spiffe])


def host_name(text: str) -> str:
    try:
        names = Names.of([text])
    except GemelError as error:
        raise ValueError(error.what) from None
    if not names.dns:
        raise ValueError("expected a name, not an address")
    return names.dns[0]


def spiffe_id(text: str) -> str:
    """A SPIFFE ID with a path."""
    if len(text) > _MAX_SPIFFE or not _SPIFFE.fullmatch(text):
        raise ValueError("expected a SPIFFE ID such as spiffe://example.org/gemel/alice")
    return text


def certified_names(authorities: Iterable[str], dns: str = "", spiffe: str = "") -> CertifiedNames:
    """The names of a command line, checked. Raises CERTIFICATE if there is none, or one is malformed."""
    try:
        names = CertifiedNames(
            tuple(dict.fromkeys(authorities)), host_name(dns) if dns else "", spiffe_id(spiffe) if spiffe else ""
        )
    except ValueError as error:
        raise GemelError(ErrorCode.CERTIFICATE, str(error), where="names of a certificate") from None
    if not names.dns and not names.spiffe:
        what = "a certificate of an own PKI is known by a DNS name, a SPIFFE ID, or both"
        raise GemelError(ErrorCode.CERTIFICATE, what, where="names of a certificate", got="neither")
    return names
