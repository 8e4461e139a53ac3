"""Signatures: the 1-bit minwise hash of a value's tokens under a field's keys.

`signatures` makes many of them in bulk, `with_randomised_response` inverts some of their bits.

A token's code enters with the digest of its block (zeros in open mode): AES-256 under k1 of the 8 bytes of
the digest and the 8 of the code, of which the first 8 are kept, hides the token. AES-256 under k2 of those
8 bytes and a counter of 8 gives four numbers of 32 bits; counters 0, 1, 2, ... give the token's M numbers,
one per bit of the signature. Bit i of a value's signature comes from the smallest i-th number of its
tokens, in the order of ``v >> 1``: it is ``v & 1`` there, a bit that does not affect the order [1]_ [2]_.
Two numbers that differ in that bit alone tie, with probability 2**-31 a pair; the bit is then 0, so the
smallest whole number decides everything.

Randomised response derives 64 bits from the signature, by CBC-MAC under a key of the custodian's alone, and from them
and a counter eight draws of 16 bits at a time. Bit i is inverted where draw i is below 65536 times the probability,
rounded: no floating point decides a bit, and the probability is off by 1/131072 at most.

All integers are little-endian. Bit i of the signature is bit ``i % 64`` of word ``i // 64``, hence bit ``i
% 8`` of byte ``i // 8``.

References
----------
.. [1] Broder, On the resemblance and containment of documents, SEQUENCES 1997. doi:10.1109/SEQUEN.1997.666900
.. [2] Li and Koenig, b-Bit minwise hashing, WWW 2010. doi:10.1145/1772690.1772759
"""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np

from gemel.common.arrays import I32, I64, U32, U64
from gemel.common.errors import GemelError, parameter
from gemel.common.keys.bulk import codes_of_rows, counters, pseudo_random
from gemel.common.keys.derivation import FieldKeys
from gemel.custodian.tokens import Tokens

# Randomised response on signatures, in bulk: each bit inverted with a public probability, by private noise.
#
# The noise is a pseudo-random function of the signature, so that a signature has the same noise whenever it is sent and
# repeated uploads reveal nothing more.

_NOISE_BYTES = 1 << 20  # draws at a time: they stay in the second-level cache
_DRAWS_PER_BLOCK = 8


def response_threshold(randomised_response: float) -> int:
    """The number below which a draw of 16 bits inverts its bit."""
    return round(randomised_response * 65536)


