"""A party's long-term Ed25519 identity: it signs approvals and the messages of the seed agreement.

The private key is a `Signer`'s: a file's, or that of a token or vault, which it never leaves.

A signature is always made for a purpose. The purpose and every part are framed by their lengths before signing, so a
signature made for one purpose, or over other parts that happen to join to the same bytes, never verifies.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.framing import frame
from gemel.common.keys.key_file import PublicKey
from gemel.common.keys.signing_purpose import SigningPurpose

SIGNATURE_BYTES = 64

_DOMAIN = b"gemel signature 1"
_PRIME = 2**255 - 19
# y of the points of order 8; with 0, 1 and -1 these are all the points of small order. Under such a key one
# signature can verify for many messages, so an approval under it would not be binding.
_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER = frozenset({0, 1, _PRIME - 1, _ORDER_8, _PRIME - _ORDER_8})


@dataclass(frozen=True)
class PublicIdentity(PublicKey):
    """The public half of an identity.

    Raises
    ------
    GemelError
        SIGNATURE if `raw` is not 32 bytes or is a point of small order.
    """

    KIND = "Ed25519"
    CODE = ErrorCode.SIGNATURE

    def __post_init__(self) -> None:
        super().__post_init__()
        y = (int.from_bytes(self.raw, "little") & (2**255 - 1)) % _PRIME
        if y in _SMALL_ORDER:
            raise GemelError(
                ErrorCode.SIGNATURE,
                "this Ed25519 public key is a point of small order, so its signatures prove nothing",
                remedy="ask its owner for a key made by 'gemel init'",
            )

    def is_signed(self, signature: bytes, purpose: SigningPurpose, *parts: bytes) -> bool:
        """Whether `signature` was made by this identity for `purpose` over `parts`."""
        return self._is_signed(signature, _message(purpose, parts))

    def is_text_signed(self, signature: bytes, text: str) -> bool:
        """Whether `signature` was made by this identity over a text, without a purpose: see `Identity.sign_text`."""
        return self._is_signed(signature, text.encode())

    def _is_signed(self, signature: bytes, message: bytes) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True

    def verify(self, signature: bytes, purpose: SigningPurpose, *parts: bytes) -> None:
        """Refuse a signature that this identity did not make for `purpose` over `parts`.

        Raises
        ------
        GemelError
            SIGNATURE.
        """
        if not self.is_signed(signature, purpose, *parts):
            raise GemelError(
                ErrorCode.SIGNATURE,
                f"the signature for '{purpose}' was not made by the expected identity over these contents",
                got=f"a signature that does not verify under the key with fingerprint {self.fingerprint}",
                remedy="compare the identity's fingerprint with its owner by phone; if it is right, the message "
                "was changed or signed for another purpose",
            )


class Signer(Protocol):
    """Has a private Ed25519 key."""

    @property
    def public(self) -> bytes:
        """The public half: 32 bytes."""

    def sign(self, message: bytes) -> bytes:
        """The signature of `message`, by Ed25519 without a prehash.

        Raises
        ------
        GemelError
            VAULT if the key cannot be used; UNAVAILABLE if what has it does not answer.
        """


@dataclass(frozen=True)
class Identity:
    """A party's own identity, which can sign."""

    _signer: Signer = field(repr=False)

    @property
    def public(self) -> PublicIdentity:
        """The public half."""
        return PublicIdentity(self._signer.public)

    def sign(self, purpose: SigningPurpose, *parts: bytes) -> bytes:
        """Sign `parts` for `purpose`; 64 bytes, the same for the same input.

        Raises
        ------
        GemelError
            As `Signer.sign`; VAULT if the signature is wrong. It goes nowhere then: from a wrong Ed25519 signature
            beside the right one the private key can be computed.
        """
        return self._sign(_message(purpose, parts), f"'{purpose}'")

    def sign_text(self, text: str) -> bytes:
        """Sign a text as other programs expect it: a checkpoint's note, or a cosignature of one. No other text is.

        It cannot be taken for a signature with a purpose: what those cover begins with a zero byte, and a text with a
        letter.

        Raises
        ------
        GemelError
            As `sign`.
        """
        if not text[:1].isalpha():
            raise ValueError("a text that is signed begins with a letter")
        return self._sign(text.encode(), "a text")

    def _sign(self, message: bytes, what: str) -> bytes:
        signature = self._signer.sign(message)
        if not self.public._is_signed(signature, message):
            raise GemelError(
                ErrorCode.VAULT,
                f"what holds the identity has signed {what} wrongly, or by another key",
                got=f"a signature that does not verify under the key with fingerprint {self.public.fingerprint}",
                remedy="check `identity` in the configuration, and restart: the key may have been replaced",
            )
        return signature


def _message(purpose: SigningPurpose, parts: tuple[bytes, ...]) -> bytes:
    return frame(_DOMAIN, purpose.encode(), *parts)
