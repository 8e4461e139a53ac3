"""The form of what one member signs and seals to another, through Carole, and of arrays in it.

Before it is sealed a message is a mark, which names form and version, the signature (64 bytes), and the content.
The signature is over parts that bind the content to its context: Carole, who passes it on, can neither replace nor
replay it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import SIGNATURE_BYTES, Identity, PublicIdentity, SigningPurpose
from gemel.common.keys.sealing import SealContext, open_sealed, seal
from gemel.common.keys.sealing_key import SealingKey, SealingPublicKey

Parts = Callable[[bytes], tuple[bytes, ...]]
"""What is signed, from the content."""


@dataclass(frozen=True)
class SignedForm:
    """A mark, and what is signed for."""

    mark: bytes
    purpose: SigningPurpose

    def seal(
        self, identity: Identity, key: SealingPublicKey, context: SealContext, parts: Parts, content: bytes
    ) -> bytes:
        return b"".join(seal(key, context, (*self.signed(identity, parts, content), content)))

    def signed(self, identity: Identity, parts: Parts, content: bytes) -> tuple[bytes, bytes]:
        return self.mark, identity.sign(self.purpose, *parts(content))

    def open(
        self,
        key: SealingKey,
        signer: PublicIdentity,
        context: SealContext,
        parts: Parts,
        sealed: Iterable[bytes],
        *,
        malformed: Callable[[str], GemelError],
        forged: Forged,
        content_of: Callable[[bytes], bytes | None] = lambda rest: rest,
    ) -> bytes:
        """The content of a message, which `content_of` finds among what follows the signature; None: it has another
        form.

        Raises SEALED if it does not open; as `malformed`, from what was got; SIGNATURE, as `forged`, if `signer` did
        not sign it.
        """
        message = b"".join(open_sealed(key, context, sealed))
        start = len(self.mark) + SIGNATURE_BYTES
        content = content_of(message[start:]) if message.startswith(self.mark) and len(message) >= start else None
        if content is None:
            raise malformed(f"{len(message)} bytes of another form")
        if not signer.is_signed(message[len(self.mark) : start], self.purpose, *parts(content)):
            raise forged.error(signer)
        return content


@dataclass(frozen=True)
class Forged:
    """The words of the error that a message was not signed by whom it should be: of what, where, what to report."""

    what: str
    where: str
    report: str

    def error(self, signer: PublicIdentity) -> GemelError:
        got = f"a signature that does not verify under the key with fingerprint {signer.fingerprint}"
        remedy = (
            "compare the fingerprint with its owner by phone, and that all have approved one specification; if "
            f"both are right {self.report}"
        )
        return GemelError(ErrorCode.SIGNATURE, self.what, where=self.where, got=got, remedy=remedy)


Kinds = Mapping[str, np.dtype[Any]]
"""Names of arrays with their types. An array's number is its place here: append only."""

_COUNT_BYTES = 4


def pack_arrays(kinds: Kinds, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays by names in `kinds` as bytes: of each its number (1 byte), how many items (4), and the items."""
    return b"".join(_packed(kinds, name, arrays[name]) for name in kinds if name in arrays)


def unpack_arrays(kinds: Kinds, payload: bytes) -> dict[str, NDArray[Any]]:
    names = list(kinds)
    arrays: dict[str, NDArray[Any]] = {}
    position, last = 0, -1
    while position < len(payload):
        head = payload[position : position + 1 + _COUNT_BYTES]
        # One encoding for one message: each array once, in order.
        if len(head) <= _COUNT_BYTES or not last < head[0] < len(names):
            raise ValueError("an array that this version does not know, or not in its place")
        last, count = head[0], int.from_bytes(head[1:], "little")
        kind = kinds[names[last]]
        position += len(head)
        if count * kind.itemsize > len(payload) - position:
            raise ValueError("an array that is longer than the data")
        arrays[names[last]] = np.frombuffer(payload, kind, count, position)
        position += count * kind.itemsize
    return arrays


def _packed(kinds: Kinds, name: str, array: NDArray[Any]) -> bytes:
    items = np.ascontiguousarray(array, dtype=kinds[name])
    return bytes([list(kinds).index(name)]) + items.size.to_bytes(_COUNT_BYTES, "little") + items.tobytes()
