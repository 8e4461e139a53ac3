"""A committed contribution of mode block_keyed, and its sets one by one, read here or by another process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from gemel.carole.store.payloads.payload_reader import PayloadReader
from gemel.carole.store.payloads.payload_reference import PayloadReference
from gemel.carole.store.payloads.payload_source import provided
from gemel.common.signatures.layout import Layout, SetLayout
from gemel.common.signatures.payload import set_from_bytes
from gemel.common.signatures.signature_sets import SignatureSet


@dataclass(frozen=True)
class StoredContribution:
    """A committed contribution: the sizes of its arrays, and a reader of its bytes (`common.signatures.payload`)."""

    layout: Layout
    payload: PayloadReader

    def read(self, number: int) -> SignatureSet:
        """Decrypt and check one set; VAULT, UPLOAD_CORRUPT if it has changed on the disk."""
        return self.reference(number).read()

    def digests(self, number: int) -> NDArray[np.uint64]:
        """The digests of the blocks of a set's rows: nothing else of it is read, as far as chunks allow."""
        return self.reference(number).digests()

    def reference(self, number: int) -> StoredSet:
        """A set, read by this reader; sent to another process, by that process's own."""
        return StoredSet(self.layout.sets[number], self._starts[number], self.payload)

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((part.total_bytes for part in self.layout.sets), initial=0))


@dataclass(frozen=True)
class StoredSet:
    """A set of a stored contribution, and a reader of its bytes: the one, or what stands for it elsewhere.

    Attributes
    ----------
    layout, start
        Its sizes, and the place of its first byte in the payload.
    payload
        The reader.
    """

    layout: SetLayout
    start: int
    payload: PayloadReader

    def read(self) -> SignatureSet:
        """Decrypt and check it; VAULT, UPLOAD_CORRUPT if it has changed on the disk."""
        return set_from_bytes(self.layout, self.payload.read(self.start, self._stop))

    def digests(self) -> NDArray[np.uint64]:
        """The digests of the blocks of its rows."""
        part = self.layout
        start = self.start + part.fields_bytes + 8 * part.rows * part.blocks.index(part.rule)
        return np.frombuffer(self.payload.read(start, start + 8 * part.rows), dtype="<u8").astype(np.uint64)

    def require(self) -> None:
        """Nothing: its reader has the key."""

    @property
    def _stop(self) -> int:
        return self.start + self.layout.total_bytes

    def __reduce__(self) -> tuple[object, ...]:
        return SetElsewhere, (self.layout, self.start, self.payload.reference(self.start, self._stop))


@dataclass(frozen=True)
class SetElsewhere:
    """What a `StoredSet` is in another process: read by that one's own key and blobs, when it is read."""

    layout: SetLayout
    start: int
    reference: PayloadReference

    def read(self) -> SignatureSet:
        """As `StoredSet.read`; errors of `PayloadSource.reader` too."""
        return self._here.read()

    def digests(self) -> NDArray[np.uint64]:
        """As `StoredSet.digests`."""
        return self._here.digests()

    def require(self) -> None:
        """As `PayloadSource.require`."""
        provided().require(self.reference)

    @property
    def _here(self) -> StoredSet:
        return StoredSet(self.layout, self.start, provided().reader(self.reference))
