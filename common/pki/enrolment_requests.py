"""A party's enrolment request: its public keys and its certificate request, signed by its identity.

It is all that an organisation sends when it enrols. The signature shows that the sender holds the identity in it; whose
identity that is has to be checked by telephone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tryst.common.configuration import Configuration, parse_configuration
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.identity import Identity, PublicIdentity
from tryst.common.keys.sealing_key import SealingPublicKey
from tryst.common.keys.signing_purpose import SigningPurpose
from tryst.common.parties import Role
from tryst.common.pki.certificate_requests import read_request
from tryst.common.pki.certificates import read_public, role_of
from tryst.common.pki.members import FirstVersion, IdentityDigits, KeyDigits, MemberName


class _EnrolmentRequestFile(Configuration):
    version: FirstVersion
    name: MemberName
    role: Role
    identity: IdentityDigits
    sealing: KeyDigits
    request: str
    signature: str


@dataclass(frozen=True)
class EnrolmentRequest:
    """A party's public keys and certificate request, signed by its identity."""

    name: str
    role: Role
    identity: PublicIdentity
    sealing: SealingPublicKey
    request: bytes

    @classmethod
    def parse(cls, text: str, where: str = "enrolment-request.yaml") -> EnrolmentRequest:
        """Read an enrolment request.

        Raises
        ------
        TrystError
            CONFIGURATION if it is malformed; SIGNATURE if it is not signed by the identity in it; CERTIFICATE if
            its request is not signed by the key in it or names another role.
        """
        file = parse_configuration(text, _EnrolmentRequestFile, folder=Path(), where=where)
        enrolment_request = cls(
            file.name,
            file.role,
            PublicIdentity.from_hex(file.identity),
            SealingPublicKey.from_hex(file.sealing),
            file.request.encode(),
        )
        try:
            signature = bytes.fromhex(file.signature)
        except ValueError:
            signature = b""
        enrolment_request.identity.verify(signature, SigningPurpose.ENROLMENT, *enrolment_request._parts)
        if role_of(read_request(enrolment_request.request, where), where) is not enrolment_request.role:
            raise TrystError(
                ErrorCode.CERTIFICATE,
                f"the certificate request must be for the role of the enrolment request, {enrolment_request.role}",
                where=where,
                remedy="have its sender enrol again",
            )
        return enrolment_request

    def signed(self, identity: Identity) -> str:
        """The enrolment request as text, signed."""
        lines = [
            "# Public. Send it to whoever issues the certificates.",
            "version: 1",
            f'name: "{self.name}"',
            f"role: {self.role}",
            f'identity: "{self.identity.hex}"',
            f'sealing: "{self.sealing.hex}"',
            f'signature: "{identity.sign(SigningPurpose.ENROLMENT, *self._parts).hex()}"',
            "request: |",
            *(f"  {line}" for line in self.request.decode("ascii").splitlines()),
        ]
        return "\n".join(lines) + "\n"

    @property
    def _parts(self) -> tuple[bytes, ...]:
        return (
            self.name.encode(),
            self.role.value.encode(),
            self.identity.raw,
            self.sealing.raw,
            self.request,
        )


def load_enrolment_request(path: Path) -> EnrolmentRequest:
    """Read an enrolment request from a file; as `EnrolmentRequest.parse`."""
    text = read_public(path, "the enrolment request").decode("utf-8", errors="replace")
    return EnrolmentRequest.parse(text, str(path))
