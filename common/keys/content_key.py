"""How the key of a sealed message's content reaches its recipient, in the message's header.

By HPKE (RFC 9180), base mode, in one call: the KEM is MLKEM768-X25519, which joins ML-KEM-768 and X25519, the KDF
HKDF-SHA256, the AEAD AES-256-GCM; `info` is the framed context. The header is the mark, HPKE's encapsulated key (1120
bytes), and a random content key of 32 bytes as HPKE encrypted it (48 bytes).

For a key of the approved suite it is the same with the KEM MLKEM1024-P384, which joins ML-KEM-1024 and P-384, and the
KDF HKDF-SHA384; the encapsulated key has 1665 bytes.

The key in the membership list decides which of these is made: nothing in a message can lead a sealer from one to the
other. An opener takes each kind with a key of that kind only. In a project of the approved suite both take that kind
only, whatever keys there are (`sealing`).
"""

from __future__ import annotations

import secrets
from functools import cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM

from gemel.common.keys.key_file import PUBLIC_BYTES
from gemel.common.keys.sealing_key import (
    ALGORITHMS,
    APPROVED_PUBLIC_BYTES,
    SealingKey,
    SealingPublicKey,
)
from gemel.common.keys.suite import Suite

DEFAULT = b"gemel sealed 1\n"
APPROVED = b"gemel sealed 2\n"
MARK_BYTES = len(DEFAULT)

_CONTENT_KEY_BYTES = 32
_TAG_BYTES = 16
_ENCAPSULATED_BYTES = 1088 + PUBLIC_BYTES  # ML-KEM-768's ciphertext, and an ephemeral key of X25519
_REST = {
    DEFAULT: _ENCAPSULATED_BYTES + _CONTENT_KEY_BYTES + _TAG_BYTES,
    APPROVED: APPROVED_PUBLIC_BYTES + _CONTENT_KEY_BYTES + _TAG_BYTES,  # ML-KEM-1024's ciphertext is as long as its key
}
_DOMAINS = {DEFAULT: b"gemel sealing 1", APPROVED: b"gemel sealing 2"}


@cache
def hpke_suite(suite: Suite) -> hpke.Suite:
    """HPKE's suite for a specification's, made when it is first used: an installation may lack the other one."""
    if suite is Suite.APPROVED:
        return hpke.Suite(KEM.MLKEM1024_P384, KDF.HKDF_SHA384, AEAD.AES_256_GCM)
    return hpke.Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


class UnopenedError(ValueError):
    """A header does not open; the message says why, for a person."""


def mark_of(recipient: SealingPublicKey) -> bytes:
    """The mark of what is sealed to a key."""
    return APPROVED if recipient.suite is Suite.APPROVED else DEFAULT


def domain_of(mark: bytes) -> bytes:
    """What begins the framed context under this mark."""
    if mark not in _DOMAINS:
        raise UnopenedError("the message does not begin as a sealed message that this version reads")
    return _DOMAINS[mark]


def header_bytes(mark: bytes) -> int:
    """Length of a header, its mark included."""
    return MARK_BYTES + _REST[mark]


def new_content_key(recipient: SealingPublicKey, info: bytes) -> tuple[bytes, bytes]:
    """A content key for one message, and the header that brings it to `recipient`."""
    content_key = secrets.token_bytes(_CONTENT_KEY_BYTES)
    sealed = hpke_suite(recipient.suite).encrypt(content_key, recipient.hpke, info=info)
    return content_key, mark_of(recipient) + sealed


def read_content_key(key: SealingKey, header: bytes, info: bytes) -> bytes:
    """The content key in a header of `header_bytes`."""
    mark, rest = header[:MARK_BYTES], header[MARK_BYTES:]
    suite = Suite.APPROVED if mark == APPROVED else Suite.DEFAULT
    keys = [each for each in key.keys if each.public.suite is suite]
    if not keys:
        raise UnopenedError(f"the message is sealed to a key of {ALGORITHMS[suite]}, and this party has none")
    for each in keys:
        try:
            return hpke_suite(suite).decrypt(rest, each.private, info=info)
        except (InvalidTag, ValueError):
            # Another of its keys, a point of low order, or a header that was changed: nothing says which.
            continue
    raise UnopenedError("its header does not open under this key and context")
