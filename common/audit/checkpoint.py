"""A checkpoint: the size of the log and its root, signed by Carole.

Two checkpoints of one size and different roots, both with her signature, prove that she has shown two histories.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gemel.common.audit.merkle import HASH_BYTES, verify_consistency
from gemel.common.audit.signed_note import (
    KEY_ID_BYTES,
    TIME_BYTES,
    CheckpointNote,
    NoteLine,
    origin,
    sign_note,
    verify_note,
)
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import SIGNATURE_BYTES, Identity, PublicIdentity, SigningPurpose

NOTE_BYTES = KEY_ID_BYTES + SIGNATURE_BYTES
_OWN = b"gemel checkpoint 1"
_OWN_BYTES = KEY_ID_BYTES + TIME_BYTES + SIGNATURE_BYTES

LARGEST = 2**48
"""No log has more entries; a greater size is refused."""


@dataclass(frozen=True)
class Checkpoint:
    """A signed state of the log."""

    log: str
    """Identifier of the log: 32 random hexadecimal digits, so that a restarted log is never taken for it."""
    size: int
    root: bytes
    """Root of their tree, 32 bytes."""
    at: int
    """Time of the signature, in milliseconds since 1970, UTC."""
    signature: bytes
    """By the linker's identity, 64 bytes; no bytes where only the note is there, as other programs keep it."""
    note: bytes = b""
    """The linker's signature of the same as a signed note, as in its line (see `signed_note`); no bytes where it was
    not asked for."""

    @classmethod
    def sign(cls, identity: Identity, log: str, size: int, root: bytes, at: int) -> Checkpoint:
        return cls(log, size, root, at, identity.sign(SigningPurpose.CHECKPOINT, *_parts(log, size, root, at)))

    def noted(self, identity: Identity) -> Checkpoint:
        """With the linker's signature of its note."""
        return replace(self, note=sign_note(identity, self.log, self.size, self.root))

    def verify(self, linker: PublicIdentity) -> None:
        """Refuse a checkpoint that the linker has not signed: in either form, and in both where both are there. Raises
        AUDIT for an impossible size or root; SIGNATURE."""
        lengths = len(self.signature), len(self.note)
        signed = lengths in ((SIGNATURE_BYTES, 0), (0, NOTE_BYTES), (SIGNATURE_BYTES, NOTE_BYTES))
        if not 0 <= self.size <= LARGEST or len(self.root) != HASH_BYTES or not signed:
            what = "this is not a checkpoint"
            raise GemelError(ErrorCode.AUDIT, what, got=f"size {self.size} with a root of {len(self.root)} bytes")
        if self.signature:
            linker.verify(self.signature, SigningPurpose.CHECKPOINT, *_parts(self.log, self.size, self.root, self.at))
        if self.note:
            verify_note(linker, self.note, self.log, self.size, self.root)

    def countersign(self, witness: Identity) -> bytes:
        """The signature by which a reader states that it has verified this checkpoint: 64 bytes."""
        return witness.sign(SigningPurpose.WITNESS, *_parts(self.log, self.size, self.root, self.at))

    def verify_countersignature(self, signature: bytes, witness: PublicIdentity) -> None:
        """Refuse a countersignature that this reader did not make."""
        witness.verify(signature, SigningPurpose.WITNESS, *_parts(self.log, self.size, self.root, self.at))

    def to_text(self, *cosigned: NoteLine) -> str:
        """As a signed note, to be kept or compared. The note has a second line by the log: time and signature in
        Gemel's own form, which others ignore. Those of witnesses follow."""
        return str(CheckpointNote(self.log, self.size, self.root, (*self._lines(), *cosigned)))

    @classmethod
    def from_text(cls, text: str, where: str) -> Checkpoint:
        """Read what `to_text` wrote; it is not verified. Other signatures in it, such as cosignatures, are left. Raises
        AUDIT if it is anything else."""
        note = CheckpointNote.read(text, where)
        own, at, signature, standard = _own_key_id(note.log), 0, b"", b""
        for line in note.lines:
            if line.name != origin(note.log):
                continue
            if line.content.startswith(own) and len(line.content) == _OWN_BYTES:
                at = int.from_bytes(line.content[KEY_ID_BYTES:-SIGNATURE_BYTES], "big")
                signature = line.content[-SIGNATURE_BYTES:]
            elif len(line.content) == NOTE_BYTES:
                standard = line.content
        if not (standard or signature) or at > LARGEST:
            raise GemelError(ErrorCode.AUDIT, "a checkpoint's note has no signature by the log itself", where=where)
        return cls(note.log, note.size, note.root, at, signature, standard)

    def _lines(self) -> Iterator[NoteLine]:
        if self.note:
            yield NoteLine(origin(self.log), self.note)
        if self.signature:
            yield NoteLine(
                origin(self.log), _own_key_id(self.log) + self.at.to_bytes(TIME_BYTES, "big") + self.signature
            )


