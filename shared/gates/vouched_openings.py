"""Opening shared words: the value from one holder of the share that is missing, and a tag of it from the other."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from gemel.common.parties import ComputeParty
from gemel.shared.gates.arithmetic import Arithmetic
from gemel.shared.gates.channel import deviation
from gemel.shared.gates.gates import Shared, Words
from gemel.shared.gates.streams import bytes_of

# Whether both ends of a link had the same words, by a tag that the third party cannot forge.
#
# The two ends take in the same words in the same order, each what it has itself, and exchange tags at a check. A tag
# is GMAC under a key that only these two have: were a word other, tags would agree with a probability of at most the
# number of 16-byte blocks in 2^128 (McGrew and Viega 2004), whatever the third party has sent, as it lacks the key. It
# costs a tenth of a cryptographic hash.

TAG_BYTES = 16


class LinkTag:
    """A running tag of the words that both ends of one link should have alike, by a key of 32 bytes of theirs for it
    alone.
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


MESSAGE_WORDS = 1 << 21
"""Of one message of an opening at most: lists of pairs may have more bytes than a message."""


@dataclass(frozen=True)
class Opening:
    """What was opened."""

    what: str
    to: ComputeParty | None
    words: int


class AgreedWords:
    """Words that this party should have as each of the other two has them; `keys`, for these tags alone, are of both
    links.
    """

    def __init__(self, arithmetic: Arithmetic, what: str, keys: tuple[bytes, bytes]) -> None:
        self._arithmetic = arithmetic
        self._what = what
        self.with_previous, self.with_next = LinkTag(keys[0]), LinkTag(keys[1])

    def check(self, fault: str = "") -> None:
        """Compare all words since the last check with both, and learn whether any of the three found a difference.

        `fault`: something else that this party has found to be wrong. Raises `GemelError`: DEVIATION, at all three.
        """
        own, arithmetic = self._arithmetic.own, self._arithmetic
        tags = self.with_previous.taken(), self.with_next.taken()
        links = own.previous, own.next
        for party, tag in zip(links, tags, strict=True):
            arithmetic.send_bytes(party, tag)
        theirs = [arithmetic.receive_bytes(party, TAG_BYTES) for party in links]
        found = [not hmac.compare_digest(received, tag) for received, tag in zip(theirs, tags, strict=True)]
        # An output may be opened only where no honest party has found anything, so each waits for the others' word.
        for party in links:
            arithmetic.send_bytes(party, _WRONG if fault or any(found) else _RIGHT)
        heard = [arithmetic.receive_bytes(party, 1) != _RIGHT for party in links]
        if not (fault or any(found) or any(heard)):
            return
        if any(found):
            raise deviation(arithmetic.stage, f"{self._what} differ", (own, links[0] if found[0] else links[1]), links)
        if fault:
            raise deviation(arithmetic.stage, fault, links, links)
        reporter = links[0] if heard[0] else links[1]
        what = f"{self._what} are not as {reporter.title} has them,"
        raise deviation(arithmetic.stage, what, (own, reporter), links)


_RIGHT, _WRONG = b"\x01", b"\x00"


class VouchedOpenings(AgreedWords):
    """Opens shared words, keeps a record of it, and has both holders of each share that was opened vouch for it."""

    def __init__(self, arithmetic: Arithmetic, keys: tuple[bytes, bytes]) -> None:
        super().__init__(arithmetic, "shares that both hold", keys)
        self.record: list[Opening] = []

    def to_all(self, x: Shared, what: str) -> Words:
        """The value of x, at all three parties; to be used for what must be right only after `check`."""
        arithmetic, own = self._arithmetic, self._arithmetic.own
        self.record.append(Opening(what, None, x[0].size))
        self.with_next.add(x[0])
        arithmetic.send(own.previous, x[1])
        missing = self._received(x[0].size).reshape(x[0].shape)
        return np.asarray(x[0] ^ x[1] ^ missing)

    def to_one(self, to: ComputeParty, x: Shared, what: str) -> Words | None:
        """The value of x at one party, None at the others; to be used only after `check`."""
        own = self._arithmetic.own
        self.record.append(Opening(what, to, x[0].size))
        if own == to.next:
            words = x[1].reshape(-1)
            for begin in range(0, len(words), MESSAGE_WORDS):
                self._arithmetic.send(to, words[begin : begin + MESSAGE_WORDS])
        elif own == to.previous:
            self.with_next.add(x[0])
        else:
            words = (x[0] ^ x[1]).reshape(-1)
            for begin in range(0, len(words), MESSAGE_WORDS):
                part = words[begin : begin + MESSAGE_WORDS]
                part ^= self._received(len(part))
            return np.asarray(words.reshape(x[0].shape))
        return None

    def agree(self, other: ComputeParty, words: Words) -> None:
        """Words that another party must have alike, as both holders of a share that was opened."""
        (self.with_next if other == self._arithmetic.own.next else self.with_previous).add(words)

    def _received(self, n: int) -> Words:
        missing = self._arithmetic.receive(self._arithmetic.own.next, n)
        self.with_previous.add(missing)
        return missing
