"""A checkpoint: the size of the log and its root, signed by Carole.

Two checkpoints of one size and different roots, both with her signature, prove that she has shown two histories.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from tryst.common.audit.merkle import HASH_BYTES
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.identity import SIGNATURE_BYTES, Identity, PublicIdentity
from tryst.common.keys.signing_purpose import SigningPurpose

LARGEST = 2**48
"""No log has more entries; a greater size is refused."""


@dataclass(frozen=True)
class Checkpoint:
    """A signed state of the log.

    Attributes
    ----------
    log
        Identifier of the log: 32 random hexadecimal digits, so that a restarted log is never taken for it.
    size
        Number of entries.
    root
        Root of their tree, 32 bytes.
    at
        Time of the signature, in milliseconds since 1970, UTC.
    signature
        By the linker's identity, 64 bytes.
    """

    log: str
    size: int
    root: bytes
    at: int
    signature: bytes

    @classmethod
    def sign(cls, identity: Identity, log: str, size: int, root: bytes, at: int) -> Checkpoint:
        """A checkpoint signed with the linker's identity."""
        return cls(log, size, root, at, identity.sign(SigningPurpose.CHECKPOINT, *_parts(log, size, root, at)))

    def verify(self, linker: PublicIdentity) -> None:
        """Refuse a checkpoint that the linker has not signed.

        Raises
        ------
        TrystError
            AUDIT for an impossible size or root; SIGNATURE.
        """
        if not 0 <= self.size <= LARGEST or len(self.root) != HASH_BYTES or len(self.signature) != SIGNATURE_BYTES:
            raise TrystError(
                ErrorCode.AUDIT,
                "this is not a checkpoint",
                got=f"size {self.size} with a root of {len(self.root)} bytes",
            )
        linker.verify(self.signature, SigningPurpose.CHECKPOINT, *_parts(self.log, self.size, self.root, self.at))

    def countersign(self, witness: Identity) -> bytes:
        """The signature by which a reader states that it has verified this checkpoint: 64 bytes."""
        return witness.sign(SigningPurpose.WITNESS, *_parts(self.log, self.size, self.root, self.at))

    def verify_countersignature(self, signature: bytes, witness: PublicIdentity) -> None:
        """Refuse a countersignature that this reader did not make.

        Raises
        ------
        TrystError
            SIGNATURE.
        """
        witness.verify(signature, SigningPurpose.WITNESS, *_parts(self.log, self.size, self.root, self.at))

    def to_text(self) -> str:
        """As one line of JSON, to be kept or compared."""
        return json.dumps(
            {
                "log": self.log,
                "size": self.size,
                "root": self.root.hex(),
                "at": self.at,
                "signature": self.signature.hex(),
            }
        )

    @classmethod
    def from_text(cls, text: str, where: str) -> Checkpoint:
        """Read what `to_text` wrote; it is not verified.

        Raises
        ------
        TrystError
            AUDIT if it is anything else.
        """
        try:
            found = json.loads(text)
            log, size, at = found["log"], found["size"], found["at"]
            root, signature = bytes.fromhex(found["root"]), bytes.fromhex(found["signature"])
            if not isinstance(log, str) or type(size) is not int or type(at) is not int:
                raise TypeError
        except (ValueError, KeyError, TypeError):
            raise TrystError(
                ErrorCode.AUDIT,
                "a checkpoint must be one line of JSON with log, size, root, at and signature",
                where=where,
                remedy="use the file as 'tryst audit checkpoint' wrote it",
            ) from None
        return cls(log, size, root, at, signature)


def _parts(log: str, size: int, root: bytes, at: int) -> tuple[bytes, ...]:
    return (log.encode(), str(size).encode(), root, str(at).encode())
