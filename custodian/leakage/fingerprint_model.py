r"""How much the fingerprint of two encoded rows speaks for two people in clear: a likelihood ratio.

For two rows of a block with estimated similarities q and two people with similarities p the evidence, in nats, is

.. math:: \sum_f \log P(q_f \mid p_f) - \log P_0(q),

where a similarity is normal about the true one with the variance of its signature, equality is certain for equal
values and as likely for others as that all bits agree, and :math:`P_0` is how often two rows of any block look like
this: the share of pairs with the same fields equal and missing, times the density of each other similarity. The share
is a joint one since relatives and households are equal in several fields at once. Where several pairs of a block are of
the same two signatures, their similarity is one draw of the noise, and counts once in all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.custodian.leakage.pairs import ABSENT, ABSENT_BIN, BINS, EQUAL, EQUAL_BIN, Fingerprints

UNLIKE = -12.0
"""Least evidence of a field, and of a pair: a register may be wrong, or older."""

_LOW, _HIGH = -1.0, 1.25  # an estimate's range that is tabulated
_SQUARE_ROOT = 0.5 * np.log(2 * np.pi)
_FEWEST = 0.05  # of the variance: of nearly equal values few bits differ, and these few are no normal noise


@dataclass(frozen=True)
class FingerprintModel:
    """The noise of each field's similarities, and how common each fingerprint is.

    Attributes
    ----------
    bits, scale : ndarray of float64, shape (n_fields,)
        Of the signatures; and what randomised response leaves of a similarity, (1 - 2r)^2.
    half, level : ndarray of float64, shape (n_fields, BINS + 1)
        By field and true similarity: half the precision of an estimate, and the log density at its mean.
    background : ndarray of float64, shape (n_fields, n_bins)
        Log density of an estimate where values differ.
    patterns : ndarray of int64, ascending; shares : ndarray of float64
        Which fields are equal and which are missing, in base 3, and the log share of the pairs of which that is so.
    """

    bits: NDArray[np.float64]
    scale: NDArray[np.float64]
    half: NDArray[np.float64]
    level: NDArray[np.float64]
    background: NDArray[np.float64]
    patterns: NDArray[np.int64]
    shares: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        bits: NDArray[np.float64],
        randomised_response: NDArray[np.float64],
        clear: Fingerprints,
        seen: Fingerprints,
    ) -> FingerprintModel:
        """The model of some fields.

        Parameters
        ----------
        bits, randomised_response : ndarray of float64, shape (n_fields,)
            Public, of each field.
        clear
            Pairs of people of such blocks, from whom the attacker knows how similar people are.
        seen
            The encoded pairs, which show how often fields are equal or missing.
        """
        scale = (1.0 - 2.0 * randomised_response) ** 2
        truly = np.arange(BINS + 1) / BINS
        variance = np.maximum(1.0 - (scale[:, None] * truly) ** 2, _FEWEST) / (bits * scale**2)[:, None]
        half, level = 0.5 / variance, -0.5 * np.log(variance) - _SQUARE_ROOT
        density = []
        width = max(1e-3, 0.25 * float(np.sqrt(variance.min())))
        edges = np.arange(_LOW, _HIGH + width, width)
        middle = 0.5 * (edges[1:] + edges[:-1])
        for field in range(len(bits)):
            p = clear.similar[:, field]
            held = np.bincount(np.rint(p[(p >= 0) & (p < EQUAL)] * BINS).astype(np.int64), minlength=BINS + 1)
            weight = held + 1e-3 * held.sum() / (BINS + 1) + 1e-3
            there = np.exp(level[field][:, None] - half[field][:, None] * (middle - truly[:, None]) ** 2)
            density.append(np.log((weight / weight.sum()) @ there + 1e-9))
        both = np.concatenate([pattern_of(clear.similar), pattern_of(seen.similar)])
        patterns, counts = np.unique(both, return_counts=True)
        return cls(bits, scale, half, level, np.stack(density), patterns, np.log(counts / max(1, len(both))))

    def evidence(self, seen: Fingerprints) -> NDArray[np.float32]:
        """The evidence of encoded pairs for every similarity in clear that each field may have.

        Returns
        -------
        ndarray of float32, shape (n_pairs, n_fields, BINS + 3)
            By encoded pair, field and class of similarity (`Fingerprints.binned`), in nats; the surprise of the pair is
            in the first field. The evidence for a pair in clear is the sum over the fields, `UNLIKE` at least.
        """
        n_pairs, n_fields = seen.similar.shape
        found = np.full((n_pairs, n_fields, BINS + 3), UNLIKE, dtype=np.float32)
        truly = np.arange(BINS + 1) / BINS
        for field in range(n_fields):
            q = seen.similar[:, field]
            absent, equal = q == ABSENT, q == EQUAL
            differ = ~(absent | equal)
            apart = q[differ, None] - truly
            near = self.level[field] - self.half[field] * apart**2
            once = _times(seen, field)[differ, None]
            found[differ, field, : BINS + 1] = np.maximum(UNLIKE, near) / once
            found[equal, field, : BINS + 1] = np.maximum(UNLIKE, self.bits[field] * np.log(0.5 + 0.5 * truly))
            found[equal, field, EQUAL_BIN] = 0.0
            found[absent, field, ABSENT_BIN] = 0.0
        found[:, 0] += self.surprise(seen)[:, None].astype(np.float32)
        return found

    def surprise(self, seen: Fingerprints) -> NDArray[np.float64]:
        """Minus the log probability of each encoded pair's fingerprint among all pairs, shape (n_pairs,)."""
        place = np.searchsorted(self.patterns, pattern_of(seen.similar))
        total = -self.shares[place]
        bins = self.background.shape[1]
        for field in range(seen.similar.shape[1]):
            q = seen.similar[:, field]
            here = (q != ABSENT) & (q != EQUAL)
            at = np.clip(((q[here] - _LOW) / (_HIGH - _LOW) * bins).astype(np.int64), 0, bins - 1)
            total[here] -= self.background[field][at] / _times(seen, field)[here]
        return total


def _times(seen: Fingerprints, field: int) -> NDArray[np.float32]:
    return np.ones(len(seen.one), dtype=np.float32) if seen.times is None else seen.times[:, field]


def pattern_of(similar: NDArray[np.float32]) -> NDArray[np.int64]:
    """Which fields of each pair are equal, and which missing, as a number in base 3; shape (n_pairs,)."""
    digit = np.where(similar == ABSENT, 2, np.where(similar == EQUAL, 1, 0)).astype(np.int64)
    powers: NDArray[np.int64] = 3 ** np.arange(similar.shape[1], dtype=np.int64)
    return digit @ powers
