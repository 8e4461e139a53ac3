"""The words of a set's rows that are shared, and the share of them that is sent: sealed for two of the three parties.

The share is encrypted by AES-256-GCM under the upload's content key, with the set's number as nonce. Its associated
data are the project, side, upload, number, rule and interval, and the digest of the digests of the rows' blocks:
whoever can open it knows that the custodian has put these rows, in this order, into these blocks.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import GCM
from numpy.typing import NDArray

from gemel.common.keys.framing import frame
from gemel.common.parties import Side
from gemel.common.signatures.intervals import Interval
from gemel.common.signatures.layout import SEAL_BYTES, SetLayout, where_of
from gemel.common.signatures.row_words import WORD_BITS, RowWords
from gemel.common.signatures.signature_sets import MISSING, NO_KEY, SignatureSet, check_interval, corrupt

_DOMAIN = b"gemel sealed words 1"
_AT_ONCE = 1 << 20
_NONCE_BYTES = 12


@dataclass(frozen=True)
class SharedUpload:
    """What a sealed share belongs to, without which it does not open."""

    project: str
    side: Side
    upload: str

    def associated(self, part: SetLayout, number: int, digests: NDArray[np.uint64]) -> bytes:
        """What the share of a set is bound to; `digests` of the blocks of its rows, none of the samples."""
        return frame(
            _DOMAIN,
            *(text.encode() for text in (self.project, str(self.side), self.upload, part.rule)),
            *(each.to_bytes(8, "big") for each in (number, *part.interval)),
            hashlib.sha256(digests.astype("<u8").tobytes()).digest(),
        )


def plain_words(part: SignatureSet, words: RowWords, order: NDArray[np.int64], into: NDArray[np.uint64]) -> None:
    """Write the words of a set's rows, in an order.

    Parameters
    ----------
    part
        With signatures, and tags among its `blocks`.
    words
        Which words a row has.
    order
        For each line the row of the set.
    into
        uint64, shape (n_rows, words.total): written whole. Where a row has no value or no key, it is random.
    """
    into[:, : words.presence_words] = 0
    for tag in words.tags:
        tags = part.blocks[tag][order]
        into[:, words.tag(tag)] = np.where(tags == NO_KEY, _random((len(order),)), tags)
    for name, _ in words.fields:
        field = part.fields[name]
        codes = field.codes[order]
        there = codes != MISSING
        word, bit = words.presence(name)
        into[:, word] |= there.astype(np.uint64) << np.uint64(bit)
        columns = into[:, words.signature(name)]
        columns[there] = field.signatures[codes[there]]
        columns[~there] = _random((int(np.count_nonzero(~there)), field.bits // WORD_BITS))


def _random(shape: tuple[int, ...]) -> NDArray[np.uint64]:
    return np.frombuffer(secrets.token_bytes(8 * int(np.prod(shape))), dtype=np.uint64).reshape(shape)


def seal_words(buffer: NDArray[np.uint8], key: bytes, number: int, associated: bytes) -> None:
    """Encrypt a share in place.

    Parameters
    ----------
    buffer
        The share, and behind it `SEAL_BYTES` for the seal.
    key
        The content key, 32 bytes, which seals each number once.
    """
    encryptor = Cipher(AES(key), GCM(number.to_bytes(_NONCE_BYTES, "big"))).encryptor()
    encryptor.authenticate_additional_data(associated)
    data = memoryview(buffer.data)[: len(buffer) - SEAL_BYTES]
    for start in range(0, len(data), _AT_ONCE):
        part = data[start : start + _AT_ONCE]
        part[:] = encryptor.update(part)
    encryptor.finalize()
    buffer[len(data) :] = np.frombuffer(encryptor.tag, dtype=np.uint8)


def open_words(sealed: memoryview, key: bytes, number: int, associated: bytes, where: str) -> NDArray[np.uint64]:
    """The share that was sealed, one word after the other."""
    size = len(sealed) - SEAL_BYTES
    decryptor = Cipher(AES(key), GCM(number.to_bytes(_NONCE_BYTES, "big"), bytes(sealed[size:]))).decryptor()
    decryptor.authenticate_additional_data(associated)
    words = np.empty(size // 8, dtype=np.uint64)
    into = memoryview(words.view(np.uint8).data)
    for start in range(0, size, _AT_ONCE):
        into[start : start + _AT_ONCE] = decryptor.update(sealed[start : min(start + _AT_ONCE, size)])
    try:
        decryptor.finalize()
    except InvalidTag:
        what = "a sealed share must be the one that the custodian made for this upload, set and order of blocks"
        raise corrupt(what, where, "one that does not open") from None
    return words


def check_shared_digests(digests: NDArray[np.uint64], rule: str, interval: Interval) -> None:
    """The rows of a shared set are in the order of their blocks, and each is in one, of the interval.

    Raises
    ------
    GemelError
        UPLOAD_CORRUPT.
    """
    where = where_of(rule)
    if (digests[1:] < digests[:-1]).any():
        raise corrupt("rows that are shared must be in the order of their blocks", where, "another order")
    if len(digests) and int(digests[0]) == NO_KEY:
        raise corrupt("each row that is shared must be in a block", where, "a row without a key")
    check_interval(digests, interval, where)
