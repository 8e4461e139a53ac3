"""Whether both ends of a link had the same words, by a tag that the third party cannot forge.

The two ends take in the same words in the same order, each what it has itself, and exchange tags at a check. A tag is
GMAC under a key that only these two have: were a word other, tags would agree with a probability of at most the number
of 16-byte blocks in 2^128 (McGrew and Viega 2004), whatever the third party has sent, as it lacks the key. It costs a
tenth of a cryptographic hash.
"""

from __future__ import annotations

import hmac

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from gemel.common.sharing.streams import bytes_of

TAG_BYTES = 16


class LinkTag:
    """A running tag of the words that both ends of one link should have alike.

    Parameters
    ----------
    key : bytes
        32 bytes that the two ends have, for this tag and nothing else.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._number = 0
        self._begin()

    def add(self, words: NDArray[np.uint64]) -> None:
        """Take in words; they may be changed afterwards."""
        if words.size:
            self._context.authenticate_additional_data(bytes_of(words))

    def taken(self) -> bytes:
        """The tag of all words since the last one was taken: 16 bytes. The next begins, under a nonce of its own."""
        self._context.finalize()
        tag = self._context.tag
        self._number += 1
        self._begin()
        return bytes(tag)

    def _begin(self) -> None:
        cipher = Cipher(algorithms.AES256(self._key), modes.GCM(self._number.to_bytes(12, "big")))
        self._context = cipher.encryptor()


def equal(one: bytes, other: bytes) -> bool:
    """Whether two tags are equal, in a time that does not depend on them."""
    return hmac.compare_digest(one, other)
