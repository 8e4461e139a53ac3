"""A contribution of mode shared as a compute party reads it: its two shares of each set's rows, and their blocks.

Carole makes both of hers from seeds; the other two make one from a seed and decrypt the third share, which comes with
the digests that it is bound to. Whatever Carole passes on is checked before it is used: other digests than the
custodian's, in another order or of another set, do not open.

A row's number is its place in the contribution: among the rows of all sets, one after the other.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import GCM
from numpy.typing import NDArray

from gemel.common.keys.framing import frame
from gemel.common.parties import ComputeParty, Side
from gemel.common.signatures.custodian_shares import PartySecrets, add_share
from gemel.common.signatures.intervals import Interval
from gemel.common.signatures.layout import CODES, KNOWN, SAMPLES, SEAL_BYTES, Layout, SetLayout, where_of
from gemel.common.signatures.row_words import WORD_BITS, RowWords
from gemel.common.signatures.signature_sets import MISSING, NO_KEY, SignatureSet, check_interval, corrupt

# The words of a set's rows that are shared, and the share of them that is sent: sealed for two of the three parties.
#
# The share is encrypted by AES-256-GCM under the upload's content key, with the set's number as nonce. Its associated
# data are the project, side, upload, number, rule and interval, and the digest of the digests of the rows' blocks:
# whoever can open it knows that the custodian has put these rows, in this order, into these blocks.

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
    """Write the words of a set's rows in an order: for each line of `into` the row of the set. `into` is uint64 of
    shape (n_rows, words.total), written whole; where a row has no value or no key, it is random."""
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
    """Encrypt a share in place, behind which are `SEAL_BYTES`; the key, 32 bytes, seals each number once."""
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
    """Refuse (UPLOAD_CORRUPT) rows that are not in the order of their blocks, or not in a block of the interval."""
    where = where_of(rule)
    if (digests[1:] < digests[:-1]).any():
        raise corrupt("rows that are shared must be in the order of their blocks", where, "another order")
    if len(digests) and int(digests[0]) == NO_KEY:
        raise corrupt("each row that is shared must be in a block", where, "a row without a key")
    check_interval(digests, interval, where)


Shared = NDArray[np.uint64]
"""A party's two shares, s_i and s_(i+1), along the first axis."""

Read = Callable[[int, int], bytes | bytearray | memoryview]
"""Gives the first bytes of a set's payload: of which set, and how many."""


@dataclass(frozen=True)
class ShareHeader:
    """What opens a contribution for one compute party: its upload, and the secrets of the party's two shares."""

    upload: SharedUpload
    secrets: PartySecrets


