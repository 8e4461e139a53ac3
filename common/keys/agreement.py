"""Agreement of the two custodians on a seed: a state machine over messages, without any input or output.

Each custodian holds one `Agreement` per project and epoch. Messages go through Carole, who is only a mailbox: she may
drop, delay, repeat or change them, and learns nothing. The other custodian's identity is known beforehand, out of
band, and is never taken from a message.

The order, enforced here:

1. An agreement begins with its own ephemeral X25519 key; its own *offer* exists from the beginning and is always the
   same message.
2. The other's offer is accepted once. The same message again changes nothing; another one is refused, so that the same
   ephemeral key is never used in two agreements.
3. With both offers the *candidate* seed exists. It serves to make the canary digest and nothing else.
4. The own *confirmation* is made once, after the other's offer, and holds the canary digest. The same digest again
   gives the same message; another digest is refused.
5. The other's confirmation is accepted after the own one: it must be of the same transcript, prove the same secret,
   and hold the same canary digest.
6. The *seed* is available after that, never before.

The transcript is SHA-256 over project, encoding digest, epoch, and both sides' identities and ephemeral keys, Alice's
first. Seed and confirmation keys are HKDF-SHA256 of the X25519 secret, salted with the transcript. So both proofs
fail when either side saw another key, another identity, or other terms.

The custodians need not be online together: `export` gives the whole state, *with the ephemeral private key*, for the
custodian's vault, and `resume` continues from it.
"""

from __future__ import annotations

import hmac
from typing import NoReturn

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.agreement_messages import (
    DIGEST_BYTES,
    MESSAGE_LIMIT,
    PROJECT_LIMIT,
    Confirmation,
    Offer,
    Terms,
    read_confirmation,
    read_offer,
)
from tryst.common.keys.derivation import Seed
from tryst.common.keys.framing import FramingError, Part, frame, unframe
from tryst.common.keys.identity import Identity, PublicIdentity
from tryst.common.keys.transcript import Transcript
from tryst.common.parties import Side

_STATE = b"tryst seed agreement state 1"
_AGAIN = "let the coordinator open a new epoch of the project (`tryst project new-epoch`), and agree again in it"


