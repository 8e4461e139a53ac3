"""The content of a Gemel certificate, and reading it: keys, names, roles, fingerprints, dates.

A leaf carries its party's role as the URI ``urn:gemel:role:<role>`` and a DNS name for that role,
``<role>.gemel.internal``, which an authority gives to that role alone. A client verifies the role's name whatever the
address: a certificate of another member, even one for the same host, is never accepted for the called service.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gemel.common.errors import ErrorCode, GemelError, file_error
from gemel.common.keys.private_files import read_private
from gemel.common.parties import Role

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

SKEW = timedelta(minutes=5)
"""How long before its creation a certificate is valid, because clocks differ."""

_URN = "urn:gemel:role:"
_DOMAIN = "gemel.internal"
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_DNS = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(\.{_LABEL})*")


@dataclass(frozen=True)
class Validity:
    """The dates between which a certificate is valid; both with a time zone."""

    not_before: datetime
    not_after: datetime

    @classmethod
    def lasting(cls, duration: timedelta, *, start: datetime | None = None) -> Validity:
        """Valid for `duration` from `start`, which is five minutes ago by default."""
        # Certificates count in whole seconds; rounded here, so that the requested dates are those read back.
        begin = (start or datetime.now(UTC) - SKEW).replace(microsecond=0)
        return cls(begin, begin + duration)


@dataclass(frozen=True)
class Names:
    """Host names and addresses at which a service is reached."""

    dns: tuple[str, ...] = ()
    addresses: tuple[Address, ...] = ()

    @classmethod
    def of(cls, names: Iterable[str]) -> Names:
        """Distinguish host names from addresses. Raises CERTIFICATE if a name is neither, or belongs to Gemel's own
        ``gemel.internal``."""
        dns: list[str] = []
        addresses: list[Address] = []
        for name in dict.fromkeys(names):
            try:
                addresses.append(ipaddress.ip_address(name))
            except ValueError:
                dns.append(_host(name))
        return cls(tuple(dict.fromkeys(dns)), tuple(addresses))

    def __bool__(self) -> bool:
        return bool(self.dns or self.addresses)


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """The key as unencrypted PKCS #8 PEM. Secret."""
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def certificate_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def load_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """Read a TLS key that only its owner may read. Raises CONFIGURATION if the file is missing or open to others;
    CERTIFICATE if it holds no P-256 key."""
    pem = read_private(path, "the private key")
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        what = "expected a private key on the curve P-256 as unencrypted PKCS #8 PEM"
        remedy = "restore the file from its backup, or make a new key and have it certified"
        raise GemelError(ErrorCode.CERTIFICATE, what, where=str(path), remedy=remedy)
    return key


def read_certificates(pem: bytes, where: str) -> list[x509.Certificate]:
    """All certificates in `pem`, at least one. Raises CERTIFICATE if there is none, or one is malformed."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError:
        remedy = "the file must begin with '-----BEGIN CERTIFICATE-----'; copy it again from its sender"
        raise GemelError(ErrorCode.CERTIFICATE, "expected certificates as PEM", where=where, remedy=remedy) from None


def read_certificate(pem: bytes, where: str) -> x509.Certificate:
    certificates = read_certificates(pem, where)
    if len(certificates) != 1:
        what = "expected one certificate, not a chain"
        got = f"{len(certificates)} certificates"
        remedy = "keep the party's own certificate only; its authority is pinned elsewhere"
        raise GemelError(ErrorCode.CERTIFICATE, what, where=where, got=got, remedy=remedy)
    return certificates[0]


def load_certificate(path: Path) -> x509.Certificate:
    """Read a party's certificate, the first in its file; what follows are intermediate authorities. Raises
    CONFIGURATION if the file cannot be read; CERTIFICATE as `read_certificates`."""
    return read_certificates(read_public(path, "the certificate"), str(path))[0]


def read_public(path: Path, content: str) -> bytes:
    """Read a file that holds no secret. Raises CONFIGURATION if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        remedy = "check the path in the configuration; 'gemel init' makes this file"
        raise file_error(ErrorCode.CONFIGURATION, f"cannot read {content}", path, error, remedy) from None


def role_urn(role: Role) -> str:
    return _URN + role.value


def server_name(role: Role) -> str:
    """The DNS name that the certificate of a service in this role has, wherever the service listens."""
    return f"{role.value}.{_DOMAIN}"


def names_role(certificate: x509.Certificate) -> bool:
    """Whether a certificate names a role at all: one of an organisation's own PKI does not."""
    return any(uri.startswith(_URN) for uri in uris(certificate))


def uris(certificate: x509.Certificate | x509.CertificateSigningRequest) -> list[str]:
    """The URIs in a certificate or a request; none if they cannot be read."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        return []
    return names.get_values_for_type(x509.UniformResourceIdentifier)


def role_of(certificate: x509.Certificate | x509.CertificateSigningRequest, where: str) -> Role:
    """The one role that a certificate, or a request for one, names. Raises CERTIFICATE if it names none, several, or
    one that does not exist."""
    named = [uri for uri in uris(certificate) if uri.startswith(_URN)]
    known = {role_urn(role): role for role in Role}
    if len(named) != 1 or named[0] not in known:
        what = f"a certificate must name exactly one role, as '{_URN}' and one of {', '.join(Role)}"
        got = f"{len(named)} names of roles" if len(named) != 1 else "a role that does not exist"
        remedy = "have it issued again by 'gemel init' or 'gemel certify'"
        raise GemelError(ErrorCode.CERTIFICATE, what, where=where, got=got, remedy=remedy)
    return known[named[0]]


def host_names(certificate: x509.Certificate | x509.CertificateSigningRequest) -> list[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    addresses = names.get_values_for_type(x509.IPAddress)
    return [*names.get_values_for_type(x509.DNSName), *(str(address) for address in addresses)]


def spki_fingerprint(certificate: x509.Certificate | x509.CertificateSigningRequest) -> str:
    """SHA-256 of the public key (its SubjectPublicKeyInfo), 64 hexadecimal digits. A renewal may keep it."""
    return hashlib.sha256(public_key_bytes(certificate)).hexdigest()


def public_key_bytes(holder: x509.Certificate | x509.CertificateSigningRequest | ec.EllipticCurvePrivateKey) -> bytes:
    return holder.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def _host(name: str) -> str:
    lowered = name.lower()
    if not _DNS.fullmatch(lowered) or re.fullmatch(r"[0-9.]+", lowered):
        what = "this is neither a host name nor an address"
        where = "names of a certificate"
        remedy = "write a name such as carole.example.org, or an address such as 192.0.2.7"
        raise GemelError(ErrorCode.CERTIFICATE, what, where=where, got=repr(name[:80]), remedy=remedy)
    if lowered == _DOMAIN or lowered.endswith(f".{_DOMAIN}"):
        what = f"names within {_DOMAIN} are given to roles by the authority and cannot be requested"
        where = "names of a certificate"
        raise GemelError(ErrorCode.CERTIFICATE, what, where=where, got=lowered, remedy="leave it out")
    return lowered
