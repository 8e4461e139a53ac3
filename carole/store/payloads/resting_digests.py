"""Digests of plaintext as they rest in the database: encrypted under the key of the payload that they are of.

A digest in the clear would let whoever reads the database, and has no wrapping key, confirm a guess of a whole chunk,
or see that two uploads are equal; and it would outlive the erasure of its content. Encrypted under the payload's own
key it is gone with that key. What guards the disk against damage is not this but AES-GCM's tag of each chunk.

Content that was encrypted, or has fresh randomness in it, before it came here has a digest that confirms nothing: that
of a custodian's sealed share, and of artifacts. Their root digests stay in the clear, because a custodian's repeated
acknowledgement, and an artifact that is sent again, are recognised by them after the erasure too.
"""

from __future__ import annotations

from gemel.common.keys.vault import DataKey

DIGEST_BYTES = 32

_ROOT = 2**32 - 1  # no chunk has this place
_PURPOSE = "digests"


def resting(key: DataKey, position: int, digest: bytes) -> bytes:
    """A chunk's digest as it is stored, 60 bytes, other ones every time."""
    return key.apart(_PURPOSE).encrypt(position, digest)


def digest_of(key: DataKey, position: int, stored: bytes) -> bytes:
    """A chunk's digest from `resting`.

    Raises
    ------
    GemelError
        VAULT if it was changed, or is of another chunk or payload.
    """
    return key.apart(_PURPOSE).decrypt(position, stored)


def resting_root(key: DataKey, root: bytes) -> bytes:
    """A payload's root digest as it is stored, 60 bytes."""
    return resting(key, _ROOT, root)


def root_of(key: DataKey, stored: bytes | None) -> bytes | None:
    """A payload's root digest as it was stored, in the clear or not; None if there is none. Errors as `digest_of`."""
    if stored is None or len(stored) == DIGEST_BYTES:
        return stored
    return digest_of(key, _ROOT, stored)
