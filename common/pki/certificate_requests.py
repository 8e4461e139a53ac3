"""Certificate requests: made where the private key is, holding the public key only."""

from __future__ import annotations

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role
from gemel.common.pki.certificates import Names, role_urn

_NAME_LIMIT = 64  # of an X.509 common name


def new_request(key: ec.EllipticCurvePrivateKey, name: str, role: Role, names: Names | None = None) -> bytes:
    """A certificate request (PEM) for a key; it holds the public key only."""
    general: list[x509.GeneralName] = [x509.UniformResourceIdentifier(role_urn(role))]
    if names:
        general += [x509.DNSName(dns) for dns in names.dns]
        general += [x509.IPAddress(address) for address in names.addresses]
    return (
        x509.CertificateSigningRequestBuilder()
        .subject_name(subject_of(name))
        .add_extension(x509.SubjectAlternativeName(general), critical=False)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )


def read_request(pem: bytes, where: str) -> x509.CertificateSigningRequest:
    """A request whose sender holds the private key."""
    try:
        request = x509.load_pem_x509_csr(pem)
        valid = request.is_signature_valid
    except (ValueError, TypeError):
        valid = False
    if not valid:
        raise GemelError(
            ErrorCode.CERTIFICATE,
            "expected a certificate request as PEM, signed by the key in it",
            where=where,
            remedy="copy it again from its sender",
        )
    return request


def subject_of(name: str) -> x509.Name:
    """A party's name as a certificate's subject.

    Raises
    ------
    GemelError
        CERTIFICATE if it is empty or longer than 64 characters.
    """
    if not 1 <= len(name) <= _NAME_LIMIT:
        raise GemelError(
            ErrorCode.CERTIFICATE,
            f"a name in a certificate must have 1 to {_NAME_LIMIT} characters",
            got=f"{len(name)} characters",
        )
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
