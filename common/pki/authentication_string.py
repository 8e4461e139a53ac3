"""The digits that members read out to each other, to find whether they have received the same file.

Each member has digits of its own, which follow from the whole file and its name: those of one's own screen, or those
that one member has read out, are no one else's. Who has to type the digits of three members has heard three.

Two files that one attacker makes, for two members between whom it stands, may be varied until their digits agree: by
the birthday paradox that takes the square root of the number of strings. So the digits come from the file by a
function that is slow and needs much memory. With 24 digits an attacker needs about 10^12 versions of each file, 2^41
evaluations in all, each of 128 MiB and some tenths of a second: 25,000 years of one core (docs/live-linkage.md). That
is for the digits of one member; where two type each other's, both have to agree.
It can begin only once it has read the members' requests, whose keys have to be in what it forges, and has to end before
the call.

Decimal digits, because they are read out alike in every language.
"""

from __future__ import annotations

import hashlib
import hmac
import re

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.fingerprint import fingerprint

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
    """What all members' digits follow from: 32 bytes of a file's canonical bytes.

    Raises
    ------
    GemelError
        PARAMETER where the system's cryptography has no scrypt, or not the memory for it.

    Notes
    -----
    Some tenths of a second, and 128 MiB.
    """
    try:
        return hashlib.scrypt(fingerprint(content), salt=_SALT, n=_COST, r=_BLOCK, p=_LANES, maxmem=_ROOM, dklen=32)
    except (AttributeError, ValueError, MemoryError):
        raise GemelError(
            ErrorCode.PARAMETER,
            "the digits to be read out need scrypt with 128 MiB, which the cryptography of this machine refuses",
            where="authentication string",
            remedy="compare the digest of the list by `gemel party accept`, as docs/certificates.md says",
        ) from None


def authentication_string(key: bytes, name: str) -> str:
    """The digits that the member of this name reads out, in six groups of four.

    Notes
    -----
    HMAC-SHA256 of the name under `authentication_key`, modulo 10^24.
    """
    derived = hmac.digest(key, name.encode(), "sha256")
    return grouped(f"{int.from_bytes(derived) % 10**DIGITS:0{DIGITS}d}")


def grouped(digits: str) -> str:
    """Digits in groups of four."""
    return " ".join(digits[start : start + _GROUP] for start in range(0, len(digits), _GROUP))


def typed_string(text: str) -> str:
    """Digits as they were typed, in any grouping, in groups of four.

    Raises
    ------
    GemelError
        PARAMETER if there are not 24 of them: nothing is compared in part.
    """
    digits = re.sub(r"[\s.,:-]", "", text)
    if not re.fullmatch(f"[0-9]{{{DIGITS}}}", digits, re.ASCII):
        raise GemelError(
            ErrorCode.PARAMETER,
            f"expected all {DIGITS} digits that another member reads out",
            got=f"{len(digits)} characters",
            remedy="have them read out again, group by group",
        )
    return grouped(digits)
