"""Agreement of the two custodians on a seed: a state machine over messages, without any input or output.

Each custodian holds one `Agreement` per project and epoch. Messages go through Carole, who is only a mailbox: she may
drop, delay, repeat or change them, and learns nothing. The other custodian's identity is known beforehand, out of
band, and is never taken from a message.

The order, enforced here:

1. An agreement begins with its own ephemeral X25519 key. Alice's *offer* exists from the beginning, and holds a public
   key of ML-KEM-768 too; Bob's answers it with a ciphertext (`key_exchange`), and exists once hers was accepted. An
   offer is always the same message.
2. The other's offer is accepted once. The same message again changes nothing; another one is refused, so that the same
   ephemeral key is never used in two agreements.
3. With both offers the *candidate* seed exists. It serves to make the canary digest and nothing else.
4. The own *confirmation* is made once, after the other's offer, and holds the canary digest. The same digest again
   gives the same message; another digest is refused.
5. The other's confirmation is accepted after the own one: it must be of the same transcript, prove the same secret,
   and hold the same canary digest.
6. The *seed* is available after that, never before.

The transcript is SHA-256 over project, encoding digest, epoch, and both sides' identities, ephemeral keys and parts of
ML-KEM-768, Alice's first. Seed and confirmation keys are HKDF-SHA256 of the two secrets, of ML-KEM-768 and of X25519,
salted with the transcript. So both proofs fail when either side saw another key, another identity, or other terms; and
whoever records the messages has to break both, X25519 and ML-KEM-768.

The custodians need not be online together: `export` gives the whole state, *with the private keys*, for the custodian's
vault, and `resume` continues from it. In the approved suite, which the specification names, ML-KEM-1024 and P-384 are
in the place of these two, in messages, transcript and state with marks of their own.
"""

from __future__ import annotations

import hmac
from typing import NoReturn

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.derivation import Seed
from gemel.common.keys.identity import Identity, PublicIdentity
from gemel.common.keys.suite import Suite
from gemel.common.parties import Side
from gemel.custodian.agreement.agreement_messages import (
    DIGEST_BYTES,
    Confirmation,
    Offer,
    Terms,
    read_confirmation,
    read_offer,
)
from gemel.custodian.agreement.agreement_state import AgreementState, malformed_state
from gemel.custodian.agreement.key_exchange import ALGORITHMS, Encapsulation, Ephemeral
from gemel.custodian.agreement.transcript import Transcript

_AGAIN = "let the coordinator open a new epoch of the project (`gemel project new-epoch`), and agree again in it"


