"""The one file that every member receives: membership list, certificates, authorities and Carole's address.

All of it is public. What it says is compared by the `digits_of` its members, over the phone: the file itself is signed
by no one, because a signature would have to be compared likewise.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from gemel.common.configuration import MAX_BYTES, Address, Configuration, parse_configuration
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.identity import fingerprint
from gemel.common.pki.certificates import certificate_pem, read_certificates, read_public, spki_fingerprint
from gemel.common.pki.certified_names import PinnedKey
from gemel.common.pki.member_entries import ListVersion, member_name
from gemel.common.pki.members import Members

# The digits that members read out to each other, to find whether they have received the same file.
#
# Each member has digits of its own, which follow from the whole file and its name: those of one's own screen, or those
# that one member has read out, are no one else's. Who has to type the digits of three members has heard three.
#
# Two files that one attacker makes, for two members between whom it stands, may be varied until their digits agree: by
# the birthday paradox that takes the square root of the number of strings. So the digits come from the file by a
# function that is slow and needs much memory. With 24 digits an attacker needs about 10^12 versions of each file, 2^41
# evaluations in all, each of 128 MiB and some tenths of a second: 25,000 years of one core (docs/live-linkage.md).
# That is for the digits of one member; where two type each other's, both have to agree. It can begin only once it has
# read the members' requests, whose keys have to be in what it forges, and has to end before the call.
#
# Decimal digits, because they are read out alike in every language.

DIGITS = 24
"""Almost 80 bits."""
_GROUP = 4
_COST, _BLOCK, _LANES = 1 << 17, 8, 1
"""Parameters N, r, p of scrypt (RFC 7914): 128 r N bytes, which is 128 MiB."""
_SALT = b"gemel membership file 1"
"""The same for all, since all must come to the same key; it keeps it apart from any other use."""
_ROOM = 1 << 28
"""Bytes that OpenSSL may take: a little more than the 128 MiB."""


def authentication_key(content: bytes) -> bytes:
    """What all members' digits follow from: 32 bytes of its canonical bytes. Some tenths of a second, 128 MiB."""
    try:
        return hashlib.scrypt(fingerprint(content), salt=_SALT, n=_COST, r=_BLOCK, p=_LANES, maxmem=_ROOM, dklen=32)
    except (AttributeError, ValueError, MemoryError):
        what = "the digits to be read out need scrypt with 128 MiB, which the cryptography of this machine refuses"
        remedy = "compare the digest of the list by `gemel party accept`, as docs/certificates.md says"
        raise parameter("authentication string", what, remedy=remedy) from None


def authentication_string(key: bytes, name: str) -> str:
    """The digits that the member of this name reads out, in six groups of four. HMAC-SHA256 of the name under
    `authentication_key`, modulo 10^24."""
    derived = hmac.digest(key, name.encode(), "sha256")
    return grouped(f"{int.from_bytes(derived) % 10**DIGITS:0{DIGITS}d}")


def grouped(digits: str) -> str:
    return " ".join(digits[start : start + _GROUP] for start in range(0, len(digits), _GROUP))


def typed_string(text: str) -> str:
    """Digits as they were typed, in any grouping, in groups of four. Raises PARAMETER if there are not 24 of them:
    nothing is compared in part."""
    digits = re.sub(r"[\s.,:-]", "", text)
    if not re.fullmatch(f"[0-9]{{{DIGITS}}}", digits, re.ASCII):
        what = f"expected all {DIGITS} digits that another member reads out"
        got = f"{len(digits)} characters"
        raise GemelError(ErrorCode.PARAMETER, what, got=got, remedy="have them read out again, group by group")
    return grouped(digits)


FILE = "membership.yaml"


class _MembershipFile(Configuration):
    version: ListVersion
    carole: Address
    members: str
    authorities: str
    certificates: dict[Annotated[str, AfterValidator(member_name)], str]


