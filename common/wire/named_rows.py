"""Which rows of a custodian's file are in pairs above the floor, where the row numbers are shared (mode `shared`).

Each compute party seals to the custodian its share of the row numbers. Before it is sealed::

    "gemel row shares 1\\n" | signature (64) | SHA-256 of share i + 1 (32) | share i, four bytes for each pair

is the part of party i, who holds both shares; so each share comes from one of its holders, and the other vouches for
it. A part is signed for one project, run, session, side, specification, upload and reader. Carole collects the three
for the custodian, who alone learns the numbers::

    "gemel shared rows 1\\n" | upload (16) | session (16) | part 0 | part 1 | part 2

Parts have one length. Who sees this artifact learns how many pairs there are, and, as every sealing is another, nothing
else; nor does its digest, to which the custodian's handles are bound (`row_handles`), reveal a row.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, PublicIdentity, SigningPurpose
from gemel.common.keys.sealing import SealContext
from gemel.common.keys.sealing_key import SealingKey, SealingPublicKey
from gemel.common.keys.suite import Suite
from gemel.common.parties import ComputeParty, Side
from gemel.common.wire.row_handles import UPLOAD_BYTES
from gemel.common.wire.signed_form import Forged, SignedForm

SESSION_BYTES = 16

_PART = SignedForm(b"gemel row shares 1\n", SigningPurpose.ROW_SHARES)
_SHARED_ROWS = b"gemel shared rows 1\n"
_DIGEST_BYTES = 32
_HEAD = len(_SHARED_ROWS) + UPLOAD_BYTES + SESSION_BYTES
_REMEDY = "run the same version of Gemel everywhere; if you do, request another run"


@dataclass(frozen=True)
class SharedRows:
    """Three sealed parts for one custodian, as Carole passes them on."""

    upload: str
    """Name of the upload that the rows are of: 32 hexadecimal digits."""
    session: bytes
    """16 bytes: the session in which the row numbers were computed."""
    parts: tuple[bytes, bytes, bytes] = field(repr=False)
    """By compute party."""

    def pack(self) -> bytes:
        """The artifact. Raises UPLOAD_CORRUPT if the parts have different lengths."""
        if len({len(part) for part in self.parts}) != 1 or not self.parts[0]:
            raise _malformed("parts of different lengths, or empty ones")
        return b"".join((_SHARED_ROWS, bytes.fromhex(self.upload), self.session, *self.parts))

    @classmethod
    def unpack(cls, content: bytes | memoryview) -> SharedRows:
        """Read an artifact. Raises UPLOAD_CORRUPT if it is malformed."""
        content = bytes(content)
        length, rest = divmod(len(content) - _HEAD, len(ComputeParty))
        if not cls.is_marked(content) or length <= 0 or rest:
            raise _malformed(f"{len(content)} bytes of another form")
        session = _HEAD - SESSION_BYTES
        first, second, third = (content[_HEAD + length * party : _HEAD + length * (party + 1)] for party in range(3))
        return cls(content[len(_SHARED_ROWS) : session].hex(), content[session:_HEAD], (first, second, third))

    @staticmethod
    def is_marked(content: bytes | memoryview) -> bool:
        """Whether the bytes are such an artifact, and no request that names the rows (`RowHandlesRequest`)."""
        return bytes(content[: len(_SHARED_ROWS)]) == _SHARED_ROWS


@dataclass(frozen=True)
class NamedRowsContext:
    """The context that a part is bound to, with its reader; it is not valid in any other."""

    project: str
    run: str
    session: bytes
    side: Side
    specification: bytes
    """Digest of the specification that all have approved."""
    upload: str
    reader: str
    """Name of the custodian, as a member, and its public key."""
    key: SealingPublicKey
    suite: Suite = Suite.DEFAULT

    @property
    def sealing(self) -> SealContext:
        return SealContext(self.project, self.run, self.reader, self.suite)

    def parts(self, party: ComputeParty, content: bytes) -> tuple[bytes, ...]:
        """What a party signs: its content is the digest of the next one's share, and its own."""
        digest_of_next, share = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        texts = (self.project, self.run, self.side.value, self.reader, party.name)
        names = self.session, self.specification, bytes.fromhex(self.upload), self.key.raw
        return *(text.encode() for text in texts), *names, digest_of_next, hashlib.sha256(share).digest()


