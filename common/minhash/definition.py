"""The 1-bit minwise signature by the book: one token, one block of AES at a time.

A token's code enters with the digest of its block (zeros in open mode): AES-256 under k1 of the 8 bytes of
the digest and the 8 of the code, of which the first 8 are kept, hides the token. AES-256 under k2 of those
8 bytes and a counter of 8 gives four numbers of 32 bits; counters 0, 1, 2, ... give the token's M numbers,
one per bit of the signature. Bit i of a value's signature comes from the smallest i-th number of its
tokens, in the order of ``v >> 1``: it is ``v & 1`` there, a bit that had no part in the order [1]_ [2]_.
Two numbers that differ in that bit alone tie, with probability 2**-31 a pair; the bit is then 0, so the
smallest whole number decides everything.

Randomised response takes 64 bits for the signature, by CBC-MAC under a key that the custodian shares with nobody, and
from them and a counter eight draws of 16 bits at a time. Bit i is flipped where draw i is below 65536 times the
probability, rounded: no floating point decides a bit, and the probability is off by 1/131072 at most.

All integers are little-endian. Bit i of the signature is bit ``i % 64`` of word ``i // 64``, hence bit ``i
% 8`` of byte ``i // 8``.

References
----------
.. [1] Broder, On the resemblance and containment of documents, SEQUENCES 1997. doi:10.1109/SEQUEN.1997.666900
.. [2] Li and Koenig, b-Bit minwise hashing, WWW 2010. doi:10.1145/1772690.1772759
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

from tryst.common.keys.derivation import FieldKeys

BLOCK_BYTES = 8
NO_BLOCK = bytes(BLOCK_BYTES)
"""Block digest of open mode."""


def hidden(code: int, k1: bytes, block: bytes = NO_BLOCK) -> bytes:
    """Return what stands for a token in the second step, 8 bytes."""
    return _aes(k1, block + struct.pack("<Q", code))[:8]


def numbers(code: int, keys: FieldKeys, bits: int, block: bytes = NO_BLOCK) -> list[int]:
    """Return a token's random numbers of 32 bits, one per bit of the signature."""
    token = hidden(code, keys.k1, block)
    values: list[int] = []
    for counter in range(bits // 4):
        values += struct.unpack("<4I", _aes(keys.k2, token + struct.pack("<Q", counter)))
    return values


def signature(codes: Iterable[int], keys: FieldKeys, bits: int, block: bytes = NO_BLOCK) -> list[int]:
    """1-bit minwise signature of one value.

    Parameters
    ----------
    codes
        Codes of the value's tokens, at least one.
    keys
        The field's keys.
    bits
        Length M of the signature.
    block
        8 bytes: digest of the record's block, zeros in open mode.

    Returns
    -------
    list of int
        M bits.
    """
    tokens = [numbers(code, keys, bits, block) for code in codes]
    bits_kept = []
    for values in zip(*tokens, strict=True):
        smallest = min(value >> 1 for value in values)
        kept = {value & 1 for value in values if value >> 1 == smallest}
        bits_kept.append(min(kept))
    return bits_kept


def flip_threshold(flip: float) -> int:
    """The number below which a draw of 16 bits must be for a bit to be flipped."""
    return round(flip * 65536)


def flips(signature_words: Sequence[int], keys: FieldKeys, flip: float) -> list[int]:
    """Which bits of a signature randomised response flips: 1 or 0 for each.

    Parameters
    ----------
    signature_words
        The signature, in 64-bit words.
    keys
        The custodian's own, of the key domain.
    flip
        Probability of a flip.
    """
    state = bytes(16)
    for start in range(0, len(signature_words), 2):
        block = struct.pack("<2Q", *(*signature_words[start : start + 2], 0)[:2])
        state = _aes(keys.k1, bytes(a ^ b for a, b in zip(state, block, strict=True)))
    draws: list[int] = []
    for counter in range(8 * len(signature_words)):
        draws += struct.unpack("<8H", _aes(keys.k2, state[:8] + struct.pack("<Q", counter)))
    return [int(draw < flip_threshold(flip)) for draw in draws]


def words(bits: Iterable[int]) -> list[int]:
    """Pack bits into 64-bit words, the first bit lowest."""
    text = list(bits)
    return [
        sum(bit << place for place, bit in enumerate(text[start : start + 64])) for start in range(0, len(text), 64)
    ]


def _aes(key: bytes, block: bytes) -> bytes:
    encryptor = Cipher(AES(key), ECB()).encryptor()  # noqa: S305 - a pseudo-random function of one block
    return encryptor.update(block) + encryptor.finalize()
