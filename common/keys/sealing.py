"""Sealing: only the holder of a sealing key can open a message sealed to it, and detects any change.

Carole seals each recipient's share of a result, so that a share at rest, in a backup or in the hands of another
member cannot be read. A sealed message is::

    header | chunk 0 | chunk 1 | ... | last chunk

The header begins with ``"gemel sealed 1\n"``, or 2 for a key of the approved suite, and brings a content key by HPKE
(`content_key`). Every chunk is 64 KiB of content under
AES-256-GCM and a 16-byte tag, the last one is shorter or equal. The nonce is the chunk's index and a flag that is set
in the last chunk alone; so a message with a missing, repeated, moved or added chunk, or cut short, fails to open. The
context - project, run, recipient - is bound to the header, and is associated data of each chunk as well.

Opening yields each chunk as soon as it is verified: that the message is *whole* is known only when the iterator ends
without an error. `open_file` therefore gives a file its name at the end only.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

from cryptography.exceptions import InternalError, InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM

from gemel.common.durable import whole_file
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.framing import frame
from gemel.common.keys.identity import PUBLIC_BYTES
from gemel.common.keys.sealing_key import ALGORITHMS, APPROVED_PUBLIC_BYTES, SealingKey, SealingPublicKey, new_key
from gemel.common.keys.suite import Suite

DEFAULT = b"gemel sealed 1\n"
APPROVED = b"gemel sealed 2\n"
MARK_BYTES = len(DEFAULT)

_CONTENT_KEY_BYTES = 32
_TAG_BYTES = 16
_ENCAPSULATED_BYTES = 1088 + PUBLIC_BYTES  # ML-KEM-768's ciphertext, and an ephemeral key of X25519
_REST = {
    DEFAULT: _ENCAPSULATED_BYTES + _CONTENT_KEY_BYTES + _TAG_BYTES,
    APPROVED: APPROVED_PUBLIC_BYTES + _CONTENT_KEY_BYTES + _TAG_BYTES,  # ML-KEM-1024's ciphertext is as long as its key
}
_DOMAINS = {DEFAULT: b"gemel sealing 1", APPROVED: b"gemel sealing 2"}


@cache
def hpke_suite(suite: Suite) -> hpke.Suite:
    """HPKE's suite for a specification's, made when it is first used: an installation may lack the other one."""
    if suite is Suite.APPROVED:
        return hpke.Suite(KEM.MLKEM1024_P384, KDF.HKDF_SHA384, AEAD.AES_256_GCM)
    return hpke.Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


def require_suite(suite: Suite, where: str) -> None:
    """Refuse a suite whose keys cannot be made and used by this installation; less than a millisecond."""
    try:
        hpke_suite(suite).encrypt(b"", new_key(suite).public.hpke, info=b"")
    except (UnsupportedAlgorithm, InternalError):
        what = f"the cryptographic library of this installation has no {ALGORITHMS[suite]} or cannot seal by them"
        got = f"a specification with `cryptography: {suite}`"
        remedy = "install Gemel with a library that has them (docs/fips.md), or decline the specification"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=where, got=got, remedy=remedy) from None


class UnopenedError(ValueError):
    """A header does not open; the message says why, for a person."""


def mark_of(recipient: SealingPublicKey) -> bytes:
    return APPROVED if recipient.suite is Suite.APPROVED else DEFAULT


def domain_of(mark: bytes) -> bytes:
    """What begins the framed context under this mark."""
    if mark not in _DOMAINS:
        raise UnopenedError("the message does not begin as a sealed message that this version reads")
    return _DOMAINS[mark]


def header_bytes(mark: bytes) -> int:
    return MARK_BYTES + _REST[mark]


def new_content_key(recipient: SealingPublicKey, info: bytes) -> tuple[bytes, bytes]:
    """A content key for one message, and the header that brings it to `recipient`."""
    content_key = secrets.token_bytes(_CONTENT_KEY_BYTES)
    sealed = hpke_suite(recipient.suite).encrypt(content_key, recipient.hpke, info=info)
    return content_key, mark_of(recipient) + sealed


def read_content_key(key: SealingKey, header: bytes, info: bytes) -> bytes:
    mark, rest = header[:MARK_BYTES], header[MARK_BYTES:]
    suite = Suite.APPROVED if mark == APPROVED else Suite.DEFAULT
    keys = [each for each in key.keys if each.public.suite is suite]
    if not keys:
        raise UnopenedError(f"the message is sealed to a key of {ALGORITHMS[suite]}, and this party has none")
    for each in keys:
        try:
            return hpke_suite(suite).decrypt(rest, each.private, info=info)
        except (InvalidTag, ValueError):
            # Another of its keys, a point of low order, or a header that was changed: nothing says which.
            continue
    raise UnopenedError("its header does not open under this key and context")


CHUNK_BYTES = 64 * 1024
TAG_BYTES = 16

_SEALED_CHUNK = CHUNK_BYTES + TAG_BYTES
_MAX_CHUNKS = 2**32


@dataclass(frozen=True)
class SealContext:
    """The context that a sealed message belongs to, under which alone it opens."""

    project: str
    run: str
    recipient: str
    suite: Suite = Suite.DEFAULT
    """Of the project's approved specification. In the approved one nothing is sealed to a key of another, or opened
    that was."""

    def framed(self, domain: bytes) -> bytes:
        """The context as canonical bytes, for one version of the format."""
        return frame(domain, self.project.encode(), self.run.encode(), self.recipient.encode())


def seal(recipient: SealingPublicKey, context: SealContext, content: Iterable[bytes]) -> Iterator[bytes]:
    """Seal content, in parts of any length, to `recipient`, in bounded memory; the result does not depend on the parts.

    Yields the header, then sealed chunks of 64 KiB and 16 bytes, the last one possibly shorter. Raises SEALED if
    `recipient` is a point of low order, or not of the context's suite.
    """
    if context.suite is Suite.APPROVED and recipient.suite is not context.suite:
        what = f"the specification names the approved suite, and this key is not of {ALGORITHMS[context.suite]}"
        got = f"a key with the fingerprint {recipient.fingerprint}"
        remedy = "have the recipient make one by `gemel party renew-sealing --cryptography approved`"
        raise GemelError(ErrorCode.SEALED, what, where=f"sealing for {context.recipient}", got=got, remedy=remedy)
    associated = context.framed(domain_of(mark_of(recipient)))
    try:
        content_key, header = new_content_key(recipient, associated)
    except ValueError:
        what = "the recipient's X25519 public key is a point of low order"
        remedy = "ask the recipient for a key made by 'gemel init'"
        raise GemelError(ErrorCode.SEALED, what, where=f"sealing for {context.recipient}", remedy=remedy) from None
    cipher = AESGCM(content_key)
    yield header
    for index, (chunk, last) in enumerate(_chunks(content, CHUNK_BYTES)):
        yield cipher.encrypt(_nonce(index, last), chunk, associated)


def open_sealed(key: SealingKey, context: SealContext, sealed: Iterable[bytes]) -> Iterator[bytes]:
    """Open what was sealed to `key` under `context`, in parts of any length and in bounded memory.

    Yields verified content; only an iterator that ended without an error has given all of it. Raises SEALED if the
    message is for another key or context, was changed, reordered, cut short or added to, or was not sealed by the
    context's suite where that is the approved one.
    """
    chunks = iter(sealed)
    try:
        mark, rest = _taken(b"", chunks, MARK_BYTES)
        associated = context.framed(domain_of(mark))
        if context.suite is Suite.APPROVED and mark != APPROVED:
            raise UnopenedError("the specification names the approved suite, and the message was not sealed by it")
        header, rest = _taken(mark + rest, chunks, header_bytes(mark))
        cipher = AESGCM(read_content_key(key, header, associated))
    except UnopenedError as error:
        raise _refusal(context, str(error)) from None
    for index, (chunk, last) in enumerate(_chunks(chain([rest], chunks), _SEALED_CHUNK)):
        try:
            content = cipher.decrypt(_nonce(index, last), chunk, associated)
        except InvalidTag:
            # A cut and a change cannot be distinguished: after a cut a middle chunk is in the last place.
            raise _refusal(context, f"chunk {index} does not open under this key and context") from None
        if last and index and not content:
            raise _refusal(context, f"chunk {index} is an empty last chunk, which no sealer writes")
        yield content


def open_file(key: SealingKey, context: SealContext, sealed: Iterable[bytes], destination: Path) -> None:
    """Open a sealed message into a file of mode 0600 that appears only if all of it was opened. Raises SEALED as
    `open_sealed`; nothing is left behind then."""
    with whole_file(destination) as file:
        for content in open_sealed(key, context, sealed):
            file.write(content)


def _taken(head: bytes, chunks: Iterator[bytes], length: int) -> tuple[bytes, bytes]:
    """The first `length` bytes of `head` and `chunks`, and what came along with them."""
    while len(head) < length:
        chunk = next(chunks, None)
        if chunk is None:
            raise UnopenedError("the message ends within its header")
        head += chunk
    return head[:length], head[length:]


def _nonce(index: int, last: bool) -> bytes:
    # The key serves one message, so index and flag make every nonce its own.
    if index >= _MAX_CHUNKS:
        raise GemelError(ErrorCode.SEALED, "the message is too long to be sealed")
    return bytes(7) + index.to_bytes(4, "big") + bytes([last])


def _chunks(content: Iterable[bytes], size: int) -> Iterator[tuple[bytes, bool]]:
    """Cut `content` into chunks of `size` bytes, marking the last; an empty content has one empty chunk."""
    held = bytearray()
    for chunk in content:
        held += chunk
        position = 0
        # A full chunk is held until more bytes follow, because only then it is known not to be the last.
        while len(held) - position > size:
            yield bytes(held[position : position + size]), False
            position += size
        del held[:position]
    yield bytes(held), True


def _refusal(context: SealContext, what: str) -> GemelError:
    where = f"project {context.project}, run {context.run}, sealed for {context.recipient}"
    check = "check that the membership list has the fingerprint of this party's sealing key"
    remedy = f"fetch it again; if it still does not open, {check}"
    return GemelError(ErrorCode.SEALED, what, where=where, remedy=remedy)
