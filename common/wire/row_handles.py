"""Which rows are one record: Carole's request to a custodian, and its response to the resolver, as bytes.

Carole's request::

    "gemel rows 1\n" | nonce (32) | upload (16) | rows, four bytes each

names the rows of one upload in the order of the candidate pairs. The nonce is random, so that the digest of a request,
which the resolver gets, does not reveal even a single row. The response, before it is sealed to its reader::

    "gemel handles 1\n" | signature (64) | array | array | ...

is signed by the custodian for one project, run, side, specification, request and reader: Carole, who passes it on, can
neither replace nor replay it. The form of an array is in `signed_form`. Further data on these rows is another line of
`ARRAYS`.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, PublicIdentity, SigningPurpose
from gemel.common.keys.sealing import SealContext
from gemel.common.keys.sealing_key import SealingKey, SealingPublicKey
from gemel.common.keys.suite import Suite
from gemel.common.parties import Side
from gemel.common.wire.signed_form import Forged, SignedForm, pack_arrays, unpack_arrays

HANDLES = "handles"
"""A number for the record of each requested row, from 0 without gaps."""

CODES_ROWS = "codes"
"""Row of each handle's record in the custodian's set of codes, where the linked records are to be assessed."""

RECORDS = "records"
"""Where blocks are padded or there are decoys, one number: handles below it are records'."""

DECOYS = "decoys"
"""Where there are decoys, one number: so many handles from the records' on are decoys', and the others dummies'."""

VALUES = "values"
"""Where values are evidence too, the codes of each handle's record, one record after the other: of the variables that
the custodian holds, in the order of the specification; 0 for none, otherwise a code and one."""

ARRAYS: dict[str, np.dtype[Any]] = {name: np.dtype("<u4") for name in (HANDLES, CODES_ROWS, RECORDS, DECOYS, VALUES)}
"""The arrays of a response, with their types. An array's number is its place here: append only."""

UPLOAD_BYTES = 16
NONCE_BYTES = 32

_ROWS = b"gemel rows 1\n"
_ROW_HANDLES = SignedForm(b"gemel handles 1\n", SigningPurpose.HANDLES)
_REMEDY = "run the same version of Gemel everywhere; if you do, request another run"


@dataclass(frozen=True)
class RowHandlesRequest:
    """Carole's request to a custodian."""

    upload: str
    """Name of the upload that the rows are of: 32 hexadecimal digits."""
    rows: NDArray[np.uint32] = field(repr=False)
    """uint32, one for each candidate pair."""

    def pack(self) -> bytes:
        """The request as bytes, different every time."""
        items = self.rows.astype("<u4").tobytes()
        return _ROWS + secrets.token_bytes(NONCE_BYTES) + bytes.fromhex(self.upload) + items

    @classmethod
    def unpack(cls, content: bytes | memoryview) -> RowHandlesRequest:
        """Read a request. Raises UPLOAD_CORRUPT if it is malformed."""
        content = bytes(content)
        start = len(_ROWS) + NONCE_BYTES
        head = start + UPLOAD_BYTES
        if not content.startswith(_ROWS) or len(content) < head or (len(content) - head) % 4:
            raise _malformed("a request for row handles", f"{len(content)} bytes of another form")
        rows = np.frombuffer(content, dtype="<u4", offset=head).astype(np.uint32)
        return cls(content[start:head].hex(), rows)


def request_digest(content: bytes | memoryview) -> bytes:
    """SHA-256 of a packed request, to which the response is bound."""
    return hashlib.sha256(content).digest()


@dataclass(frozen=True)
class About:
    """The context that a response is bound to, with its reader; it is not valid in any other."""

    project: str
    run: str
    side: Side
    specification: bytes
    """Digest of the specification that the custodian approved."""
    request: bytes
    reader: str
    """Name of the member who is to read the response, and its public key."""
    key: SealingPublicKey
    suite: Suite = Suite.DEFAULT

    @property
    def context(self) -> SealContext:
        return SealContext(self.project, self.run, self.reader, self.suite)

    def parts(self, arrays: bytes) -> tuple[bytes, ...]:
        texts = (self.project, self.run, self.side.value, self.reader)
        digests = self.specification, self.request, self.key.raw, hashlib.sha256(arrays).digest()
        return *(text.encode() for text in texts), *digests


def seal_row_handles(identity: Identity, about: About, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """A response, signed by the custodian and sealed to its reader: arrays of one dimension by names in `ARRAYS`."""
    return _ROW_HANDLES.seal(identity, about.key, about.context, about.parts, pack_arrays(ARRAYS, arrays))


def open_row_handles(
    key: SealingKey, custodian: PublicIdentity, about: About, sealed: bytes
) -> dict[str, NDArray[Any]]:
    """Open a custodian's response with the reader's key and verify its signature, by the membership list.

    Arrays by name, `HANDLES` among them; the values are as the custodian states them. Raises SEALED if it does not
    open; SIGNATURE if this custodian did not sign it for this context; UPLOAD_CORRUPT if the signed content is
    malformed.
    """
    forged = Forged(
        f"the handles that Carole passed on were not signed by {about.side.title()} for this run and request",
        f"project {about.project}, run {about.run}",
        "the handles were replaced on their way: report it to Carole's operator and the custodians",
    )
    return _unpacked(
        _ROW_HANDLES.open(
            key, custodian, about.context, about.parts, [sealed], malformed=_malformed_response, forged=forged
        )
    )


def _unpacked(payload: bytes) -> dict[str, NDArray[Any]]:
    try:
        arrays = unpack_arrays(ARRAYS, payload)
    except ValueError as error:
        raise _malformed_response(str(error)) from None
    if HANDLES not in arrays:
        raise _malformed_response("no handles")
    return arrays


def _malformed_response(got: str) -> GemelError:
    return _malformed("a custodian's response", got)


def _malformed(what: str, got: str) -> GemelError:
    return GemelError(
        ErrorCode.UPLOAD_CORRUPT, f"{what} does not have the expected form", where="resolution", got=got, remedy=_REMEDY
    )