@dataclass(frozen=True)
class Membership:
    """What the file says."""

    carole: str
    members: Members
    authorities: bytes
    """Certificates of all authorities involved, PEM."""
    certificates: Mapping[str, bytes]
    """Each party's certificate (PEM) by its name; none of a party whose own PKI issues them."""

    @classmethod
    def parse(cls, text: str, where: str = FILE) -> Membership:
        """Read the text of such a file. Raises CONFIGURATION if it is malformed, or another file of the ceremony;
        CERTIFICATE if a certificate is malformed or is not the one in the list."""
        if "\nrequest: " in text or "\npki:" in text:
            raise _another("an enrolment request, which goes to the coordinator", where)
        if text.startswith("-----BEGIN"):
            raise _another("a certificate alone", where)
        file = parse_configuration(text, _MembershipFile, folder=Path(), where=where)
        members = Members.parse(file.members, where)
        read = {name: read_certificates(pem.encode(), f"{where}, {name}") for name, pem in file.certificates.items()}
        # Each, and what is behind it, as it is always written.
        certificates = {name: b"".join(map(certificate_pem, chain)) for name, chain in read.items()}
        _check(members, certificates, where)
        known = read_certificates(file.authorities.encode(), f"{where}, the authorities")
        return cls(file.carole, members, b"".join(map(certificate_pem, known)), certificates)

    @cached_property
    def text(self) -> str:
        """The whole file, canonical: two files that say the same have the same text."""
        lines = [
            "# Public. The same for every member: have the digits read out, and type them.",
            "version: 1",
            f'carole: "{self.carole}"',
            *_block("members", self.members.dump(), 0),
            *_block("authorities", self.authorities.decode("ascii"), 0),
            "certificates:" + (" {}" if not self.certificates else ""),
        ]
        for name in sorted(self.certificates):
            lines += _block(f'"{name}"', self.certificates[name].decode("ascii"), 2)
        return "\n".join(lines) + "\n"

    def digits_of(self, name: str) -> str:
        """What the member of this name reads out; takes some tenths of a second the first time."""
        return authentication_string(self._authentication_key, name)

    @cached_property
    def _authentication_key(self) -> bytes:
        return authentication_key(self.text.encode())


def load_membership(path: Path) -> Membership:
    """Read the file; errors as `Membership.parse`, and CONFIGURATION if it cannot be read."""
    content = read_public(path, "the file that the coordinator sent")
    if len(content) > MAX_BYTES:
        raise _another(f"{len(content):,} bytes, and it has at most {MAX_BYTES:,}", str(path))
    text = content.decode("utf-8", errors="replace")
    return Membership.parse(text, str(path))


def _block(key: str, text: str, indent: int) -> list[str]:
    margin = " " * indent
    return [f"{margin}{key}: |", *(f"{margin}  {line}" for line in text.splitlines())]


def _check(members: Members, certificates: Mapping[str, bytes], where: str) -> None:
    """Refuse a file that does not fit together, which is not what `gemel party convene` has written."""
    pinned = {each.name: each.certificate.key for each in members if isinstance(each.certificate, PinnedKey)}
    differing = sorted(pinned.keys() ^ certificates.keys())
    for name in pinned.keys() & certificates.keys():
        if spki_fingerprint(read_certificates(certificates[name], where)[0]) != pinned[name]:
            differing.append(name)
    if differing:
        what = "the certificates in this file are not those of its list"
        got = f"another or none for {', '.join(sorted(differing))}"
        remedy = "it was changed on the way, or put together by hand: have the coordinator send it again"
        raise GemelError(ErrorCode.CERTIFICATE, what, where=where, got=got, remedy=remedy)


def _another(what: str, where: str) -> GemelError:
    expected = "expected the file that `gemel party convene` has written for all members"
    remedy = f"take {FILE}, which the coordinator sends to everyone"
    return GemelError(ErrorCode.CONFIGURATION, expected, where=where, got=what, remedy=remedy)
