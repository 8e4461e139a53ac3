"""Mode shared: the sets of block_keyed with their rows cut into shares, one set after the other.

What `records` makes of a set is kept but its order: rows follow each other by the digests of their blocks, and within a
block in an order that is drawn for each upload, as the seeds and the content key are: two uploads of one file have
their sizes and digests in common, and nothing else. The groups of the samples stay, since only their values compare.
Codes and known values are not shared: they are Carole's, as in block_keyed.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np

from gemel.common.arrays import I64, U8, U64
from gemel.common.signatures.custodian_shares import ShareSecrets, leave_third_share
from gemel.common.signatures.layout import CODES, KNOWN, SAMPLES, SEAL_BYTES, SetLayout
from gemel.common.signatures.party_sets import SharedUpload, check_shared_digests, plain_words, seal_words
from gemel.common.signatures.payload import to_bytes
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import Specification
from gemel.custodian.encoding.expected_layout import shared_layout


@dataclass(frozen=True)
class SharedSet:
    """A set as it is sent: the digests of its rows' blocks, and a sealed share."""

    layout: SetLayout
    digests: U64 = dataclass_field(repr=False)
    sealed: U8 = dataclass_field(repr=False)

    def to_bytes(self) -> Iterator[memoryview]:
        """Its payload, as views."""
        yield memoryview(self.digests.astype("<u8").view(np.uint8).data).toreadonly()
        yield memoryview(self.sealed.data).toreadonly()


SentSet = SignatureSet | SharedSet


class Sharing:
    """Shares the sets of one upload, in their order, by fresh secrets that serve it and no other."""

    def __init__(self, spec: Specification, about: SharedUpload, share_secrets: ShareSecrets) -> None:
        self._spec, self._about, self._secrets = spec, about, share_secrets
        self._number = 0

    def shared(self, part: SignatureSet) -> tuple[SentSet, I64]:
        """The next set as it is sent, its words shared and encrypted in place, and for each of its rows the row of the
        set given.
        """
        number = self._number
        self._number += 1
        if part.rule in (CODES, *KNOWN):
            return part, np.arange(part.n_rows)
        layout = shared_layout(part.layout, self._spec)
        if part.rule == SAMPLES:
            order, digests = np.arange(part.n_rows), np.empty(0, dtype=np.uint64)
        else:
            drawn = np.frombuffer(secrets.token_bytes(8 * part.n_rows), dtype=np.uint64)
            order = np.lexsort([drawn, part.blocks[part.rule]])
            digests = part.blocks[part.rule][order]
            check_shared_digests(digests, part.rule, part.interval)
        words = layout.row_words
        buffer = np.empty(part.n_rows * words.total * 8 + SEAL_BYTES, dtype=np.uint8)
        rows = buffer[:-SEAL_BYTES].view(np.uint64).reshape(part.n_rows, words.total)
        plain_words(part, words, order, rows)
        leave_third_share(rows, self._secrets, number)
        associated = self._about.associated(layout, number, digests)
        seal_words(buffer, self._secrets.by_share[2], number, associated)
        return SharedSet(layout, digests, buffer), order


def sent_bytes(part: SentSet) -> Iterator[memoryview]:
    """The payload of a set, as views."""
    return part.to_bytes() if isinstance(part, SharedSet) else to_bytes([part])
