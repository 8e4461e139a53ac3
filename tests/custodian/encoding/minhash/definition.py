"""The 1-bit minwise signature by the book: one token, one block of AES at a time, or one call of CMAC.

What it is and why is in `gemel.custodian.encoding.minhash`; golden vectors are made by these functions, and property
tests keep the bulk forms to them. In the approved suite CMAC and the key derivation over it are the library's own.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from cryptography.hazmat.primitives.cmac import CMAC
from cryptography.hazmat.primitives.kdf.kbkdf import KBKDFCMAC, CounterLocation, Mode

from gemel.common.keys.derivation import FieldKeys
from gemel.common.keys.suite import Suite
from gemel.custodian.encoding.minhash import NO_BLOCK, response_threshold


def hidden(code: int, k1: bytes, block: bytes = NO_BLOCK, suite: Suite = Suite.DEFAULT) -> bytes:
    """Return what stands for a token in the second step, 8 bytes."""
    token = block + struct.pack("<Q", code)
    return (_aes(k1, token) if suite is Suite.DEFAULT else _cmac(k1, token))[:8]


def numbers(code: int, keys: FieldKeys, bits: int, block: bytes = NO_BLOCK) -> list[int]:
    """Return a token's random numbers of 32 bits, one per bit of the signature."""
    token = hidden(code, keys.k1, block, keys.suite)
    return list(struct.unpack(f"<{bits}I", _derived(keys, token, 4 * bits)))


def signature(codes: Iterable[int], keys: FieldKeys, bits: int, block: bytes = NO_BLOCK) -> list[int]:
    """1-bit minwise signature of one value.

    `codes`: codes of the value's tokens, at least one; `keys`: the field's keys; `bits`: length M of the signature;
    `block`: 8 bytes: digest of the record's block, zeros in open mode. Returns list of int: M bits.
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

    `signature_words`: the signature, in 64-bit words; `keys`: the custodian's own, of the key domain;
    `randomised_response`: probability of inverting a bit.
    """
    state = bytes(16)
    for start in range(0, len(signature_words), 2):
        block = struct.pack("<2Q", *(*signature_words[start : start + 2], 0)[:2])
        state = _aes(keys.k1, bytes(a ^ b for a, b in zip(state, block, strict=True)))
    if keys.suite is Suite.APPROVED:
        state = _cmac(keys.k1, struct.pack(f"<{len(signature_words)}Q", *signature_words))
    bits = 64 * len(signature_words)
    draws = struct.unpack(f"<{bits}H", _derived(keys, state[:8], 2 * bits))
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


def _cmac(key: bytes, message: bytes) -> bytes:
    mac = CMAC(AES(key))
    mac.update(message)
    return mac.finalize()


def _derived(keys: FieldKeys, context: bytes, length: int) -> bytes:
    """`length` bytes from a context of 8."""
    if keys.suite is Suite.DEFAULT:
        return b"".join(_aes(keys.k2, context + struct.pack("<Q", counter)) for counter in range(length // 16))
    fixed = context + struct.pack(">I", 8 * length)
    derivation = KBKDFCMAC(
        AES, Mode.CounterMode, length, 4, None, CounterLocation.MiddleFixed, None, None, fixed, break_location=8
    )
    return derivation.derive(keys.k2)