class Agreement:
    """One custodian's part in agreeing one seed.

    `peer` is the other custodian's public identity, as compared out of band; CONFIGURATION if it is one's own. The
    suite is that of the approved specification: it decides the algorithms, and never a message does.
    """

    def __init__(
        self,
        terms: Terms,
        side: Side,
        identity: Identity,
        peer: PublicIdentity,
        *,
        suite: Suite = Suite.DEFAULT,
        _ephemeral: Ephemeral | None = None,
        _encapsulation: Encapsulation | None = None,
    ) -> None:
        if peer == identity.public:
            what = "the other custodian's identity is this custodian's own"
            where = f"seed agreement of project {terms.project}"
            remedy = "enter the identity whose fingerprint the other custodian reads out to you"
            raise GemelError(ErrorCode.CONFIGURATION, what, where=where, remedy=remedy)
        self.terms, self.side, self.suite = terms, side, suite
        self._identity, self._peer = identity, peer
        self._ephemeral = _ephemeral or Ephemeral.create(suite)
        self._half = _encapsulation or Encapsulation(side, suite)
        self._peer_offer = self._canary = self._peer_confirmation = b""
        self._transcript: Transcript | None = None

    def __repr__(self) -> str:
        return f"Agreement({self.terms.project!r}, epoch={self.terms.epoch}, side={self.side!s})"

    @property
    def offer(self) -> bytes:
        """The own offer; WRONG_STATE if it answers the other's, and that was not accepted yet."""
        if not self.has_offer:
            what = "the own offer answers the other's, which has not arrived"
            self._refuse(ErrorCode.WRONG_STATE, what, "wait for it")
        return self._own_offer.signed(self._identity)

    @property
    def has_offer(self) -> bool:
        return bool(self._half.part)

    @property
    def has_peer_offer(self) -> bool:
        """Whether the other's offer was accepted, so that `candidate` and `confirm` may be used."""
        return bool(self._peer_offer)

    @property
    def is_confirmed(self) -> bool:
        return bool(self._canary)

    @property
    def is_agreed(self) -> bool:
        """Whether the other's confirmation was accepted, so that `seed` may be used."""
        return bool(self._peer_confirmation)

    def accept_offer(self, message: bytes) -> None:
        """Take the other custodian's offer.

        Raises `GemelError`: SIGNATURE if the message is malformed, changed, the own one, another's, of another
        project, for the wrong side, or holds a key of low order or none of ML-KEM-768; EPOCH_MISMATCH or
        ENCODING_MISMATCH if it is of another epoch or encoding; WRONG_STATE if another offer was accepted before, or
        it is by another suite.
        """
        if self.has_peer_offer:
            if message == self._peer_offer:
                return
            self._refuse(ErrorCode.WRONG_STATE, "a second, different offer of the other custodian", _AGAIN)
        if self.has_offer and message == self.offer:
            what = "this custodian's own offer came back as the other's"
            self._refuse(ErrorCode.SIGNATURE, what, "report it to the linkage unit")
        offer = read_offer(message, self._peer, self._where("offer"), self.suite)
        self._check_terms(offer.terms, offer.side)
        if offer.ephemeral == self._ephemeral.public:
            self._refuse(ErrorCode.SIGNATURE, "the other custodian offers this custodian's own ephemeral key", _AGAIN)
        algorithms = ALGORITHMS[self.suite]
        try:
            shared = self._ephemeral.secret(offer.ephemeral)
        except ValueError:
            fault = "a point of low order" if self.suite is Suite.DEFAULT else f"no point of {algorithms.curve}"
            self._refuse(ErrorCode.SIGNATURE, f"the other custodian's ephemeral key is {fault}", _AGAIN)
        try:
            shared = self._half.secret(offer.encapsulation) + shared
        except ValueError:
            what = f"the other custodian's offer holds no public key of {algorithms.mlkem}"
            self._refuse(ErrorCode.SIGNATURE, what, _AGAIN)
        self._transcript = Transcript.of(self._own_offer, offer, shared)
        self._peer_offer = message

    @property
    def candidate(self) -> Seed:
        """The seed before the other has confirmed it, for the canary digest alone; WRONG_STATE before the other's
        offer.
        """
        return self._shared_transcript().seed

    def confirm(self, canary: bytes) -> bytes:
        """The own confirmation, of the canary digest made with `candidate`; WRONG_STATE before the other's offer, or
        after another.
        """
        transcript = self._shared_transcript()
        if len(canary) != DIGEST_BYTES:
            what = f"a canary digest has {DIGEST_BYTES} bytes"
            raise GemelError(ErrorCode.PARAMETER, what, got=f"{len(canary)} bytes")
        if self.is_confirmed and canary != self._canary:
            self._refuse(ErrorCode.WRONG_STATE, "another canary digest was confirmed before", _AGAIN)
        self._canary = canary
        mac = transcript.confirmation(self.side, canary)
        digest = transcript.digest
        return Confirmation(self.terms, self.side, digest, canary, mac, self.suite).signed(self._identity)

    def accept_confirmation(self, message: bytes) -> None:
        """Take the other custodian's confirmation; then the seed is agreed.

        Raises `GemelError`: WRONG_STATE before the own confirmation; SIGNATURE, EPOCH_MISMATCH or ENCODING_MISMATCH
        as for an offer; KEY_MISMATCH if the other does not hold the same secret over the same transcript;
        CANARY_MISMATCH if it does but its records are signed differently.
        """
        if not self.is_confirmed:
            what = "the other custodian's confirmation is accepted after the own one only"
            self._refuse(ErrorCode.WRONG_STATE, what, "confirm first")
        if self.is_agreed and message == self._peer_confirmation:
            return
        transcript = self._shared_transcript()
        confirmation = read_confirmation(message, self._peer, self._where("confirmation"), self.suite)
        self._check_terms(confirmation.terms, confirmation.side)
        if not hmac.compare_digest(confirmation.transcript, transcript.digest):
            remedy = f"compare both identities' fingerprints by phone; {_AGAIN}"
            self._refuse(ErrorCode.KEY_MISMATCH, "the two custodians have seen different offers", remedy)
        expected = transcript.confirmation(self.side.other, confirmation.canary)
        if not hmac.compare_digest(confirmation.mac, expected):
            self._refuse(ErrorCode.KEY_MISMATCH, "the other custodian's key confirmation does not verify", _AGAIN)
        if not hmac.compare_digest(confirmation.canary, self._canary):
            what = "the two custodians sign the same test records differently although they hold the same seed"
            remedy = f"install the same version of Gemel on both sides, then {_AGAIN}"
            self._refuse(ErrorCode.CANARY_MISMATCH, what, remedy)
        self._peer_confirmation = message

    @property
    def seed(self) -> Seed:
        """The agreed seed; WRONG_STATE before the other's confirmation was accepted."""
        if not self.is_agreed:
            what = "the seed is not agreed yet: the other custodian has not confirmed it"
            self._refuse(ErrorCode.WRONG_STATE, what, "wait for its confirmation")
        return self.candidate

    def export(self) -> bytes:
        """The whole state *with the private keys*, to be kept encrypted; see `Vault.protect`."""
        identities, private = (self._identity.public.raw, self._peer.raw), (self._ephemeral.state, self._half.state)
        messages = self._peer_offer, self._canary, self._peer_confirmation
        return AgreementState(self.suite, self.terms, self.side, *identities, *private, *messages).pack()

    @classmethod
    def resume(cls, state: bytes, identity: Identity, peer: PublicIdentity) -> Agreement:
        """Continue an agreement from its export; the messages in it are checked again.

        Raises `GemelError`: VAULT if the state is malformed; CONFIGURATION if either identity has changed since.
        """
        kept = AgreementState.unpack(state)
        if (kept.identity, kept.peer) != (identity.public.raw, peer.raw):
            what = "an identity has changed since this seed agreement began"
            where = f"seed agreement of project {kept.terms.project}, epoch {kept.terms.epoch}"
            remedy = f"restore the former identity, or {_AGAIN}"
            raise GemelError(ErrorCode.CONFIGURATION, what, where=where, remedy=remedy)
        try:
            half = Encapsulation(kept.side, kept.suite, kept.encapsulation)
            ephemeral = Ephemeral.restored(kept.suite, kept.ephemeral)
        except ValueError:
            raise malformed_state() from None
        agreement = cls(
            kept.terms, kept.side, identity, peer, suite=kept.suite, _ephemeral=ephemeral, _encapsulation=half
        )
        if kept.peer_offer:
            agreement.accept_offer(kept.peer_offer)
        if kept.canary:
            agreement.confirm(kept.canary)
        if kept.peer_confirmation:
            agreement.accept_confirmation(kept.peer_confirmation)
        return agreement

    @property
    def _own_offer(self) -> Offer:
        keys = self._identity.public.raw, self._ephemeral.public, self._half.part
        return Offer(self.terms, self.side, *keys, self.suite)

    def _shared_transcript(self) -> Transcript:
        if self._transcript is None:
            self._refuse(ErrorCode.WRONG_STATE, "the other custodian's offer has not arrived yet", "wait for it")
        return self._transcript

    def _check_terms(self, terms: Terms, side: Side) -> None:
        own = self.terms
        if terms.project != own.project:
            what, remedy = "the message is of another project", "report it to the linkage unit"
            self._refuse(ErrorCode.SIGNATURE, what, remedy, terms.project)
        if side is not self.side.other:
            what = "the message is of this custodian's own side"
            self._refuse(ErrorCode.SIGNATURE, what, "one of the two is configured as the wrong side", side.value)
        if terms.epoch != own.epoch:
            what = f"the message is of another epoch than {own.epoch}"
            self._refuse(ErrorCode.EPOCH_MISMATCH, what, _AGAIN, str(terms.epoch))
        if terms.encoding_digest != own.encoding_digest:
            what = f"the message is of another encoding than {own.encoding_digest.hex()[:16]}"
            remedy = "compare the specification and the versions of Gemel and Python with the other custodian"
            self._refuse(ErrorCode.ENCODING_MISMATCH, what, remedy, terms.encoding_digest.hex()[:16])

    def _where(self, message: str) -> str:
        return f"seed agreement of project {self.terms.project}, epoch {self.terms.epoch}, the other's {message}"

    def _refuse(self, code: ErrorCode, what: str, remedy: str, got: str = "") -> NoReturn:
        where = f"seed agreement of project {self.terms.project}, epoch {self.terms.epoch}"
        raise GemelError(code, what, where=where, got=got, remedy=remedy)