class Agreement:
    """One custodian's part in agreeing one seed.

    Parameters
    ----------
    terms
        Project, encoding digest and epoch the seed is for.
    side
        The own side.
    identity
        The own identity.
    peer
        The other custodian's public identity, as compared out of band.

    Raises
    ------
    TrystError
        CONFIGURATION if the other's identity is one's own.
    """

    def __init__(
        self,
        terms: Terms,
        side: Side,
        identity: Identity,
        peer: PublicIdentity,
        *,
        _ephemeral: X25519PrivateKey | None = None,
    ) -> None:
        if peer == identity.public:
            raise TrystError(
                ErrorCode.CONFIGURATION,
                "the other custodian's identity is this custodian's own",
                where=f"seed agreement of project {terms.project}",
                remedy="enter the identity whose fingerprint the other custodian reads out to you",
            )
        self.terms = terms
        self.side = side
        self._identity = identity
        self._peer = peer
        self._ephemeral = _ephemeral if _ephemeral is not None else X25519PrivateKey.generate()
        self._ephemeral_public = self._ephemeral.public_key().public_bytes_raw()
        self._peer_offer = b""
        self._peer_confirmation = b""
        self._canary = b""
        self._transcript: Transcript | None = None

    def __repr__(self) -> str:
        return f"Agreement({self.terms.project!r}, epoch={self.terms.epoch}, side={self.side!s})"

    @property
    def offer(self) -> bytes:
        """The own offer."""
        return self._own_offer.signed(self._identity)

    @property
    def has_peer_offer(self) -> bool:
        """Whether the other's offer was accepted, so that `candidate` and `confirm` may be used."""
        return bool(self._peer_offer)

    @property
    def is_confirmed(self) -> bool:
        """Whether the own confirmation was made."""
        return bool(self._canary)

    @property
    def is_agreed(self) -> bool:
        """Whether the other's confirmation was accepted, so that `seed` may be used."""
        return bool(self._peer_confirmation)

    def accept_offer(self, message: bytes) -> None:
        """Take the other custodian's offer.

        Raises
        ------
        TrystError
            SIGNATURE if the message is malformed, changed, the own one, another's, of another project, for the wrong
            side, or holds a key of low order; EPOCH_MISMATCH or ENCODING_MISMATCH if it is of another epoch or
            encoding; WRONG_STATE if another offer was accepted before.
        """
        if self.has_peer_offer:
            if message == self._peer_offer:
                return
            self._refuse("a second, different offer of the other custodian", _AGAIN, code=ErrorCode.WRONG_STATE)
        if message == self.offer:
            self._refuse("this custodian's own offer came back as the other's", "report it to the linkage unit")
        offer = read_offer(message, self._peer, self._where("offer"))
        self._check_terms(offer.terms, offer.side)
        if offer.ephemeral == self._ephemeral_public:
            self._refuse("the other custodian offers this custodian's own ephemeral key", _AGAIN)
        try:
            shared = self._ephemeral.exchange(X25519PublicKey.from_public_bytes(offer.ephemeral))
        except ValueError:
            self._refuse("the other custodian's ephemeral key is a point of low order", _AGAIN)
        self._transcript = Transcript.of(self._own_offer, offer, shared)
        self._peer_offer = message

    @property
    def candidate(self) -> Seed:
        """The seed before the other has confirmed it: for the canary digest and nothing else.

        Raises
        ------
        TrystError
            WRONG_STATE before the other's offer was accepted.
        """
        return self._shared_transcript().seed

    def confirm(self, canary: bytes) -> bytes:
        """The own confirmation.

        Parameters
        ----------
        canary
            The canary digest made with `candidate`, 32 bytes.

        Raises
        ------
        TrystError
            WRONG_STATE before the other's offer was accepted, or if another digest was confirmed before.
        """
        transcript = self._shared_transcript()
        if len(canary) != DIGEST_BYTES:
            raise TrystError(
                ErrorCode.PARAMETER, f"a canary digest has {DIGEST_BYTES} bytes", got=f"{len(canary)} bytes"
            )
        if self.is_confirmed and canary != self._canary:
            self._refuse("another canary digest was confirmed before", _AGAIN, code=ErrorCode.WRONG_STATE)
        self._canary = canary
        mac = transcript.confirmation(self.side, canary)
        return Confirmation(self.terms, self.side, transcript.digest, canary, mac).signed(self._identity)

    def accept_confirmation(self, message: bytes) -> None:
        """Take the other custodian's confirmation; then the seed is agreed.

        Raises
        ------
        TrystError
            WRONG_STATE before the own confirmation; SIGNATURE, EPOCH_MISMATCH or ENCODING_MISMATCH as for an offer;
            KEY_MISMATCH if the other does not hold the same secret over the same transcript; CANARY_MISMATCH if it
            does but its records are signed differently.
        """
        if not self.is_confirmed:
            self._refuse(
                "the other custodian's confirmation is accepted after the own one only",
                "confirm first",
                code=ErrorCode.WRONG_STATE,
            )
        if self.is_agreed and message == self._peer_confirmation:
            return
        transcript = self._shared_transcript()
        confirmation = read_confirmation(message, self._peer, self._where("confirmation"))
        self._check_terms(confirmation.terms, confirmation.side)
        if not hmac.compare_digest(confirmation.transcript, transcript.digest):
            self._refuse(
                "the two custodians have seen different offers",
                f"compare both identities' fingerprints by phone; {_AGAIN}",
                code=ErrorCode.KEY_MISMATCH,
            )
        expected = transcript.confirmation(self.side.other, confirmation.canary)
        if not hmac.compare_digest(confirmation.mac, expected):
            self._refuse("the other custodian's key confirmation does not verify", _AGAIN, code=ErrorCode.KEY_MISMATCH)
        if not hmac.compare_digest(confirmation.canary, self._canary):
            self._refuse(
                "the two custodians sign the same test records differently although they hold the same seed",
                f"install the same version of Tryst on both sides, then {_AGAIN}",
                code=ErrorCode.CANARY_MISMATCH,
            )
        self._peer_confirmation = message

    @property
    def seed(self) -> Seed:
        """The agreed seed.

        Raises
        ------
        TrystError
            WRONG_STATE before the other's confirmation was accepted.
        """
        if not self.is_agreed:
            self._refuse(
                "the seed is not agreed yet: the other custodian has not confirmed it",
                "wait for its confirmation",
                code=ErrorCode.WRONG_STATE,
            )
        return self.candidate

    def export(self) -> bytes:
        """The whole state *with the ephemeral private key*, to be kept encrypted; see `Vault.protect`."""
        return frame(
            _STATE,
            *self.terms.parts,
            self.side.value.encode(),
            self._identity.public.raw,
            self._peer.raw,
            self._ephemeral.private_bytes_raw(),
            self._peer_offer,
            self._canary,
            self._peer_confirmation,
        )

    @classmethod
    def resume(cls, state: bytes, identity: Identity, peer: PublicIdentity) -> Agreement:
        """Continue an agreement from its export; the messages in it are checked again.

        Raises
        ------
        TrystError
            VAULT if the state is malformed; CONFIGURATION if either identity has changed since; errors of the checks.
        """
        try:
            parts = unframe(state, _STATE_PARTS)
            terms = Terms(parts[1].decode(), parts[2], int.from_bytes(parts[3], "big"))
            side = Side(parts[4].decode())
            if parts[0] != _STATE:
                raise ValueError("another version")
        except (FramingError, ValueError):
            raise TrystError(
                ErrorCode.VAULT, "the stored state of a seed agreement is malformed", remedy=_AGAIN
            ) from None
        if (parts[5], parts[6]) != (identity.public.raw, peer.raw):
            raise TrystError(
                ErrorCode.CONFIGURATION,
                "an identity has changed since this seed agreement began",
                where=f"seed agreement of project {terms.project}, epoch {terms.epoch}",
                remedy=f"restore the former identity, or {_AGAIN}",
            )
        agreement = cls(terms, side, identity, peer, _ephemeral=X25519PrivateKey.from_private_bytes(parts[7]))
        if parts[8]:
            agreement.accept_offer(parts[8])
        if parts[9]:
            agreement.confirm(parts[9])
        if parts[10]:
            agreement.accept_confirmation(parts[10])
        return agreement

    @property
    def _own_offer(self) -> Offer:
        return Offer(self.terms, self.side, self._identity.public.raw, self._ephemeral_public)

    def _shared_transcript(self) -> Transcript:
        if self._transcript is None:
            self._refuse("the other custodian's offer has not arrived yet", "wait for it", code=ErrorCode.WRONG_STATE)
        return self._transcript

    def _check_terms(self, terms: Terms, side: Side) -> None:
        if terms.project != self.terms.project:
            self._refuse("the message is of another project", "report it to the linkage unit", got=terms.project)
        if side is not self.side.other:
            self._refuse(
                "the message is of this custodian's own side",
                "one of the two is configured as the wrong side",
                got=side.value,
            )
        if terms.epoch != self.terms.epoch:
            self._refuse(
                f"the message is of another epoch than {self.terms.epoch}",
                _AGAIN,
                got=str(terms.epoch),
                code=ErrorCode.EPOCH_MISMATCH,
            )
        if terms.encoding_digest != self.terms.encoding_digest:
            self._refuse(
                f"the message is of another encoding than {self.terms.encoding_digest.hex()[:16]}",
                "compare the specification and the versions of Tryst and Python with the other custodian",
                got=terms.encoding_digest.hex()[:16],
                code=ErrorCode.ENCODING_MISMATCH,
            )

    def _where(self, message: str) -> str:
        return f"seed agreement of project {self.terms.project}, epoch {self.terms.epoch}, the other's {message}"

    def _refuse(self, what: str, remedy: str, *, got: str = "", code: ErrorCode = ErrorCode.SIGNATURE) -> NoReturn:
        where = f"seed agreement of project {self.terms.project}, epoch {self.terms.epoch}"
        raise TrystError(code, what, where=where, got=got, remedy=remedy)


_STATE_PARTS = [
    Part.fixed("version", len(_STATE)),
    Part("project", 1, PROJECT_LIMIT),
    Part.fixed("encoding digest", DIGEST_BYTES),
    Part.fixed("epoch", 4),
    Part("side", 1, 16),
    Part.fixed("identity", 32),
    Part.fixed("other identity", 32),
    Part.fixed("ephemeral key", 32),
    Part("the other's offer", 0, MESSAGE_LIMIT),
    Part("canary digest", 0, DIGEST_BYTES),
    Part("the other's confirmation", 0, MESSAGE_LIMIT),
]