def seal_row_share(
    identity: Identity,
    own: ComputeParty,
    context: NamedRowsContext,
    first: NDArray[np.uint32],
    second: NDArray[np.uint32],
) -> bytes:
    """A compute party's part for one custodian: its two shares (uint32, one a pair) of this file's row numbers."""
    share, of_next = (words.astype("<u4").tobytes() for words in (first, second))
    content = hashlib.sha256(of_next).digest() + share
    return _PART.seal(identity, context.key, context.sealing, partial(context.parts, own), content)


def open_rows(
    key: SealingKey,
    identities: tuple[PublicIdentity, PublicIdentity, PublicIdentity],
    context: NamedRowsContext,
    parts: tuple[bytes, bytes, bytes],
    n_rows: int,
) -> NDArray[np.uint32]:
    """The custodian's own row numbers, from the parts of all three: uint32, shape (n,), in the order of the pairs.

    `identities` are those of the compute parties in the membership list. Raises SEALED if a part does not open;
    SIGNATURE if one was not signed by its party for this context; DEVIATION if two parties do not vouch for the same
    share; UPLOAD_CORRUPT if a part is malformed or a number not below `n_rows`.
    """
    shares, digests = [], []
    for party in ComputeParty:
        share, digest_of_next = _opened(key, party, identities[party], context, parts[party])
        shares.append(share)
        digests.append(digest_of_next)
    for party in ComputeParty:
        if digests[party] != hashlib.sha256(shares[party.next]).digest():
            raise GemelError(
                ErrorCode.DEVIATION,
                f"{party.title} and {party.next.title} do not vouch for the same share of the row numbers",
                where=f"project {context.project}, run {context.run}",
                remedy="one of the two does not follow the protocol, or took part in another session: report it to "
                "the coordinator and Carole's operator",
            )
    rows: NDArray[np.uint32] = np.frombuffer(shares[0], dtype="<u4").astype(np.uint32)
    for share in shares[1:]:
        rows ^= np.frombuffer(share, dtype="<u4")
    highest = int(rows.max(initial=0))
    if len(rows) and highest >= n_rows:
        raise _malformed(f"a number above the {n_rows} rows of the upload")
    return rows


def _opened(
    key: SealingKey, party: ComputeParty, identity: PublicIdentity, context: NamedRowsContext, part: bytes
) -> tuple[bytes, bytes]:
    """A party's share, and the digest that it gives of the next one's."""
    forged = Forged(
        f"a share of row numbers that Carole passed on was not signed by {party.title} for this run, session and"
        " upload",
        f"project {context.project}, run {context.run}",
        "the share was replaced on its way: report it to Carole's operator and the coordinator",
    )
    try:
        content = _PART.open(
            key,
            identity,
            context.sealing,
            partial(context.parts, party),
            [part],
            malformed=lambda got: _malformed(f"{got} from {party.title}"),
            forged=forged,
            content_of=lambda rest: rest if len(rest) >= _DIGEST_BYTES and len(rest) % 4 == 0 else None,
        )
    except GemelError as error:
        if error.code is not ErrorCode.SEALED:
            raise
        what = f"{party.title}'s part of the row numbers cannot be read: {error.what}"
        raise GemelError(error.code, what, where=error.where, got=error.got, remedy=error.remedy) from None
    return content[_DIGEST_BYTES:], content[:_DIGEST_BYTES]


def _malformed(got: str) -> GemelError:
    what = "the shares of row numbers do not have the expected form"
    return GemelError(ErrorCode.UPLOAD_CORRUPT, what, where="resolution", got=got, remedy=_REMEDY)
