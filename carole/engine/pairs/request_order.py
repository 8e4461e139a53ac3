"""The order in which candidate pairs are sent to custodians and resolver: it discloses nothing, and can be had again.

Carole finds pairs block by block, and their order would disclose which are of one block. They are sent in a
pseudo-random order, whose key is a digest of the blocks' keyed digests of both files: none of the parties who receive
the pairs has these of both. The same contributions and the same pairs have the same order, so that all sums over them
are made in the same order too, and a run can be repeated to the last bit.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.pairs.shard_work import digest_of_blocks
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.run.contribution import Contribution
from gemel.common.keys.bulk import numbers
from gemel.common.keys.suite import Suite

_VERSION = b"gemel request order 1"


def request_order(a: Contribution, b: Contribution, kept: KeptPairs, suite: Suite = Suite.DEFAULT) -> NDArray[np.int64]:
    """Which kept pair comes at each place of a request: int64, shape (n_kept,).

    Parameters
    ----------
    a, b : Contribution
        The two contributions.
    kept : KeptPairs
        The candidate pairs; another choice of them has another order.
    suite : Suite
        Of the specification.

    Notes
    -----
    SHA-256 of 8 bytes for each row, and a sort of the pairs.
    """
    digest = hashlib.sha256(_VERSION)
    for part in (a, b):
        for number in range(len(part.sets)):
            digest.update(part.sets[number].rows.to_bytes(8, "little") + digest_of_blocks(part, number))
    for which in (kept.row_a, kept.row_b, kept.pattern):
        digest.update(np.ascontiguousarray(which, dtype="<i4").tobytes())
    place = np.arange(len(kept.pattern))
    return np.argsort(numbers(digest.digest(), place, suite=suite), kind="stable").astype(np.int64)
