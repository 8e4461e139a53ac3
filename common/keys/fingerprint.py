"""Fingerprints as people read them out over the phone."""

from __future__ import annotations

import hashlib

_GROUP = 4


def fingerprint(public: bytes) -> bytes:
    """SHA-256 of a raw public key, 32 bytes."""
    return hashlib.sha256(public).digest()


def in_groups(digest: bytes) -> str:
    """Hexadecimal digits in groups of four: ``"1f3a 77c0 ..."``."""
    text = digest.hex()
    return " ".join(text[start : start + _GROUP] for start in range(0, len(text), _GROUP))
