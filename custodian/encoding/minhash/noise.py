"""Randomised response on signatures, in bulk: each bit inverted with a public probability, by private noise.

The noise is a pseudo-random function of the signature, so that a signature has the same noise whenever it is sent and
repeated uploads reveal nothing more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import parameter
from gemel.common.keys.bulk import codes_of_rows, counters, pseudo_random
from gemel.common.keys.derivation import FieldKeys

_CHUNK_BYTES = 1 << 20  # draws at a time: they stay in the second-level cache
_DRAWS_PER_BLOCK = 8


def response_threshold(randomised_response: float) -> int:
    """The number below which a draw of 16 bits inverts its bit."""
    return round(randomised_response * 65536)


def with_randomised_response(
    signatures: NDArray[np.uint64], keys: FieldKeys, randomised_response: float
) -> NDArray[np.uint64]:
    """Signatures with each bit inverted with probability `randomised_response`.

    Parameters
    ----------
    signatures
        uint64, shape (n, words).
    keys
        The custodian's own, of the key domain (`NoiseKey.derive`).
    randomised_response
        Probability of inverting a bit, 0 to less than 1/2, rounded to a multiple of 1/65536.

    Returns
    -------
    ndarray of uint64, shape (n, words)
        Equal signatures stay equal. Different ones may become equal, the more likely the shorter and more alike they
        are.

    Notes
    -----
    Two bytes of AES per bit and as many as the signature has: a microsecond or two at 1024 bits.
    """
    if not 0 <= randomised_response < 0.5:
        raise parameter(
            "randomised response", "the probability must be at least 0 and less than 1/2", str(randomised_response)
        )
    n, words = signatures.shape
    bits = 64 * words
    threshold = np.uint16(response_threshold(randomised_response))
    counter = counters(bits // _DRAWS_PER_BLOCK, keys.suite)
    out = np.empty((n, words), dtype=np.uint64)
    chunk = max(1, _CHUNK_BYTES // (2 * bits))
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
