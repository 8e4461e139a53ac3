"""Members as they are written, in a membership list and in an enrolment request; `members` has the form of the list."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from gemel.common.configuration import Configuration
from gemel.common.errors import GemelError
from gemel.common.keys.identity import PublicIdentity, PublicKey
from gemel.common.keys.sealing_key import SealingPublicKey
from gemel.common.parties import Role
from gemel.common.pki.certified_names import MAX_AUTHORITIES, CertifiedNames, PinnedKey, host_name, spiffe_id

NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?")


def _hexadecimal(*lengths: int) -> Callable[[str], str]:
    """Validates so many lower-case hexadecimal digits."""

    def check(text: str) -> str:
        if len(text) not in lengths or not re.fullmatch(r"[0-9a-f]+", text):
            expected = " or ".join(map(str, lengths))
            raise ValueError(f"expected {expected} lower-case hexadecimal digits, got {len(text)} characters")
        return text

    return check


def _public_key(kind: type[PublicKey]) -> Callable[[str], str]:
    """Validates the digits of a public key of a kind."""
    digits = _hexadecimal(*(2 * length for length in kind.LENGTHS))

    def check(text: str) -> str:
        try:
            kind.from_hex(digits(text))
        except GemelError as error:
            raise ValueError(error.what) from None
        return text

    return check


def member_name(text: str) -> str:
    """The name itself, if it is valid for a member."""
    if not NAME.fullmatch(text):
        raise ValueError("a member's name has 1 to 32 of a-z, 0-9 and -, and no - at either end")
    return text


MemberName = Annotated[str, AfterValidator(member_name)]
ListVersion = Annotated[int, Field(ge=1, le=1)]  # Literal[1] would take 1.0 and true for 1
KeyDigits = Annotated[str, AfterValidator(_hexadecimal(64))]
IdentityDigits = Annotated[str, AfterValidator(_public_key(PublicIdentity))]
SealingDigits = Annotated[str, AfterValidator(_public_key(SealingPublicKey))]


class PkiNames(Configuration):
    """A `CertifiedNames` in a file."""

    authorities: Annotated[tuple[KeyDigits, ...], Field(min_length=1, max_length=MAX_AUTHORITIES)]
    dns: Annotated[str, AfterValidator(host_name)] | None = None
    spiffe: Annotated[str, AfterValidator(spiffe_id)] | None = None

    @model_validator(mode="after")
    def _named(self) -> Self:
        if self.dns is None and self.spiffe is None:
            raise ValueError("expected dns, spiffe or both: the names that its certificate has")
        return self

    @property
    def names(self) -> CertifiedNames:
        return CertifiedNames(self.authorities, self.dns or "", self.spiffe or "")


class MemberEntry(Configuration):
    """A member as it is written."""

    name: MemberName
    role: Role
    authority: KeyDigits | None = None
    certificate: KeyDigits | None = None
    pki: PkiNames | None = None
    identity: IdentityDigits
    sealing: SealingDigits

    @model_validator(mode="after")
    def _known(self) -> Self:
        if (self.authority is None or self.certificate is None) == (self.pki is None):
            raise ValueError("expected authority and certificate, or pki")
        return self

    @property
    def known_by(self) -> PinnedKey | CertifiedNames:
        return self.pki.names if self.pki else PinnedKey(self.authority or "", self.certificate or "")


class MembersFile(Configuration):
    """A membership list as it is written."""

    version: ListVersion
    members: tuple[MemberEntry, ...]


def pki_lines(names: CertifiedNames) -> list[str]:
    lines = ["pki:", "  authorities: [" + ", ".join(f'"{digits}"' for digits in names.authorities) + "]"]
    found = {"dns": names.dns, "spiffe": names.spiffe}
    return lines + [f'  {key}: "{value}"' for key, value in found.items() if value]


def certificate_lines(certificate: PinnedKey | CertifiedNames) -> list[str]:
    if isinstance(certificate, CertifiedNames):
        return pki_lines(certificate)
    return [f'authority: "{certificate.authority}"', f'certificate: "{certificate.key}"']
