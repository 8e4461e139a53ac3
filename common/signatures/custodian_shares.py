"""How a custodian cuts words into three shares, of which two are drawn from seeds.

Shares s0 and s1 are keystreams of AES-256 in counter mode under a seed each, and s2 is what remains: the words with
both added. A seed serves all sets of one upload, under the set's number as nonce, and no other upload: the share of a
set under two seeds that are not known is uniform, and the same file shared twice has nothing in common.

The words are shared in place: what was plain is s2 afterwards, and is nowhere else.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

from gemel.common.parties import ComputeParty

SECRET_BYTES = 32
COMMITMENTS_BYTES = 3 * 32

_AT_ONCE = 1 << 20
"""Bytes encrypted in one call."""


@dataclass(frozen=True)
class PartySecrets:
    """What a compute party gets of a custodian's secrets: those of the two shares that it holds."""

    party: ComputeParty
    first: bytes = field(repr=False)
    second: bytes = field(repr=False)
    """Of share `party` and of the next one, `SECRET_BYTES` each: the seed of share 0 or 1; of share 2, which is sent,
    the key that it is encrypted by."""
    commitments: bytes
    """SHA-256 of the secrets of shares 0, 1 and 2, one after the other. All three parties have the same, so that each
    two who hold a share know that they have the same one."""

    def of(self, share: int) -> bytes | None:
        """The secret of a share; None for the one that this party does not hold."""
        return {int(self.party): self.first, int(self.party.next): self.second}.get(share)

    @property
    def agree(self) -> bool:
        own = ((int(self.party), self.first), (int(self.party.next), self.second))
        return all(self.commitments[32 * share : 32 * share + 32] == _commitment(share, each) for share, each in own)


@dataclass(frozen=True)
class ShareSecrets:
    """A custodian's secrets of one upload, by share: seed 0, seed 1, and the key that share 2 is encrypted by."""

    by_share: tuple[bytes, bytes, bytes] = field(repr=False)

    @classmethod
    def fresh(cls) -> ShareSecrets:
        """New ones from the operating system's random source; no upload has those of another."""
        return cls((secrets.token_bytes(SECRET_BYTES), secrets.token_bytes(SECRET_BYTES), secrets.token_bytes(32)))

    def of(self, party: ComputeParty) -> PartySecrets:
        commitments = b"".join(_commitment(share, each) for share, each in enumerate(self.by_share))
        return PartySecrets(party, self.by_share[party], self.by_share[party.next], commitments)


def _commitment(share: int, secret: bytes) -> bytes:
    return hashlib.sha256(bytes([share]) + secret).digest()


def add_share(words: NDArray[np.uint64], seed: bytes, share: int, number: int) -> None:
    """Add the share of a set (by its number in the contribution) that a seed gives to contiguous words, in place. The
    share is 0 or 1. Counter mode is the exclusive or with its keystream: about a second for 2 GB."""
    nonce = number.to_bytes(7, "big") + bytes([share]) + bytes(8)
    encryptor = Cipher(AES(seed), CTR(nonce)).encryptor()
    data = memoryview(words.reshape(-1).view(np.uint8).data)
    for start in range(0, len(data), _AT_ONCE):
        part = data[start : start + _AT_ONCE]
        part[:] = encryptor.update(part)


def leave_third_share(words: NDArray[np.uint64], secrets: ShareSecrets, number: int) -> None:
    """Turn the plain words of a set into share 2, in place."""
    for share in (0, 1):
        add_share(words, secrets.by_share[share], share, number)
