"""The suites of algorithms that a specification may name, and the keyed hash of each.

``default``
    Keyed BLAKE2b, single blocks of AES-256, and X25519 beside ML-KEM-768.
``approved``
    Algorithms that NIST has approved: HMAC-SHA-256, CMAC and the key derivation in counter mode over it, and P-384
    beside ML-KEM-1024. docs/fips.md has where each is used, and what is left to judge.

The suite is always that of the approved specification. It is negotiated nowhere, and no message can change it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from enum import StrEnum


class Suite(StrEnum):
    """A suite; its name is its value in a specification."""

    DEFAULT = "default"
    APPROVED = "approved"


def keyed_hash(key: bytes, size: int, suite: Suite) -> Callable[[bytes], bytes]:
    """The keyed hash of a suite under one key of 32 bytes, as a function of the content; a digest has 4 to 32 bytes.

    Keyed BLAKE2b of that length (RFC 7693), or the first bytes of HMAC-SHA-256 (FIPS 198-1, SP 800-224): about a
    microsecond for a short content.
    """
    if suite is Suite.APPROVED:
        return lambda content: hmac.digest(key, content, "sha256")[:size]
    empty = hashlib.blake2b(key=key, digest_size=size)

    def digest(content: bytes) -> bytes:
        keyed = empty.copy()
        keyed.update(content)
        return keyed.digest()

    return digest
