"""Signed notes, the form in which standard witnesses and verifiers of transparency logs read a checkpoint.

A note is a text of lines, an empty line, and a line for each signature: a dash, the signer's name, and base64 of a key
ID and the signature. A checkpoint's text has three lines: the log's origin, the number of entries, the root in base64.
Carole signs the text itself; a witness signs it behind two lines of its own, with a time: a cosignature. Unknown lines
of signatures are ignored, so that each reader takes those that it has keys for.

References
----------
.. [1] c2sp.org/signed-note, c2sp.org/tlog-checkpoint, c2sp.org/tlog-cosignature.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gemel.common.audit.merkle import HASH_BYTES
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import SIGNATURE_BYTES, Identity, PublicIdentity

KEY_ID_BYTES = 4
TIME_BYTES = 8
MAX_LINES = 64
"""Of signatures in a note; readers of notes accept 16 at least."""
LONGEST_LINE = 1000

_ED25519, _COSIGNATURE = b"\x01", b"\x04"
_DASH = "\N{EM DASH} "
_ORIGIN = "gemel-audit/"
_TEXT = re.compile(r"gemel-audit/([0-9a-f]{32})\n(0|[1-9][0-9]{0,15})\n([A-Za-z0-9+/]{43}=)\n")
_LINE = re.compile(rf"{_DASH}([^\s+]+) ([A-Za-z0-9+/]+={{0,2}})")


def origin(log: str) -> str:
    """The first line of a log's checkpoints, and its name as a signer."""
    return _ORIGIN + log


def witness_name(log: str, member: str) -> str:
    return f"{origin(log)}/{member}"


def note_text(log: str, size: int, root: bytes) -> str:
    """The text that is signed, with its last newline."""
    return f"{origin(log)}\n{size}\n{base64.b64encode(root).decode()}\n"


@dataclass(frozen=True)
class NoteLine:
    """A line of a signature: whose, and the key ID with what follows it."""

    name: str
    content: bytes

    def __str__(self) -> str:
        return f"{_DASH}{self.name} {base64.b64encode(self.content).decode()}"


@dataclass(frozen=True)
class CheckpointNote:
    """A note that is a checkpoint of a log of Gemel's, read and not verified."""

    log: str
    size: int
    root: bytes
    lines: tuple[NoteLine, ...]

    @classmethod
    def read(cls, content: str, where: str) -> CheckpointNote:
        """Read a note. Raises AUDIT if it is anything else."""
        text, _, signatures = content.partition("\n\n")
        found, lines = _TEXT.fullmatch(text + "\n"), signatures.splitlines()
        read = [_LINE.fullmatch(line) for line in lines if len(line) <= LONGEST_LINE]
        if found is None or len(lines) > MAX_LINES or len(read) < len(lines) or not all(read):
            raise _no_note(where)
        try:
            root = base64.b64decode(found[3], validate=True)
            parsed = [NoteLine(line[1], base64.b64decode(line[2], validate=True)) for line in read if line is not None]
        except binascii.Error:
            raise _no_note(where) from None
        if len(root) != HASH_BYTES or base64.b64encode(root).decode() != found[3]:
            raise _no_note(where)
        return cls(found[1], int(found[2]), root, tuple(parsed))

    def __str__(self) -> str:
        return note_text(self.log, self.size, self.root) + "\n" + "".join(f"{line}\n" for line in self.lines)


def notes_in(content: str) -> Iterator[str]:
    part: list[str] = []
    for line in content.splitlines():
        if not line.startswith(_DASH) and any(each.startswith(_DASH) for each in part):
            yield "\n".join(part)
            part = []
        if part or line.strip():
            part.append(line)
    if part:
        yield "\n".join(part)


def sign_note(identity: Identity, log: str, size: int, root: bytes) -> bytes:
    """The log's own signature of a checkpoint's note: key ID and Ed25519 signature, as in its line."""
    return key_id(origin(log), _ED25519, identity.public) + identity.sign_text(note_text(log, size, root))


def verify_note(linker: PublicIdentity, content: bytes, log: str, size: int, root: bytes) -> None:
    """Refuse what is no signature of the log's own over a checkpoint's note."""
    identifier, signature = content[:KEY_ID_BYTES], content[KEY_ID_BYTES:]
    right = identifier == key_id(origin(log), _ED25519, linker)
    if not right or not linker.is_text_signed(signature, note_text(log, size, root)):
        raise _unsigned("the log's signature of a checkpoint's note")


@dataclass(frozen=True)
class Cosignature:
    """A witness's statement, with its time, that it has verified a checkpoint and none larger."""

    at: int
    """In seconds since 1970, UTC."""
    signature: bytes

    @classmethod
    def make(cls, identity: Identity, at: int, log: str, size: int, root: bytes) -> Cosignature:
        return cls(at, identity.sign_text(_cosigned(at, log, size, root)))

    def verify(self, witness: PublicIdentity, log: str, size: int, root: bytes) -> None:
        """Refuse a cosignature that this witness has not made."""
        right = 0 <= self.at < 2**63 and len(self.signature) == SIGNATURE_BYTES
        if not right or not witness.is_text_signed(self.signature, _cosigned(self.at, log, size, root)):
            raise _unsigned("a cosignature of a checkpoint's note")

    def line(self, log: str, member: str, witness: PublicIdentity) -> NoteLine:
        name = witness_name(log, member)
        identifier = key_id(name, _COSIGNATURE, witness)
        return NoteLine(name, identifier + self.at.to_bytes(TIME_BYTES, "big") + self.signature)


def _cosigned(at: int, log: str, size: int, root: bytes) -> str:
    return f"cosignature/v1\ntime {at}\n{note_text(log, size, root)}"


def key_id(name: str, kind: bytes, key: PublicIdentity) -> bytes:
    """By which a line of a note shows its key and the type of its signature: 4 bytes."""
    return hashlib.sha256(name.encode() + b"\n" + kind + key.raw).digest()[:KEY_ID_BYTES]


def _no_note(where: str) -> GemelError:
    what = "a checkpoint must be a signed note of a log's origin, size and root, or one line of JSON"
    return GemelError(ErrorCode.AUDIT, what, where=where, remedy="use the file as 'gemel audit checkpoint' wrote it")


def _unsigned(what: str) -> GemelError:
    remedy = "compare the identity's fingerprint with its owner by phone; if it is right, the content was changed"
    return GemelError(
        ErrorCode.SIGNATURE, f"{what} was not made by the expected identity over these contents", remedy=remedy
    )
