"""An organisation's own PKI, as cert-manager or SPIRE runs one: a root, an intermediate authority, short lives."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gemel.common.pki.certificates import certificate_pem, key_pem, new_key, spki_fingerprint

BOTH = (ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH)
HOUR = timedelta(hours=1)


class OwnPki:
    """A root and an intermediate authority under it.

    Parameters
    ----------
    organisation
        In the authorities' names.
    constraints
        Of the intermediate authority.
    """

    def __init__(self, organisation: str, constraints: x509.NameConstraints | None = None) -> None:
        self._organisation = organisation
        self._root_key, self._key = new_key(), new_key()
        self.root = self._authority("root", self._root_key, self._root_key, None)
        self.intermediate = self._authority("intermediate", self._key, self._root_key, constraints)

    @property
    def fingerprint(self) -> str:
        """Of the root, as a list pins it."""
        return spki_fingerprint(self.root)

    @property
    def root_pem(self) -> bytes:
        return certificate_pem(self.root)

    def issue(
        self,
        key: ec.EllipticCurvePublicKey | None = None,
        *,
        dns: Sequence[str] = (),
        uris: Sequence[str] = (),
        lasting: timedelta = HOUR,
        start: datetime | None = None,
        uses: Sequence[x509.ObjectIdentifier] | None = BOTH,
        common_name: str = "workload",
    ) -> x509.Certificate:
        """A certificate of the intermediate authority."""
        begin = start or datetime.now(UTC) - timedelta(minutes=1)
        names = [*map(x509.DNSName, dns), *map(x509.UniformResourceIdentifier, uris)]
        built = (
            x509.CertificateBuilder()
            .subject_name(_name(common_name))
            .issuer_name(self.intermediate.subject)
            .public_key(key or new_key().public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(begin)
            .not_valid_after(begin + lasting)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(authority=False), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if names:
            built = built.add_extension(x509.SubjectAlternativeName(names), critical=False)
        if uses is not None:
            built = built.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        return built.sign(self._key, hashes.SHA256())

    def shown(self, certificate: x509.Certificate) -> bytes:
        """PEM: the certificate and the intermediate authority, as a holder shows them."""
        return certificate_pem(certificate) + certificate_pem(self.intermediate)

    def renew(
        self, folder: Path, *, lasting: timedelta = HOUR, dns: Sequence[str] = (), uris: Sequence[str] = ()
    ) -> int:
        """Put a new key and its certificate into a party's folder, as an agent does; the certificate's number."""
        key = new_key()
        made = self.issue(key.public_key(), dns=dns, uris=uris, lasting=lasting)
        for file, content, mode in (("tls.key", key_pem(key), 0o600), ("certificate.pem", self.shown(made), 0o644)):
            new = folder / f".{file}"
            new.touch(mode=mode)
            new.write_bytes(content)
            new.replace(folder / file)
        return made.serial_number

    def _authority(
        self,
        which: str,
        key: ec.EllipticCurvePrivateKey,
        issuer: ec.EllipticCurvePrivateKey,
        constraints: x509.NameConstraints | None,
    ) -> x509.Certificate:
        begin = datetime.now(UTC) - HOUR
        built = (
            x509.CertificateBuilder()
            .subject_name(_name(f"{self._organisation} {which}"))
            .issuer_name(_name(f"{self._organisation} root"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(begin)
            .not_valid_after(begin + timedelta(days=365))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(authority=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key()), critical=False)
        )
        if constraints is not None:
            built = built.add_extension(constraints, critical=True)
        return built.sign(issuer, hashes.SHA256())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )
