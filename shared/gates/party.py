"""One of the three parties of a shared computation: what it can do with shared words."""

from __future__ import annotations

import hashlib

import numpy as np
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from gemel.common.parties import ComputeParty
from gemel.shared.gates.arithmetic import Arithmetic
from gemel.shared.gates.channel import Channel, deviation
from gemel.shared.gates.gate_check import GATE_WORDS, GateCheck
from gemel.shared.gates.gates import Shared, Words
from gemel.shared.gates.streams import KEY_BYTES, Stream
from gemel.shared.gates.vouched_openings import Opening, VouchedOpenings

COIN_SEED_WORDS = 4


class Party(Arithmetic):
    """One compute party in a session with the other two. All three call the same methods in the same order.

    `keys` are 32 bytes each, of this session alone: shared with the previous party (key i), and with the next (key i +
    1). Shared words are arrays of uint64 whose first axis has the two shares that the party holds.
    """

    def __init__(self, own: ComputeParty, keys: tuple[bytes, bytes], channel: Channel) -> None:
        super().__init__(own, _derived(keys, b"shares"), channel)
        self._openings = VouchedOpenings(self, _derived(keys, b"openings"))
        self._gates = GateCheck(self, self._openings, _derived(keys, b"gates"), self.coin)

    @property
    def openings(self) -> list[Opening]:
        return self._openings.record

    def all_of(self, requests: list[tuple[Shared, Shared]]) -> list[Shared]:
        """`and` of each pair of a list, in one message; gates before it are checked first where they would be too many
        together.
        """
        if self._gates.words and self._gates.words + sum(x[0].size for x, _ in requests) > GATE_WORDS:
            self._gates.check()
        results = self.products(requests)
        self._gates.add(requests, results)
        return results

    def exchanged(self, to: ComputeParty, words: Words, sender: ComputeParty) -> Words:
        """Send words to one party and receive as many from one, unchecked; shape of `words`."""
        self.send(to, words)
        return self.receive(sender, words.size).reshape(words.shape)

    def agree(self, other: ComputeParty, words: Words) -> None:
        """Words that another party must have like this one, who calls the same: compared at the next `check`."""
        self._openings.agree(other, words)

    def opened(self, x: Shared, what: str) -> Words:
        """The value of x, at all three, of the shape x.shape[1:]; vouched for by the next `check`.

        Raises `GemelError`: DEVIATION if one of the gates before it is wrong: these are checked first.
        """
        self._check_gates()
        return self._openings.to_all(x, what)

    def opened_to(self, to: ComputeParty, x: Shared, what: str) -> Words | None:
        """The value of x at one party, None at the others; checks as `opened`."""
        self._check_gates()
        return self._openings.to_one(to, x, what)

    def coin(self, n_words: int) -> Words:
        """Random words that all know now and no party, whatever it does, could foresee or choose; shape (n_words,)."""
        own = self.own
        # No party shows its shares of the coin before both others have received all that was sent before: who knew the
        # coin while an honest party still waits for its message could fit the message to it.
        for party in (own.previous, own.next):
            self.send_bytes(party, _READY)
        for party in (own.previous, own.next):
            if self.receive_bytes(party, len(_READY)) != _READY:
                raise deviation(self.stage, "a message is not the one due", (own, party), (party,))
        seed = self.random((COIN_SEED_WORDS,))
        self.send(own.previous, seed[1])
        self.send(own.next, seed[0])
        missing = self.receive(own.next, COIN_SEED_WORDS)
        others = own.previous, own.next
        if not np.array_equal(missing, self.receive(own.previous, COIN_SEED_WORDS)):
            raise deviation(self.stage, "shares of a coin differ", others, others)
        self.openings.append(Opening("check", None, COIN_SEED_WORDS))
        return Stream((seed[0] ^ seed[1] ^ missing).tobytes()).words(n_words)

    def compare(self, digest_of: bytes, what: str) -> None:
        """All three must have the same bytes, of which only digests are sent; DEVIATION, naming `what` and who has
        others.
        """
        own = self.own
        digest = hashlib.sha256(b"%d " % len(what.encode()) + what.encode() + digest_of).digest()
        for party in (own.previous, own.next):
            self.send_bytes(party, digest)
        received = {party: self.receive_bytes(party, len(digest)) for party in (own.previous, own.next)}
        for party, other in received.items():
            if other != digest:
                raise deviation(self.stage, f"{what} are not the same,", (own, party), (party,))

    def check(self, stage: str) -> None:
        """Check all gates and openings since the last check, before what depends on them is used; DEVIATION."""
        self.stage = stage
        if self._gates.words:
            self._gates.check()
        else:
            self._openings.check()

    def _check_gates(self) -> None:
        if self._gates.words:
            self._gates.check()


_READY = b"ready"


def _derived(keys: tuple[bytes, bytes], purpose: bytes) -> tuple[bytes, bytes]:
    """A pair of keys for one purpose from the session's pair."""
    info = b"gemel shared computation 1 " + purpose
    one, other = (HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(key) for key in keys)
    return one, other
