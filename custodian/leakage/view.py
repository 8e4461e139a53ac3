"""What the linkage unit holds of one field: distinct signatures, which rows have them, and what follows from these."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from gemel.common.arrays import F32, F64, I64, U64
from gemel.common.errors import GemelError, parameter
from gemel.common.signatures.signature_sets import FieldSignatures
from gemel.custodian.leakage.recovery import UNKNOWN
from gemel.custodian.tokens import tokenise


@dataclass(frozen=True)
class FieldView:
    """One field as its attacker sees it: `signatures`, shape (n_values, bits // 64), and the rows that have each.

    `randomised_response` is the public probability with which each bit was inverted by the custodian.
    """

    signatures: U64
    counts: I64
    randomised_response: float = 0.0

    @classmethod
    def of(cls, field: FieldSignatures, randomised_response: float = 0.0) -> FieldView:
        return cls(field.signatures, value_counts(field), randomised_response)

    @property
    def bits(self) -> int:
        return int(self.signatures.shape[1]) * 64

    @property
    def n_values(self) -> int:
        return len(self.counts)

    @property
    def noise(self) -> float:
        """Variance of an estimated similarity, at most."""
        return 1.0 / (self.bits * (1.0 - 2.0 * self.randomised_response) ** 4)

    def commonest_first(self) -> I64:
        return np.argsort(-self.counts, kind="stable")

    def centred_bits(self, chosen: I64) -> F32:
        """Bits of some signatures as +1 and -1, shape (n_chosen, bits): their inner products are similarities."""
        unpacked = np.unpackbits(self.signatures[chosen].astype("<u8", copy=False).view(np.uint8), axis=1)
        return unpacked.astype(np.float32) * 2 - 1

    def similarity(self, rows: I64, columns: I64) -> F32:
        """Estimated Jaccard similarity of some signatures with others, unbiased and so not clipped.

        A bit of two values agrees with probability (1 + J)/2, so the mean product of centred bits estimates J; with
        bits inverted at a rate r it estimates (1 - 2r)^2 J.
        """
        scale = np.float32(self.bits * (1.0 - 2.0 * self.randomised_response) ** 2)
        return self.centred_bits(rows) @ self.centred_bits(columns).T / scale

    def similarity_within(self, groups: I64) -> F32:
        """Estimated similarities within groups of n signatures; of shape (n_groups, n), they give (n_groups, n, n)."""
        scale = np.float32(self.bits * (1.0 - 2.0 * self.randomised_response) ** 2)
        bits = self.centred_bits(groups.ravel()).reshape(*groups.shape, self.bits)
        return bits @ bits.swapaxes(-1, -2) / scale


def value_counts(field: FieldSignatures) -> I64:
    """Rows that have each distinct signature, shape (n_distinct,)."""
    held = field.codes[field.codes >= 0]
    return np.bincount(held, minlength=field.n_distinct).astype(np.int64)


OVERDISPERSION = 3.0
"""Variance of a value's count over its mean: families share names, and public counts are of other people."""


def frequency_alignment(view: FieldView, public: PublicValues) -> I64:
    """Public value for each signature by rank alone, ``UNKNOWN`` after the dictionary's end.

    The likeliest assignment one to one when counts are all that is known: counts and expected counts are both sorted,
    since exchanging two claims that are out of order never lowers the likelihood of independent Poisson counts.
    """
    guesses = np.full(view.n_values, UNKNOWN, dtype=np.int64)
    order = view.commonest_first()[: len(public)]
    guesses[order] = np.arange(len(order))
    return guesses


def count_fit(counts: I64, expected: F64) -> F64:
    r"""Log-likelihood of each count under each expected one, up to a constant, shape (n_counts, n_expected).

    :math:`-2(\sqrt{c} - \sqrt{\lambda})^2/\phi`: the square root of a count has a variance of a quarter (times
    `OVERDISPERSION`) whatever its mean.
    """
    difference = np.sqrt(counts)[:, None] - np.sqrt(expected)[None, :]
    return -2.0 * difference**2 / OVERDISPERSION


# What an attacker takes of a field from a census, a telephone book, or a file of her own: nothing here is secret.

PUBLIC_KEY = bytes(32)  # similarity does not depend on it


class PublicValues:
    """A dictionary with counts, commonest first.

    `values` are cleaned as the field's are, each once, none empty; `counts` are positive, in any unit; `similar` are
    the values that are cut into tokens (default: all); any other is a code and similar to none. Raises `GemelError`:
    PARAMETER if there is no value, a value comes twice or has no tokens, or a count is not positive.
    """

    def __init__(
        self,
        values: Sequence[str],
        counts: ArrayLike,
        tokenisation: str = "bigrams",
        similar: Collection[str] | None = None,
    ) -> None:
        numbers = np.asarray(counts, dtype=np.float64)
        if len(values) == 0 or numbers.shape != (len(values),):
            raise _refused("a count per value, and at least one", f"{len(values)} values, {numbers.size} counts")
        if not (np.isfinite(numbers).all() and (numbers > 0).all()):
            raise _refused("positive counts", f"{int((~(numbers > 0)).sum())} others")
        if len(set(values)) != len(values):
            raise _refused("each value once", f"{len(values) - len(set(values))} repeated")
        order = np.argsort(-numbers, kind="stable")
        self.values = [values[place] for place in order]
        self.shares: F64 = numbers[order] / numbers.sum()
        self.tokenisation = tokenisation
        self.similar = similar
        tokens = tokenise(self.values, tokenisation, PUBLIC_KEY, similar)
        if (tokens.counts == 0).any():
            raise _refused("values that have tokens", f"{int((tokens.counts == 0).sum())} without")
        kinds, places = np.unique(tokens.codes, return_inverse=True)
        ones = np.ones(len(places), dtype=np.float32)
        self.tokens = sparse.csr_matrix((ones, places, tokens.offsets), shape=(len(values), len(kinds)))
        self.sizes = tokens.counts.astype(np.float32)

    def __len__(self) -> int:
        return len(self.values)

    def similarity(self, rows: I64, columns: I64) -> F32:
        """Jaccard similarity of the tokens of any values with any others, shape (n_rows, n_columns)."""
        common = np.asarray((self.tokens[rows] @ self.tokens[columns].T).todense(), dtype=np.float32)
        union = self.sizes[rows][:, None] + self.sizes[columns][None, :] - common
        return common / union

    @property
    def listed(self) -> I64:
        """Places of the values that show their similarity."""
        if self.similar is None:
            return np.arange(len(self))
        return np.flatnonzero([value in self.similar for value in self.values])

    def places(self, values: Sequence[str | None]) -> I64:
        """Where each value is in the dictionary, `UNKNOWN` where it is not."""
        place: dict[str | None, int] = {value: index for index, value in enumerate(self.values)}
        return np.array([place.get(value, UNKNOWN) for value in values], dtype=np.int64)


def _refused(what: str, got: str) -> GemelError:
    return parameter("public values", f"a public dictionary has {what}", got)
