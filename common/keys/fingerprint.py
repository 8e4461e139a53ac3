"""Fingerprints as people read them to each other over the phone."""

from __future__ import annotations

import hashlib
import re

_GROUP = 4


def fingerprint(public: bytes) -> bytes:
    """SHA-256 of a raw public key, 32 bytes."""
    return hashlib.sha256(public).digest()


def in_groups(digest: bytes) -> str:
    """Hexadecimal digits in groups of four: ``"1f3a 77c0 ..."``."""
    text = digest.hex()
    return " ".join(text[start : start + _GROUP] for start in range(0, len(text), _GROUP))


def from_groups(text: str) -> bytes:
    """Read a fingerprint as a person may have written it down: any case, with spaces, colons or hyphens.

    Raises
    ------
    ValueError
        If what is left is not 64 hexadecimal digits.
    """
    digits = re.sub(r"[\s:-]", "", text)
    if not re.fullmatch(r"[0-9A-Fa-f]{64}", digits):
        raise ValueError(f"a fingerprint has 64 hexadecimal digits, got {len(digits)} characters")
    return bytes.fromhex(digits)
