"""Identifying the caller: a peer's certificate, checked against the membership list.

A caller is a member if its certificate has the pinned public key, was issued by the authority pinned *for that
member*, is within its dates, names the member's role and is issued for clients. So one organisation's authority can
vouch for that organisation only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.x509.oid import ExtendedKeyUsageOID

from tryst.common.errors import ErrorCode, TrystError, TrystErrors
from tryst.common.pki.certificates import read_certificate, read_certificates, role_of, spki_fingerprint
from tryst.common.pki.checks import check_issued, utc_now
from tryst.common.pki.members import Member, Members


class Admission:
    """Finds the member behind a peer's certificate.

    Parameters
    ----------
    members
        The membership list.
    authorities
        Certificates of authorities that members' certificates may be issued by.
    only
        Names of the members to admit; all by default. A custodian's own service admits itself alone.

    Raises
    ------
    TrystErrors
        CONFIGURATION if a member to be admitted has an authority that is not among `authorities`.
    """

    def __init__(
        self, members: Members, authorities: Iterable[x509.Certificate], *, only: Iterable[str] | None = None
    ) -> None:
        self._members = members
        self._authorities: Mapping[str, x509.Certificate] = {
            spki_fingerprint(authority): authority for authority in authorities
        }
        self._only = frozenset(only) if only is not None else frozenset(member.name for member in members)
        missing = [
            TrystError(
                ErrorCode.CONFIGURATION,
                "the certificate of the authority pinned for this member is missing",
                where=f"member {member.name}",
                got=f"authorities {', '.join(sorted(digits[:16] for digits in self._authorities)) or 'none'}",
                remedy=f"add the certificate of the authority {member.authority[:16]}",
            )
            for member in members
            if member.name in self._only and member.authority not in self._authorities
        ]
        if missing:
            raise TrystErrors(ErrorCode.CONFIGURATION, missing, where="membership list")

    @classmethod
    def from_pem(cls, members: Members, authorities: bytes, *, only: Iterable[str] | None = None) -> Admission:
        """As the constructor, with the authorities as PEM."""
        return cls(members, read_certificates(authorities, "the authorities of the membership list"), only=only)

    def __call__(self, peer: bytes, now: datetime | None = None) -> Member:
        """The member whose certificate (PEM) this is.

        The error states the reason, for the log of the called service. The caller must not see it: to callers who are
        not members, every refusal looks the same.

        Raises
        ------
        TrystError
            NOT_ADMITTED.
        """
        where = "the caller's certificate"
        try:
            certificate = read_certificate(peer, where)
            fingerprint = spki_fingerprint(certificate)
            member = self._members.with_certificate(fingerprint)
            if member is None or member.name not in self._only:
                raise TrystError(
                    ErrorCode.NOT_ADMITTED,
                    "no member has this public key" if member is None else "this member is not admitted here",
                    where=where,
                    got=f"public key {fingerprint[:16]}",
                    remedy="if this is a new certificate, change the membership list",
                )
            where = f"the certificate of {member.name}"
            check_issued(certificate, self._authorities[member.authority], now or utc_now(), where)
            role = role_of(certificate, where)
            if role is not member.role:
                raise TrystError(
                    ErrorCode.NOT_ADMITTED,
                    f"the certificate must name the member's role {member.role}",
                    where=where,
                    got=str(role),
                    remedy="have it issued for the role in the membership list",
                )
            if not _is_for_clients(certificate):
                raise TrystError(
                    ErrorCode.NOT_ADMITTED,
                    "the certificate is not issued for clients",
                    where=where,
                    remedy="have it issued by 'tryst init' or 'tryst certify'",
                )
        except (ValueError, UnsupportedAlgorithm):
            # A part that is parsed only when it is accessed: an extension, the public key.
            raise TrystError(ErrorCode.NOT_ADMITTED, "the certificate is malformed", where=where) from None
        except TrystError as error:
            if error.code is ErrorCode.NOT_ADMITTED:
                raise
            raise TrystError(
                ErrorCode.NOT_ADMITTED, error.what, where=error.where, got=error.got, remedy=error.remedy
            ) from None
        return member


def _is_for_clients(certificate: x509.Certificate) -> bool:
    try:
        uses = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return False
    return ExtendedKeyUsageOID.CLIENT_AUTH in uses
