"""A contribution of mode block_keyed whose sets are in memory: of a linkage in one process, benchmarks and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.run.contribution import Contribution
from gemel.common.signatures.signature_sets import SignatureSet, layout_of


@dataclass(frozen=True)
class HeldSet:
    """A set by itself; a reference to it is the set."""

    part: SignatureSet

    def read(self) -> SignatureSet:
        """The set itself."""
        return self.part

    def digests(self) -> NDArray[np.uint64]:
        """The set's own."""
        return self.part.blocks[self.part.rule]

    def require(self) -> None:
        """It is here."""


class HeldSets:
    """Sets that are in memory."""

    def __init__(self, sets: Sequence[SignatureSet], n_records: int) -> None:
        self._sets = tuple(sets)
        self.layout = layout_of(self._sets, n_records)

    def read(self, number: int) -> SignatureSet:
        """The set itself."""
        return self._sets[number]

    def digests(self, number: int) -> NDArray[np.uint64]:
        """The set's own."""
        return self.reference(number).digests()

    def reference(self, number: int) -> HeldSet:
        """What `read` gives."""
        return HeldSet(self.read(number))


def contribution_of(sets: Sequence[SignatureSet], n_records: int) -> Contribution:
    """A contribution whose sets are in memory."""
    return Contribution(HeldSets(sets, n_records))
