"""How the key of a sealed message's content reaches its recipient, in the message's header.

For a hybrid key by HPKE (RFC 9180), base mode, in one call: the KEM is MLKEM768-X25519, which joins ML-KEM-768 and
X25519, the KDF HKDF-SHA256, the AEAD AES-256-GCM; `info` is the framed context. The header is the mark, HPKE's
encapsulated key (1120 bytes), and a random content key of 32 bytes as HPKE encrypted it (48 bytes).

For a key of the approved suite it is the same with the KEM MLKEM1024-P384, which joins ML-KEM-1024 and P-384, and the
KDF HKDF-SHA384; the encapsulated key has 1665 bytes.

For an X25519 key of a former release the header is the mark and an ephemeral X25519 public key; the content key is
HKDF-SHA256 of the X25519 secret, salted with both public keys, and its info is the framed context.

The key in the membership list decides which of these is made: nothing in a message can lead a sealer from one to the
other. An opener takes each kind with a key of that kind only, so the X25519 half of a hybrid key opens nothing alone.
In a project of the approved suite both take that kind only, whatever keys there are (`sealing`).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, hpke
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from gemel.common.keys.key_file import PUBLIC_BYTES
from gemel.common.keys.sealing_key import (
    ALGORITHMS,
    APPROVED_PUBLIC_BYTES,
    ApprovedKey,
    FormerKey,
    HybridKey,
    SealingKey,
    SealingPublicKey,
)
from gemel.common.suite import Suite

APPROVED = b"gemel sealed 3\n"
HYBRID = b"gemel sealed 2\n"
FORMER = b"gemel sealed 1\n"
MARK_BYTES = len(HYBRID)


_CONTENT_KEY_BYTES = 32
_TAG_BYTES = 16
_ENCAPSULATED_BYTES = 1088 + PUBLIC_BYTES  # ML-KEM-768's ciphertext, and an ephemeral key of X25519
_REST = {
    APPROVED: APPROVED_PUBLIC_BYTES + _CONTENT_KEY_BYTES + _TAG_BYTES,  # ML-KEM-1024's ciphertext is as long as its key
    HYBRID: _ENCAPSULATED_BYTES + _CONTENT_KEY_BYTES + _TAG_BYTES,
    FORMER: PUBLIC_BYTES,
}
_DOMAINS = {APPROVED: b"gemel sealing 3", HYBRID: b"gemel sealing 2", FORMER: b"gemel sealing 1"}


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
    if recipient.suite is Suite.APPROVED:
        return APPROVED
    return HYBRID if recipient.is_hybrid else FORMER


def domain_of(mark: bytes) -> bytes:
    """What begins the framed context under this mark.

    Raises
    ------
    UnopenedError
        If it is the mark of no version.
    """
    if mark not in _DOMAINS:
        raise UnopenedError("the message does not begin as a sealed message that this version reads")
    return _DOMAINS[mark]


def header_bytes(mark: bytes) -> int:
    """Length of a header, its mark included."""
    return MARK_BYTES + _REST[mark]


def new_content_key(recipient: SealingPublicKey, info: bytes) -> tuple[bytes, bytes]:
    """A content key for one message, and the header that brings it to `recipient`.

    Raises
    ------
    ValueError
        If the recipient's X25519 key is a point of low order: everyone would know the secret.
    """
    if recipient.is_hybrid:
        content_key = secrets.token_bytes(_CONTENT_KEY_BYTES)
        sealed = hpke_suite(recipient.suite).encrypt(content_key, recipient.hybrid, info=info)
        return content_key, mark_of(recipient) + sealed
    ephemeral = X25519PrivateKey.generate()
    public = ephemeral.public_key().public_bytes_raw()
    secret = ephemeral.exchange(X25519PublicKey.from_public_bytes(recipient.raw))
    return _former(secret, public, recipient, info), FORMER + public


def read_content_key(key: SealingKey, header: bytes, info: bytes) -> bytes:
    """The content key in a header of `header_bytes`.

    Under a former mark it is not verified yet: the first chunk then shows whether it is right.

    Raises
    ------
    UnopenedError
        If none of the recipient's keys opens it under this context.
    """
    mark, rest = header[:MARK_BYTES], header[MARK_BYTES:]
    if mark == HYBRID:
        return _by_hpke([each for each in key.keys if isinstance(each, HybridKey)], Suite.DEFAULT, rest, info)
    if mark == APPROVED:
        return _by_hpke([each for each in key.keys if isinstance(each, ApprovedKey)], Suite.APPROVED, rest, info)
    former = [each for each in key.keys if isinstance(each, FormerKey)]
    if not former:
        raise UnopenedError("the message is sealed to a key of X25519 alone, which this party no longer has")
    try:
        secret = former[0].x25519.exchange(X25519PublicKey.from_public_bytes(rest))
    except ValueError:
        raise UnopenedError("the sender's ephemeral key is a point of low order") from None
    return _former(secret, rest, former[0].public, info)


def _by_hpke(keys: Sequence[HybridKey | ApprovedKey], suite: Suite, sealed: bytes, info: bytes) -> bytes:
    if not keys:
        raise UnopenedError(f"the message is sealed to a key of {ALGORITHMS[suite]}, and this party has none")
    for key in keys:
        try:
            return hpke_suite(suite).decrypt(sealed, key.private, info=info)
        except (InvalidTag, ValueError):
            # Another of its keys, a point of low order, or a header that was changed: nothing says which.
            continue
    raise UnopenedError("its header does not open under this key and context")


def _former(secret: bytes, ephemeral: bytes, recipient: SealingPublicKey, info: bytes) -> bytes:
    return HKDF(hashes.SHA256(), _CONTENT_KEY_BYTES, salt=ephemeral + recipient.raw, info=info).derive(secret)
