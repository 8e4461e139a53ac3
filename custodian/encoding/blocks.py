"""Block-keyed mode: a record is signed once per blocking rule, for the block it is in and no other.

Under a blocking rule only records with the same blocking key are ever compared, so the block's digest enters every
token's code: Carole can compare two values inside a block and nowhere else. Anything that joins a record's rows under
several rules would undo this, so each rule's set has rows of its own: in an order of its own, under pseudonyms that
mean nothing in another set, signed under the rule's own keys. A record without a key under a rule has no row there.

A pair that satisfies two rules must be counted once, and m of a field is estimated from rules without it, so Carole
must know which rules a pair satisfies. Every row therefore has, for each other rule, a *tag*: a pseudo-random function
of its block and its key under that rule. Two rows of a block have the same tag when they agree on the other rule too;
tags of different blocks have nothing in common. Tags for earlier rules alone would suffice for counting once, but
reveal hardly less: that two rows of a block agree on a rule's fields is visible in the fields' signatures, whichever
rule is first. Where a rule withholds a field, the tag for another rule made of it shows agreement on all its keys.

Chance agreement cannot be estimated from pairs of rows when only rows of a block compare, so each custodian also sends
*samples* of each field's values, in small groups under keys that are used for nothing else (`samples`).

Codes of category variables hold for the whole file. Beside signatures they would join a record's rows across rules, so
they have a set of their own: every record once, shuffled separately, with codes and nothing else. The resolver reports
which of its rows are links, so that the linked records' codes can be assessed; nothing joins them to rows of a rule.

A rule's `split` always enters its blocking key here. To split large blocks only, both custodians would have to know
which are large in either file, and exchanging this (or reporting it to Carole) would reveal common values; a field that
always splits reveals nothing, and loses pairs that a rule without it can still find.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gemel.common.keys.bulk import pseudo_random
from gemel.common.keys.derivation import Purpose
from gemel.common.keys.suite import Suite
from gemel.common.signatures.signature_sets import INSTEAD_OF_ZERO, NO_KEY
from gemel.custodian.encoding.signing import Signer


def blocks_and_tags(
    rule: str, order: NDArray[np.int64], digests: Mapping[str, NDArray[np.uint64]], signer: Signer
) -> dict[str, NDArray[np.uint64]]:
    """By rule, the digest of each row's block under the rule of its set, and its tags for the others."""
    own = digests[rule][order]
    return {
        name: own if name == rule else tags(own, digest[order], signer.key(Purpose.TAG, name, rule), signer.suite)
        for name, digest in digests.items()
    }


def tags(
    block: NDArray[np.uint64], other: NDArray[np.uint64], key: bytes, suite: Suite = Suite.DEFAULT
) -> NDArray[np.uint64]:
    """Tag of every row of a rule for another rule.

    Parameters
    ----------
    block
        Digest of the row's block.
    other
        Digest of its blocking key under the other rule, ``NO_KEY`` where it has none.
    key
        32 bytes, of the two rules.
    suite
        Decides the function.

    Returns
    -------
    ndarray of uint64
        The first 8 bytes of AES-256 of both digests, little-endian, or of CMAC in the approved suite; ``NO_KEY`` where
        the row has no such key.
    """
    both = np.stack([block, other], axis=1).astype("<u8")
    pseudo_random(key, both, suite)
    made = np.where(both[:, 0] == NO_KEY, np.uint64(INSTEAD_OF_ZERO), both[:, 0])
    return np.where(other == NO_KEY, np.uint64(NO_KEY), made)