def _own_key_id(log: str) -> bytes:
    """Key ID of the lines that only Gemel reads."""
    return hashlib.sha256(origin(log).encode() + b"\n\xff" + _OWN).digest()[:KEY_ID_BYTES]


def _parts(log: str, size: int, root: bytes, at: int) -> tuple[bytes, ...]:
    return (log.encode(), str(size).encode(), root, str(at).encode())


REMEDY = (
    "do not send or fetch anything more; keep both checkpoints as evidence, and ask the linkage unit why its audit log "
    "differs from the one it has shown before"
)


@dataclass(frozen=True)
class Witness:
    """A reader of one linker's log."""

    linker: PublicIdentity
    """The identity that signs the checkpoints."""
    seen: Checkpoint | None = None
    """The newest checkpoint verified so far; None before the first."""

    @property
    def size(self) -> int:
        return 0 if self.seen is None else self.seen.size

    def believe(self, shown: Checkpoint, proof: Sequence[bytes], who: str = "the linkage unit") -> Witness:
        """The witness after seeing a checkpoint not smaller than its own, with the proof from its own to that. Raises
        SIGNATURE; AUDIT if the log shown is another one, is shorter, or does not begin with what was seen."""
        shown.verify(self.linker)
        if self.seen is None:
            return Witness(self.linker, shown)
        self._same_log(shown, who)
        if shown.size < self.seen.size:
            what = f"{who} shows an audit log shorter than it has shown before"
            raise _rewritten(what, f"{shown.size} entries after {self.seen.size}")
        if not verify_consistency(self.seen.size, shown.size, self.seen.root, shown.root, proof):
            what = f"the audit log that {who} shows does not begin with the one it has shown before"
            raise _rewritten(what, f"{shown.size} entries that do not continue the {self.seen.size} seen")
        return Witness(self.linker, shown if shown.size > self.seen.size else self.seen)

    def compare(self, others: Checkpoint, proof: Sequence[bytes], who: str) -> None:
        """Refuse if another reader was shown a log that is inconsistent with this one: the log has been forked.

        The other reader's checkpoint is smaller or larger than one's own; the proof is from the smaller to the larger.
        Raises SIGNATURE, AUDIT.
        """
        others.verify(self.linker)
        if self.seen is None:
            return
        self._same_log(others, who)
        old, new = sorted((self.seen, others), key=lambda checkpoint: checkpoint.size)
        if not verify_consistency(old.size, new.size, old.root, new.root, proof):
            got = f"{others.size} entries there, {self.seen.size} here, and neither continues the other"
            raise _rewritten(f"the linkage unit has shown {who} another audit log", got)

    def _same_log(self, shown: Checkpoint, who: str) -> None:
        if self.seen is not None and shown.log != self.seen.log:
            raise _rewritten(f"the audit log that {who} shows was restarted", "another log's name")


def _rewritten(what: str, got: str) -> GemelError:
    return GemelError(ErrorCode.AUDIT, what, where="audit log", got=got, remedy=REMEDY)