def with_randomised_response(signatures: U64, keys: FieldKeys, randomised_response: float) -> U64:
    """Signatures, uint64 of shape (n, words), with each bit inverted with probability `randomised_response`.

    Equal signatures stay equal. Different ones may become equal, the more likely the shorter and more alike they are.
    Two bytes of AES per bit and as many as the signature has: a microsecond or two at 1024 bits.
    """
    if not 0 <= randomised_response < 0.5:
        what = "the probability must be at least 0 and less than 1/2"
        raise parameter("randomised response", what, str(randomised_response))
    n, words = signatures.shape
    bits = 64 * words
    threshold = np.uint16(response_threshold(randomised_response))
    counter = counters(bits // _DRAWS_PER_BLOCK, keys.suite)
    out = np.empty((n, words), dtype=np.uint64)
    chunk = max(1, _NOISE_BYTES // (2 * bits))
    for start in range(0, n, chunk):
        part = signatures[start : start + chunk]
        draws = np.empty((len(part), len(counter), 2), dtype="<u8")
        draws[:, :, 0] = codes_of_rows(keys.k1, part, keys.suite)[:, None]
        draws[:, :, 1] = counter
        pseudo_random(keys.k2, draws, keys.suite)
        change = draws.view("<u2").reshape(len(part), bits) < threshold
        packed = np.packbits(change, axis=1, bitorder="little").view("<u8")
        np.bitwise_xor(part, packed.astype(np.uint64, copy=False), out=out[start : start + chunk])
    return out


BLOCK_BYTES = 8
NO_BLOCK = bytes(BLOCK_BYTES)
"""Block digest of open mode."""
WORD_BITS = 64
MAX_BITS = 8192
TABLE_BYTES = 1 << 27
"""Up to this size the rows of all distinct tokens are kept at once."""
_CHUNK_BYTES = 1 << 20  # rows of a chunk otherwise: in the second-level cache when the loop reads them
_HIDDEN_AT_ONCE = 1 << 16  # tokens encrypted in one call: a megabyte
_COUNTERS_PER_ROW = 4


def signatures(tokens: Tokens, keys: FieldKeys, bits: int, block: bytes = NO_BLOCK) -> U64:
    """1-bit minwise signatures of many values under a field's keys: uint64, shape (n_values, bits // 64).

    `bits` is a multiple of 64 from 64 to 8192, `block` the digest of the block that all these values belong to, 8
    bytes, zeros in open mode. Raises `GemelError`: PARAMETER if one is of the wrong size, or if a value has no tokens.

    ``4 * bits`` bytes of AES per distinct token and as many of running minimum per token of each value: 1024 bits of a
    name of 8 tokens take half a microsecond on one core, a new token the same again. Working memory: `TABLE_BYTES` at
    most.
    """
    _check_bits(bits)
    if len(block) != BLOCK_BYTES:
        raise _parameter(f"a block digest has {BLOCK_BYTES} bytes", "block", f"{len(block)} bytes")
    if empty := int(np.count_nonzero(tokens.counts == 0)):
        raise _parameter("a value without tokens has no signature", "tokens", f"{empty} such values")
    out = np.empty((tokens.n_values, bits // WORD_BITS), dtype=np.uint64)
    whole, places = _index(tokens.codes, TABLE_BYTES // (4 * bits))
    if len(places) == len(tokens.codes):
        _minimum(_rows(whole, keys, bits, block), places, tokens.offsets, out)
        return out
    for start, stop in _chunks(tokens.offsets, max(1, min(_CHUNK_BYTES, TABLE_BYTES) // (4 * bits))):
        offsets = tokens.offsets[start : stop + 1]
        codes = tokens.codes[offsets[0] : offsets[-1]]
        distinct, places = _index(codes, len(codes))
        _minimum(_rows(distinct, keys, bits, block), places, offsets - offsets[0], out[start:stop])
    return out


def block_signatures(tokens: Tokens, value: I32, block: U64, keys: FieldKeys, bits: int) -> U64:
    """1-bit minwise signatures of values each within a block of its own: uint64, shape (n, bits // 64).

    Row i is ``signatures`` of value ``value[i]``, a row of `tokens` that has tokens, alone with the 8 bytes of
    ``block[i]``, little-endian; int32 and uint64, shape (n,). Fastest with blocks in ascending order: tokens shared by
    the values of a block are then processed once. A microsecond of AES per token and block at 1024 bits; working memory
    of a few MB.
    """
    _check_bits(bits)
    counts = tokens.counts[value]
    if empty := int(np.count_nonzero(counts == 0)):
        raise _parameter("a value without tokens has no signature", "tokens", f"{empty} such values")
    out = np.empty((len(value), bits // WORD_BITS), dtype=np.uint64)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    maximum = max(1, _CHUNK_BYTES // (4 * bits))
    for first, last in _chunks(offsets, _HIDDEN_AT_ONCE):
        inside = offsets[first : last + 1] - offsets[first]
        hidden = _tokens_in_blocks(tokens.codes, tokens.offsets, value[first:last], block[first:last], int(inside[-1]))
        pseudo_random(keys.k1, hidden, keys.suite)
        codes = np.ascontiguousarray(hidden[:, 0])
        for start, stop in _chunks(inside, maximum):
            chunk = inside[start : stop + 1]
            distinct, places = _index(codes[chunk[0] : chunk[-1]], int(chunk[-1] - chunk[0]))
            rows = _numbers(distinct, keys, bits)
            _minimum(rows, places, chunk - chunk[0], out[first + start : first + stop])
    return out


def _rows(codes: U64, keys: FieldKeys, bits: int, block: bytes) -> U32:
    """The numbers of each token, shape (n_tokens, bits)."""
    token = np.empty((len(codes), 2), dtype="<u8")
    token[:, 0] = int.from_bytes(block, "little")
    token[:, 1] = codes
    pseudo_random(keys.k1, token, keys.suite)
    return _numbers(token[:, 0], keys, bits)


def _numbers(hidden: U64, keys: FieldKeys, bits: int) -> U32:
    """The numbers of each hidden token, shape (n_tokens, bits)."""
    rows = np.empty((len(hidden), bits // _COUNTERS_PER_ROW, 2), dtype="<u8")
    rows[:, :, 0] = hidden[:, None]
    rows[:, :, 1] = counters(bits // _COUNTERS_PER_ROW, keys.suite)
    pseudo_random(keys.k2, rows, keys.suite)
    numbers = rows.view("<u4").reshape(len(hidden), bits)
    return numbers.astype(np.uint32, copy=False)


def _chunks(offsets: I64, maximum: int) -> Iterator[tuple[int, int]]:
    """Ranges of values that have at most `maximum` tokens together, or are one value."""
    start, n = 0, len(offsets) - 1
    while start < n:
        stop = int(np.searchsorted(offsets, offsets[start] + maximum, side="right")) - 1
        stop = max(start + 1, stop)
        yield start, stop
        start = stop


def _check_bits(bits: int) -> None:
    if bits % WORD_BITS or not WORD_BITS <= bits <= MAX_BITS:
        raise _parameter(f"bits must be a multiple of {WORD_BITS} up to {MAX_BITS}", "bits", str(bits))


def _parameter(what: str, where: str, got: str) -> GemelError:
    return parameter(f"signatures, {where}", what, got)


@numba.njit(cache=True, nogil=True)
def _tokens_in_blocks(codes: U64, offsets: I64, value: I32, block: U64, n: int) -> U64:
    """Block digest and code of every token of every value, in the order of the values; shape (n, 2)."""
    out = np.empty((n, 2), dtype=np.uint64)
    place = 0
    for i in range(len(value)):
        for token in range(offsets[value[i]], offsets[value[i] + 1]):
            out[place, 0] = block[i]
            out[place, 1] = codes[token]
            place += 1
    return out


@numba.njit(cache=True, nogil=True)
def _index(codes: U64, maximum: int) -> tuple[U64, I64]:
    """Distinct codes and each code's place among them; stops, with no places, at more than `maximum` of them."""
    places = np.empty(len(codes), dtype=np.int64)
    distinct = np.empty(min(len(codes), maximum), dtype=np.uint64)
    exponent = 10
    slots = np.full(1 << exponent, -1, dtype=np.int64)
    n = 0
    for i in range(len(codes)):
        slot = _slot(slots, exponent, distinct, codes[i])
        if slots[slot] < 0:
            if n == maximum:
                return distinct[:0], places[:0]
            distinct[n] = codes[i]
            slots[slot] = n
            n += 1
        places[i] = slots[slot]
        if 2 * n > len(slots):
            exponent += 2
            slots = np.full(1 << exponent, -1, dtype=np.int64)
            for j in range(n):
                slots[_slot(slots, exponent, distinct, distinct[j])] = j
    return distinct[:n].copy(), places


@numba.njit(cache=True, nogil=True)
def _slot(slots: I64, exponent: int, distinct: U64, code: np.uint64) -> np.int64:
    """The slot of a hash table that holds the code, or the empty one where it belongs."""
    mixed = (code ^ (code >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(mixed >> np.uint64(64 - exponent))
    while slots[slot] >= 0 and distinct[slots[slot]] != code:
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@numba.njit(cache=True, nogil=True)
def _minimum(rows: U32, places: I64, offsets: I64, out: U64) -> None:
    """Smallest number over the rows of each value's tokens; its lowest bit, packed."""
    bits = rows.shape[1]
    minimum = np.empty(bits, dtype=np.uint32)
    for value in range(len(offsets) - 1):
        first = offsets[value]
        row = rows[places[first]]
        for i in range(bits):
            minimum[i] = row[i]
        for token in range(first + 1, offsets[value + 1]):
            row = rows[places[token]]
            for i in range(bits):
                minimum[i] = min(minimum[i], row[i])
        for word in range(bits // 64):
            packed = np.uint64(0)
            for i in range(64):
                packed |= np.uint64(minimum[64 * word + i] & np.uint32(1)) << np.uint64(i)
            out[value, word] = packed
