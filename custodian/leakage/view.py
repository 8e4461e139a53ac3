"""What the linkage unit holds of one field: distinct signatures, which rows have them, and what follows from these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.common.signatures import FieldSignatures


@dataclass(frozen=True)
class FieldView:
    """One field as its attacker sees it.

    Attributes
    ----------
    signatures : ndarray of uint64, shape (n_values, bits // 64)
    counts : ndarray of int64, shape (n_values,)
        Rows that have each.
    randomised_response : float
        Probability with which each bit was inverted by the custodian (randomised response); public.
    """

    signatures: NDArray[np.uint64]
    counts: NDArray[np.int64]
    randomised_response: float = 0.0

    @classmethod
    def of(cls, field: FieldSignatures, randomised_response: float = 0.0) -> FieldView:
        """The view of one field of a signature set."""
        return cls(field.signatures, value_counts(field), randomised_response)

    @property
    def bits(self) -> int:
        """Length of a signature."""
        return int(self.signatures.shape[1]) * 64

    @property
    def n_values(self) -> int:
        """Distinct signatures."""
        return len(self.counts)

    @property
    def noise(self) -> float:
        """Variance of an estimated similarity, at most."""
        return 1.0 / (self.bits * (1.0 - 2.0 * self.randomised_response) ** 4)

    def commonest_first(self) -> NDArray[np.int64]:
        """The values by their counts."""
        return np.argsort(-self.counts, kind="stable")

    def centred_bits(self, chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        """Bits of some signatures as +1 and -1, shape (n_chosen, bits): their inner products are similarities."""
        unpacked = np.unpackbits(self.signatures[chosen].astype("<u8", copy=False).view(np.uint8), axis=1)
        return unpacked.astype(np.float32) * 2 - 1

    def similarity(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Estimated Jaccard similarity of some signatures with others, unbiased and so not clipped.

        A bit of two values agrees with probability (1 + J)/2, so the mean product of centred bits estimates J; with
        bits inverted at a rate r it estimates (1 - 2r)^2 J.
        """
        scale = np.float32(self.bits * (1.0 - 2.0 * self.randomised_response) ** 2)
        similar: NDArray[np.float32] = self.centred_bits(rows) @ self.centred_bits(columns).T / scale
        return similar

    def similarity_within(self, groups: NDArray[np.int64]) -> NDArray[np.float32]:
        """Estimated similarities within groups of n signatures; of shape (n_groups, n), they give (n_groups, n, n)."""
        scale = np.float32(self.bits * (1.0 - 2.0 * self.randomised_response) ** 2)
        bits = self.centred_bits(groups.ravel()).reshape(*groups.shape, self.bits)
        similar: NDArray[np.float32] = bits @ bits.swapaxes(-1, -2) / scale
        return similar


def value_counts(field: FieldSignatures) -> NDArray[np.int64]:
    """Rows that have each distinct signature, shape (n_distinct,)."""
    held = field.codes[field.codes >= 0]
    return np.bincount(held, minlength=field.n_distinct).astype(np.int64)
