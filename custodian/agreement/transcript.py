"""The transcript that both custodians must share, and the three keys derived with it."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from gemel.common.keys.derivation import Seed
from gemel.common.keys.framing import frame
from gemel.common.keys.suite import Suite
from gemel.common.parties import Side
from gemel.custodian.agreement.agreement_messages import Offer

_DOMAINS = {Suite.DEFAULT: b"gemel seed agreement transcript 1", Suite.APPROVED: b"gemel seed agreement transcript 2"}


@dataclass(frozen=True)
class Transcript:
    """The seed of one agreement and both sides' confirmation keys, bound to everything the two have exchanged."""

    digest: bytes
    seed: Seed = field(repr=False)
    _confirmation_keys: Mapping[Side, bytes] = field(repr=False)

    @classmethod
    def of(cls, own: Offer, other: Offer, shared: bytes) -> Transcript:
        """The transcript of two offers of the same terms and suite: the same one, whichever custodian computes it.

        `shared` is the secret of ML-KEM, and behind it that of their ephemeral keys: the seed is as good as the better
        of the two. Alice's keys come first.
        """
        offers = {own.side: own, other.side: other}
        ends = []
        for side in Side:
            ends += [offers[side].identity, offers[side].ephemeral, offers[side].encapsulation]
        framed = frame(_DOMAINS[own.suite], *own.terms.parts, *ends)
        digest = hashlib.sha256(framed).digest()

        def key(purpose: str) -> bytes:
            return HKDF(hashes.SHA256(), 32, salt=digest, info=frame(purpose.encode())).derive(shared)

        confirmation_keys = {side: key(f"gemel key confirmation of {side.value} 1") for side in Side}
        return cls(digest, Seed(key("gemel seed 1")), confirmation_keys)

    def confirmation(self, side: Side, canary: bytes) -> bytes:
        """The MAC by which `side` proves that it has this transcript's secret; covers its canary digest."""
        framed = frame(self.digest, side.value.encode(), canary)
        return hmac.digest(self._confirmation_keys[side], framed, "sha256")
