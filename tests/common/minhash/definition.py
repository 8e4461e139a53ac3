"""The 1-bit minwise signature by the book: one token, one block of AES at a time.

What it is and why is in `tryst.common.minhash`; golden vectors are made by these functions, and property tests keep
the bulk forms to them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

from tryst.common.keys.derivation import FieldKeys
from tryst.common.minhash.fast import NO_BLOCK
from tryst.common.minhash.noise import response_threshold


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


def flips(signature_words: Sequence[int], keys: FieldKeys, randomised_response: float) -> list[int]:
    """Which bits of a signature randomised response inverts: 1 or 0 for each.

    Parameters
    ----------
    signature_words
        The signature, in 64-bit words.
    keys
        The custodian's own, of the key domain.
    randomised_response
        Probability of inverting a bit.
    """
    state = bytes(16)
    for start in range(0, len(signature_words), 2):
        block = struct.pack("<2Q", *(*signature_words[start : start + 2], 0)[:2])
        state = _aes(keys.k1, bytes(a ^ b for a, b in zip(state, block, strict=True)))
    draws: list[int] = []
    for counter in range(8 * len(signature_words)):
        draws += struct.unpack("<8H", _aes(keys.k2, state[:8] + struct.pack("<Q", counter)))
    return [int(draw < response_threshold(randomised_response)) for draw in draws]


def words(bits: Iterable[int]) -> list[int]:
    """Pack bits into 64-bit words, the first bit lowest."""
    text = list(bits)
    return [
        sum(bit << place for place, bit in enumerate(text[start : start + 64])) for start in range(0, len(text), 64)
    ]


def _aes(key: bytes, block: bytes) -> bytes:
    encryptor = Cipher(AES(key), ECB()).encryptor()  # noqa: S305 - a pseudo-random function of one block
    return encryptor.update(block) + encryptor.finalize()
