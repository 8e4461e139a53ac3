"""A private certificate authority, whose key pair signs the certificates of the parties of a project.

One machine with all parties has one authority; three organisations may each have their own, or let the coordinator's
authority certify the requests they send. A request holds a public key only: no private key is ever sent. Leaf
certificates are issued by the authority directly, with no level between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.private_files import write_private
from gemel.common.parties import SERVERS, Role
from gemel.common.pki.certificates import (
    Names,
    Validity,
    certificate_pem,
    host_names,
    key_pem,
    load_certificate,
    load_key,
    new_key,
    public_key_bytes,
    role_of,
    role_urn,
    server_name,
    spki_fingerprint,
)
from gemel.common.pki.checks import is_authority

_NAME_LIMIT = 64  # of an X.509 common name


def new_request(key: ec.EllipticCurvePrivateKey, name: str, role: Role, names: Names | None = None) -> bytes:
    """A certificate request (PEM) for a key; it holds the public key only."""
    general = [x509.UniformResourceIdentifier(role_urn(role)), *_general_names(names)]
    return (
        x509.CertificateSigningRequestBuilder()
        .subject_name(subject_of(name))
        .add_extension(x509.SubjectAlternativeName(general), critical=False)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )


def _general_names(names: Names | None) -> list[x509.GeneralName]:
    if names is None:
        return []
    return [*map(x509.DNSName, names.dns), *map(x509.IPAddress, names.addresses)]


def read_request(pem: bytes, where: str) -> x509.CertificateSigningRequest:
    """A request whose sender holds the private key."""
    try:
        request = x509.load_pem_x509_csr(pem)
        valid = request.is_signature_valid
    except (ValueError, TypeError):
        valid = False
    if not valid:
        what = "expected a certificate request as PEM, signed by the key in it"
        raise GemelError(ErrorCode.CERTIFICATE, what, where=where, remedy="copy it again from its sender")
    return request


def subject_of(name: str) -> x509.Name:
    """A party's name as a certificate's subject. Raises CERTIFICATE if it is empty or longer than 64 characters."""
    if not 1 <= len(name) <= _NAME_LIMIT:
        what = f"a name in a certificate must have 1 to {_NAME_LIMIT} characters"
        raise GemelError(ErrorCode.CERTIFICATE, what, got=f"{len(name)} characters")
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


AUTHORITY_LIFETIME = timedelta(days=3650)
LEAF_LIFETIME = timedelta(days=397)

CERTIFICATE_FILE = "authority.pem"
KEY_FILE = "authority.key"


@dataclass(frozen=True)
class Authority:
    """A certificate authority with its private key."""

    certificate: x509.Certificate
    _key: ec.EllipticCurvePrivateKey = field(repr=False)

    @classmethod
    def create(cls, name: str, validity: Validity | None = None) -> Authority:
        """A new authority, valid for ten years by default. Raises CERTIFICATE if `name` is empty or longer than 64
        characters."""
        key = new_key()
        span = validity or Validity.lasting(AUTHORITY_LIFETIME)
        subject = subject_of(name)
        own_id = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        builder = _builder(subject, subject, key.public_key(), span, authority=True)
        certificate = builder.add_extension(own_id, critical=False).sign(key, hashes.SHA256())
        return cls(certificate, key)

    @classmethod
    def load(cls, folder: Path) -> Authority:
        """Read the authority that `save` wrote. Raises CONFIGURATION if a file is missing or open to others;
        CERTIFICATE if the two do not belong together."""
        certificate = load_certificate(folder / CERTIFICATE_FILE)
        key = load_key(folder / KEY_FILE)
        if public_key_bytes(key) != public_key_bytes(certificate) or not is_authority(certificate):
            what = f"{KEY_FILE} is not the key of the authority in {CERTIFICATE_FILE}"
            where = str(folder)
            raise GemelError(ErrorCode.CERTIFICATE, what, where=where, remedy="restore both files from the same backup")
        return cls(certificate, key)

    def save(self, folder: Path) -> None:
        """Write certificate and key (mode 0600) into an existing folder; an existing key is never overwritten. Raises
        EXISTS or CONFIGURATION."""
        write_private(folder / KEY_FILE, key_pem(self._key))
        (folder / CERTIFICATE_FILE).write_bytes(self.pem)

    @property
    def pem(self) -> bytes:
        return certificate_pem(self.certificate)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the authority's public key, as pinned in a membership list."""
        return spki_fingerprint(self.certificate)

    def issue(
        self,
        public_key: ec.EllipticCurvePublicKey,
        name: str,
        role: Role,
        names: Names | None = None,
        validity: Validity | None = None,
    ) -> x509.Certificate:
        """A leaf certificate for a party of this name and role, as in the membership list, with its public key on
        P-256.

        `names` are hosts and addresses of the linker, as no other party is called from outside. By default it is valid
        for 397 days, but not longer than the authority itself; a validity in the past gives an expired certificate.
        Raises CERTIFICATE if the key is on another curve, hosts are given for another role than the linker, or the
        certificate would outlive the authority.
        """
        if not isinstance(public_key.curve, ec.SECP256R1):
            what = "a party's key must be on the curve P-256"
            raise GemelError(ErrorCode.CERTIFICATE, what, where=name, got=public_key.curve.name)
        if names and role is not Role.LINKER:
            what = "only the linker's certificate names hosts: no other party is called from outside"
            got = f"host names for a {role}"
            raise GemelError(ErrorCode.CERTIFICATE, what, where=name, got=got, remedy="leave the names out")
        end = self.certificate.not_valid_after_utc
        span = self._longest_of_a_leaf() if validity is None else validity
        if span.not_after > end:
            what = f"a certificate cannot outlive its authority, which ends {end:%Y-%m-%d %H:%M} UTC"
            got = f"an end at {span.not_after:%Y-%m-%d %H:%M} UTC"
            remedy = "request a shorter time, or make a new authority"
            raise GemelError(ErrorCode.CERTIFICATE, what, where=name, got=got, remedy=remedy)
        uses = [ExtendedKeyUsageOID.CLIENT_AUTH]
        general: list[x509.GeneralName] = [x509.UniformResourceIdentifier(role_urn(role))]
        if role in SERVERS:
            uses.append(ExtendedKeyUsageOID.SERVER_AUTH)
            general.append(x509.DNSName(server_name(role)))
        return self._signed(public_key, name, uses, [*general, *_general_names(names)], span)

    def issue_machine(self, public_key: ec.EllipticCurvePublicKey, name: str) -> x509.Certificate:
        """A leaf certificate of a machine of a cluster, which calls and is called, and is no party of a project."""
        uses = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
        return self._signed(public_key, name, uses, [x509.DNSName(name)], self._longest_of_a_leaf())

    def _longest_of_a_leaf(self) -> Validity:
        span = Validity.lasting(LEAF_LIFETIME)
        return Validity(span.not_before, min(span.not_after, self.certificate.not_valid_after_utc))

    def _signed(
        self,
        public_key: ec.EllipticCurvePublicKey,
        name: str,
        uses: list[x509.ObjectIdentifier],
        general: list[x509.GeneralName],
        span: Validity,
    ) -> x509.Certificate:
        issuer_id = self.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        builder = _builder(subject_of(name), self.certificate.subject, public_key, span, authority=False)
        return (
            builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
            .add_extension(x509.SubjectAlternativeName(general), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer_id), critical=False)
            .sign(self._key, hashes.SHA256())
        )

    def certify(self, request: bytes, name: str, role: Role, validity: Validity | None = None) -> x509.Certificate:
        """Issue the certificate of a request (PEM), for the party and role the signer expects.

        Raises CERTIFICATE if the request is malformed, is not signed by the key in it, is for another name or role, or
        for a certificate that `issue` refuses.
        """
        where = f"certificate request of {name}"
        requested = read_request(request, where)
        requested_role = role_of(requested, where)
        requested_names = [str(part.value) for part in requested.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        if requested_role is not role or requested_names != [name]:
            what = f"the request must be for {name} as {role}"
            got = f"a request as {requested_role}" if requested_role is not role else "another name"
            remedy = "check with its sender, by phone, who sent this request"
            raise GemelError(ErrorCode.CERTIFICATE, what, where=where, got=got, remedy=remedy)
        key = requested.public_key()
        if not isinstance(key, ec.EllipticCurvePublicKey):
            raise GemelError(ErrorCode.CERTIFICATE, "a party's key must be on the curve P-256", where=where)
        return self.issue(key, name, role, Names.of(host_names(requested)), validity)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, span: Validity, *, authority: bool
) -> x509.CertificateBuilder:
    never = (
        "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
        "encipher_only", "decipher_only",
    )  # fmt: skip
    signs = {"digital_signature": not authority, "key_cert_sign": authority, "crl_sign": authority}
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(span.not_before)
        .not_valid_after(span.not_after)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=0 if authority else None), critical=True)
        .add_extension(x509.KeyUsage(**signs, **dict.fromkeys(never, False)), critical=True)
    )
