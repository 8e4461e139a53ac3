r"""Locality-sensitive hashing: rows are compared when their signatures of a field agree on all bits of some band.

A 1-bit minwise signature is cut into bands of some bits each. Two values of Jaccard similarity J agree in a bit with
probability (1 + J)/2, so in a band of r bits with the r-th power of that, and in at least one of b bands with

.. math:: 1 - (1 - ((1 + J)/2)^r)^b.

More bits per band let fewer chance pairs through, more bands lose fewer similar ones. Carole forms the bands from the
signatures she holds, without the custodians. No two bands share a bit. Where each bit was randomised with probability f
on either side, J is replaced by (1 - 2f)^2 J.

References
----------
.. [1] Indyk and Motwani, Approximate nearest neighbors, STOC 1998. doi:10.1145/276698.276876
"""

from __future__ import annotations

import numpy as np

from gemel.carole.arrays import U64
from gemel.common.errors import parameter
from gemel.common.signatures.signature_sets import NO_KEY, FieldSignatures

MAX_BITS = 63
"""Largest number of bits of a band: one more would leave no code for "no key"."""


def band_keys(field: FieldSignatures, bands: int, bits: int) -> list[U64]:
    """Keys of every row, one array per band: the bits of the band themselves, `NO_KEY` where the field is missing.

    Raises
    ------
    GemelError
        PARAMETER if the signatures have fewer bits than the bands need.

    Notes
    -----
    O(bands * (distinct values + rows)).
    """
    if not (1 <= bits <= MAX_BITS and bands >= 1 and bands * bits <= field.bits):
        raise parameter(
            "blocking.lsh",
            f"expected bands of 1 to {MAX_BITS} bits that fit into the signature",
            f"{bands} bands of {bits} bits for signatures of {field.bits}",
            "use fewer bands or bits, or longer signatures",
        )
    keys = []
    for band in range(bands):
        of_value = np.append(_bits(field.signatures, band * bits, bits) + np.uint64(1), np.uint64(NO_KEY))
        keys.append(of_value[field.codes])
    return keys


def _bits(signatures: U64, start: int, n: int) -> U64:
    """Bits `start` to `start + n` of each signature as a number."""
    word, shift = divmod(start, 64)
    found = signatures[:, word] >> np.uint64(shift)
    if shift + n > 64:
        found = found | (signatures[:, word + 1] << np.uint64(64 - shift))
    return np.asarray(found & np.uint64((1 << n) - 1), dtype=np.uint64)