class PartyContribution:
    """One custodian's contribution, for one compute party: its own header, opened and verified, and the layout that was
    signed.

    `read` gives a set's digests alone, or all of it: Carole asks for no more than digests. The newest payload is kept
    until another is read. `sets` are those with rows of rules, in the order of the rules and their intervals; `starts`
    has the number of each set's first row, and of the row after the last. `seed_digests` (96 bytes) of the secrets of
    all three shares are the same at all three parties if the custodian gave each two of them the same secret. Raises
    UPLOAD_LIMIT if the layout is out of bounds, UPLOAD_CORRUPT if it has no shares.
    """

    def __init__(self, own: ComputeParty, header: ShareHeader, layout: Layout, read: Read) -> None:
        layout.validate()
        if header.secrets.party is not own:
            raise corrupt(f"the secrets must be {own.title}'s", "shares", f"{header.secrets.party.title}'s")
        places = [number for number, part in enumerate(layout.sets) if part.rule not in (CODES, SAMPLES, *KNOWN)]
        self.sets: tuple[SetLayout, ...] = tuple(layout.sets[number] for number in places)
        count = len(places)
        samples = tuple(part for part in layout.sets if part.rule == SAMPLES)
        if not layout.is_shared or not count or places != list(range(count)):
            raise corrupt("sets of rules, shared, expected", "shares", "other sets")
        if len(samples) != 1 or layout.sets[count : count + 1] != samples:
            raise corrupt("samples expected behind the sets of rules", "shares", "other sets")
        self.starts = tuple(int(n) for n in np.cumsum([0, *(part.rows for part in self.sets)]))
        self.n_records = layout.records
        self.seed_digests = header.secrets.commitments
        self._own, self._header, self._layout, self._read = own, header, layout, read
        self._newest: tuple[int, memoryview] | None = None
        self._digests: dict[int, bytes] = {}

    @property
    def upload(self) -> SharedUpload:
        return self._header.upload

    def words(self, number: int) -> RowWords:
        return self._layout.sets[number].row_words

    @property
    def sample_layout(self) -> SetLayout:
        return self._layout.sets[len(self.sets)]

    @property
    def sample_words(self) -> RowWords:
        return self.words(len(self.sets))

    def sets_of(self, rule: str) -> range:
        numbers = [number for number, part in enumerate(self.sets) if part.rule == rule]
        return range(numbers[0], numbers[-1] + 1)

    @property
    def rows_per_rule(self) -> dict[str, int]:
        """Rows of each rule: the records that have a key under it, and dummies."""
        return Layout(self.sets, self.n_records).rule_rows

    @property
    def largest_rule(self) -> str:
        """The first of the rules with most rows."""
        rows = self.rows_per_rule
        return max(rows, key=rows.__getitem__)

    def digests(self, number: int) -> NDArray[np.uint64]:
        """The digests of the blocks of a set's rows, ascending; shape (n_rows,).

        Raises `GemelError`: UPLOAD_CORRUPT if they cannot be those of such a set, or are others than were read
        before.

        That they are the custodian's shows when `rows` opens what is bound to them, which is not before these same
        digests are there again.
        """
        part = self._layout.sets[number]
        size = part.total_bytes - part.sealed_bytes
        payload = self._payload(number, size)
        digests = np.frombuffer(payload[:size], dtype="<u8").astype(np.uint64)
        if part.blocks:
            check_shared_digests(digests, part.rule, part.interval)
        found = hashlib.sha256(payload[:size]).digest()
        if self._digests.setdefault(number, found) != found:
            raise corrupt("the digests of a set's blocks must stay as they were", where_of(part.rule), "others")
        return digests

    def rows(self, number: int) -> Shared:
        """This party's shares of the words of a set's rows: uint64, shape (2, n_rows, n_words). Raises `GemelError`:
        UPLOAD_CORRUPT if the share that was sent does not open, with these digests."""
        found = np.zeros((2, self._layout.sets[number].rows, self.words(number).total), dtype=np.uint64)
        for place, share in enumerate((self._own, self._own.next)):
            self._add(int(share), number, found[place])
        return found

    @property
    def sample(self) -> Shared:
        """This party's shares of the samples' rows, group after group; as `rows`."""
        return self.rows(len(self.sets))

    def _add(self, share: int, number: int, words: NDArray[np.uint64]) -> None:
        """Put a share of a set into the place of zeros."""
        secret = self._header.secrets.of(share)
        assert secret is not None  # noqa: S101 - of its own two shares
        if share != ComputeParty.STEWARD:
            add_share(words, secret, share, number)
            return
        part = self._layout.sets[number]
        sealed = self._payload(number, part.total_bytes)[part.total_bytes - part.sealed_bytes :]
        digests = self.digests(number)
        associated = self._header.upload.associated(part, number, digests)
        words[:] = open_words(sealed, secret, number, associated, where_of(part.rule)).reshape(words.shape)

    def _payload(self, number: int, size: int) -> memoryview:
        """A set's payload, or at least so much of it."""
        if self._newest is None or self._newest[0] != number or self._newest[1].nbytes < size:
            payload = memoryview(self._read(number, size)).cast("B")
            if payload.nbytes != size:
                part = self._layout.sets[number]
                what = f"a set must have the {size} bytes of its layout"
                raise corrupt(what, where_of(part.rule), f"{payload.nbytes} bytes")
            self._newest = number, payload
        return self._newest[1]
