"""What is publicly known of a field's values: which there are, how common each is, how similar any two are.

An attacker takes it from a census, a telephone book, or a file of her own. Nothing here is secret.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from gemel.common.errors import GemelError, parameter
from gemel.custodian.tokens import tokenise

_PUBLIC_KEY = bytes(32)  # similarity does not depend on it


class PublicValues:
    """A dictionary with counts, commonest first.

    Parameters
    ----------
    values
        Cleaned as the field's values are, each once, none empty.
    counts
        How common each is, in any unit, positive.
    tokenisation
        The field's, for the similarities.
    similar
        The values that are cut into tokens; any other is sent as a code and similar to none. Default: all are.

    Raises
    ------
    GemelError
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
        self.shares: NDArray[np.float64] = numbers[order] / numbers.sum()
        self.tokenisation = tokenisation
        self.similar = similar
        tokens = tokenise(self.values, tokenisation, _PUBLIC_KEY, similar)
        if (tokens.counts == 0).any():
            raise _refused("values that have tokens", f"{int((tokens.counts == 0).sum())} without")
        kinds, places = np.unique(tokens.codes, return_inverse=True)
        ones = np.ones(len(places), dtype=np.float32)
        self.tokens = sparse.csr_matrix((ones, places, tokens.offsets), shape=(len(values), len(kinds)))
        self.sizes = tokens.counts.astype(np.float32)

    def __len__(self) -> int:
        return len(self.values)

    def similarity(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Jaccard similarity of the tokens of any values with any others, shape (n_rows, n_columns)."""
        common = np.asarray((self.tokens[rows] @ self.tokens[columns].T).todense(), dtype=np.float32)
        union = self.sizes[rows][:, None] + self.sizes[columns][None, :] - common
        similar: NDArray[np.float32] = common / union
        return similar

    @property
    def listed(self) -> NDArray[np.int64]:
        """Places of the values that show their similarity."""
        if self.similar is None:
            return np.arange(len(self))
        return np.flatnonzero([value in self.similar for value in self.values])

    def places(self, values: Sequence[str]) -> NDArray[np.int64]:
        """Where each value is in the dictionary, -1 where it is not."""
        place = {value: index for index, value in enumerate(self.values)}
        return np.array([place.get(value, -1) for value in values], dtype=np.int64)


def _refused(what: str, got: str) -> GemelError:
    return parameter("public values", f"a public dictionary has {what}", got)
