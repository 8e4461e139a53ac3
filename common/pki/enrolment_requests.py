"""A party's enrolment request: its public keys and its certificate request, signed by its identity.

One whose certificates its organisation's own PKI issues has, in place of the certificate request, the authorities and
the names of its certificates.

It is all that an organisation sends when it enrols. The signature shows that the sender holds the identity in it; whose
identity that is has to be checked by telephone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import model_validator

from gemel.common.configuration import Configuration, parse_configuration
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, PublicIdentity, SigningPurpose
from gemel.common.keys.sealing_key import SealingPublicKey
from gemel.common.parties import Role
from gemel.common.pki.authority import read_request
from gemel.common.pki.certificates import read_public, role_of
from gemel.common.pki.certified_names import CertifiedNames
from gemel.common.pki.member_entries import IdentityDigits, ListVersion, MemberName, PkiNames, SealingDigits, pki_lines


class _EnrolmentRequestFile(Configuration):
    version: ListVersion
    name: MemberName
    role: Role
    identity: IdentityDigits
    sealing: SealingDigits
    request: str | None = None
    pki: PkiNames | None = None
    signature: str

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.request is None) == (self.pki is None):
            raise ValueError("expected either request or pki")
        return self


@dataclass(frozen=True)
class EnrolmentRequest:
    """A party's public keys and certificate request, signed by its identity."""

    name: str
    role: Role
    identity: PublicIdentity
    sealing: SealingPublicKey
    certificate: bytes | CertifiedNames
    """The certificate request, as PEM, or what the own PKI's certificates are known by."""

    @classmethod
    def parse(cls, text: str, where: str = "enrolment-request.yaml") -> EnrolmentRequest:
        """Read an enrolment request. Raises CONFIGURATION if it is malformed; SIGNATURE if it is not signed by the
        identity in it; CERTIFICATE if its request is not signed by the key in it or names another role."""
        file = parse_configuration(text, _EnrolmentRequestFile, folder=Path(), where=where)
        enrolment_request = cls(
            file.name,
            file.role,
            PublicIdentity.from_hex(file.identity),
            SealingPublicKey.from_hex(file.sealing),
            (file.request or "").encode() if file.pki is None else file.pki.names,
        )
        try:
            signature = bytes.fromhex(file.signature)
        except ValueError:
            signature = b""
        enrolment_request.identity.verify(signature, SigningPurpose.ENROLMENT, *enrolment_request._parts)
        requested = enrolment_request.certificate
        if isinstance(requested, bytes) and role_of(read_request(requested, where), where) is not file.role:
            what = f"the certificate request must be for the role of the enrolment request, {enrolment_request.role}"
            raise GemelError(ErrorCode.CERTIFICATE, what, where=where, remedy="have its sender enrol again")
        return enrolment_request

    def signed(self, identity: Identity) -> str:
        lines = [
            "# Public. Send it to whoever issues the certificates.",
            "version: 1",
            f'name: "{self.name}"',
            f"role: {self.role}",
            f'identity: "{self.identity.hex}"',
            f'sealing: "{self.sealing.hex}"',
            f'signature: "{identity.sign(SigningPurpose.ENROLMENT, *self._parts).hex()}"',
            *self._certificate_lines,
        ]
        return "\n".join(lines) + "\n"

    @property
    def _certificate_lines(self) -> list[str]:
        if isinstance(self.certificate, CertifiedNames):
            return pki_lines(self.certificate)
        return ["request: |", *(f"  {line}" for line in self.certificate.decode("ascii").splitlines())]

    @property
    def _parts(self) -> tuple[bytes, ...]:
        keys = (self.name.encode(), self.role.value.encode(), self.identity.raw, self.sealing.raw)
        if isinstance(self.certificate, bytes):
            return (*keys, self.certificate)
        names = self.certificate
        return (*keys, b"pki", names.dns.encode(), names.spiffe.encode(), *map(bytes.fromhex, names.authorities))


def load_enrolment_request(path: Path) -> EnrolmentRequest:
    text = read_public(path, "the enrolment request").decode("utf-8", errors="replace")
    return EnrolmentRequest.parse(text, str(path))
