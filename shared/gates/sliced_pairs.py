"""Pairs of shared rows, bit-sliced field by field where a circuit needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.common.signatures.row_words import WORD_BITS, RowWords
from gemel.shared.gates.bit_slices import difference_slices, slices_of
from gemel.shared.gates.gates import Shared

Pairs = NDArray[np.int64]


@dataclass(frozen=True)
class SlicedPairs:
    """Pairs of rows, of which slices are made where they are needed; n pairs are `words` words of a slice."""

    rows_a: Shared
    rows_b: Shared
    pair_a: Pairs
    pair_b: Pairs
    layout: RowWords

    @property
    def n(self) -> int:
        """Number of pairs."""
        return len(self.pair_a)

    @property
    def words(self) -> int:
        """Words of a slice."""
        return -(-self.n // WORD_BITS)

    def differences(self, field_a: str, field_b: str) -> Shared:
        """Disagreeing bits of a field of A and one of B; shape (shares, bits, words)."""
        return self._differences(self.layout.signature(field_a), self.layout.signature(field_b))

    def tag_differences(self, rule: str) -> Shared:
        """Disagreeing bits of a rule's tags; shape (shares, 64, words)."""
        word = self.layout.tag(rule)
        return self._differences(slice(word, word + 1), slice(word, word + 1))

    def presence(self, names: Sequence[str]) -> tuple[Shared, Shared]:
        """Presence bits of fields in A and in B; each of shape (shares, len(names), words)."""
        places = [WORD_BITS * word + bit for word, bit in map(self.layout.presence, names)]
        in_a, in_b = (
            slices_of(np.take(rows[:, :, : self.layout.presence_words], pairs, axis=1))[:, places]
            for rows, pairs in ((self.rows_a, self.pair_a), (self.rows_b, self.pair_b))
        )
        return in_a, in_b

    def _differences(self, words_a: slice, words_b: slice) -> Shared:
        return difference_slices(self.rows_a, self.rows_b, self.pair_a, self.pair_b, words_a, words_b)
