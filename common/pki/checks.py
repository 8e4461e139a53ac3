"""Checks that a certificate is within its dates and was issued by the expected authority."""

from __future__ import annotations

from datetime import UTC, datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from gemel.common.errors import ErrorCode, GemelError


def check_dates(certificate: x509.Certificate, now: datetime, where: str, what: str = "the certificate") -> None:
    """Refuse a certificate outside its dates. Raises CERTIFICATE, with both dates."""
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if begin <= now <= end:
        return
    state = "has expired" if now > end else "is not valid yet"
    dates = f"{what} {state}: it is valid from {begin:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"
    got = f"{now:%Y-%m-%d %H:%M} UTC by this machine's clock"
    remedy = "have it renewed" if now > end else "check this machine's clock, or wait"
    raise GemelError(ErrorCode.CERTIFICATE, dates, where=where, got=got, remedy=remedy)


def is_authority(certificate: x509.Certificate) -> bool:
    try:
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        return False
    return constraints.ca and usage.key_cert_sign


def check_issued(certificate: x509.Certificate, authority: x509.Certificate, now: datetime, where: str) -> None:
    """Refuse a leaf that `authority` did not issue directly, or if either certificate is outside its dates."""
    if not is_authority(authority):
        raise GemelError(ErrorCode.CERTIFICATE, "the pinned authority may not sign certificates", where=where)
    if is_authority(certificate):
        raise GemelError(ErrorCode.CERTIFICATE, "expected a party's certificate", where=where, got="an authority's")
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError):
        what = "the certificate was not issued by the authority pinned for this member"
        remedy = "compare both fingerprints with the membership list"
        raise GemelError(ErrorCode.CERTIFICATE, what, where=where, remedy=remedy) from None
    check_dates(authority, now, where, "the authority's certificate")
    check_dates(certificate, now, where)


def utc_now() -> datetime:
    return datetime.now(UTC)
