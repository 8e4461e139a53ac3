r"""How often the values of a field repeat in a file larger than a sample: the urn of Ewens and Pitman.

The urn [1]_ begins with the sample. In row :math:`m`, when :math:`K` values have been seen, a record has a new value
with probability :math:`(\theta + dK)/(\theta + m)`, and one that :math:`c` rows have with probability :math:`(c -
d)/(\theta + m)`. With :math:`0 < d < 1` rare values never end, as of names; with :math:`d < 0` there are
:math:`-\theta/d` values in all, as of days.

Two numbers of the sample determine :math:`d` and :math:`\theta`: the next row is new with the probability by Good [2]_,
the share of rows whose value no other row has; and two further rows agree as often as two of the sample do. The first
decides how many values there will be, the second how many rows the block of a row has.

References
----------
.. [1] Pitman, Probability Theory and Related Fields 102, 1995. doi:10.1007/BF01213386
.. [2] Good, Biometrika 40, 1953. doi:10.1093/biomet/40.3-4.237
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

MIN_DISCOUNT = -50.0
"""Smallest `discount`; values are then nearly equally common."""
_STEPS = 60


@dataclass(frozen=True)
class ValueUrn:
    """An urn."""

    discount: float
    strength: float

    @classmethod
    def fitted(cls, counts: NDArray[np.int64]) -> ValueUrn:
        """The urn that a sample was drawn from, given how many rows each of its values has, none 0."""
        n, n_values = int(counts.sum()), len(counts)
        # As if one row repeated a value: where none does, the sample shows that few do, and not that none would.
        alone = min(int((counts == 1).sum()), n - 1)
        agree = float((counts * (counts - 1.0)).sum()) / max(1.0, n * (n - 1.0))

        def urn(discount: float) -> ValueUrn:
            return cls(discount, max((alone - discount * n_values) / (1 - alone / n), 1e-9 - discount))

        low, high = MIN_DISCOUNT, alone / n_values * 0.999 if alone else 0.0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if urn(middle).agreement(counts) < agree:
                low = middle
            else:
                high = middle
        return urn((low + high) / 2)

    def agreement(self, counts: NDArray[np.int64]) -> float:
        """Probability that two further rows agree, after a sample with such counts."""
        d, theta, n = self.discount, self.strength, float(counts.sum())
        seen = float(((counts - d) * (counts - d + 1)).sum())
        unseen = max(0.0, theta + d * len(counts)) * (1 - d)
        return (seen + unseen) / ((n + theta) * (n + theta + 1))

    def drawn(self, codes: NDArray[np.int64], n_rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw further rows.

        Parameters
        ----------
        codes : ndarray of int64, shape (n,)
            Value of each row of the sample, from 0, each number there.
        n_rows
            Rows altogether.
        rng
            Draws them.

        Returns
        -------
        ndarray of int64, shape (n_rows,)
            For each row one before it with the same value; the row itself if the value is new, or it is the sample's.

        Notes
        -----
        O(n_rows); 30 milliseconds for a million rows.
        """
        found: NDArray[np.int64] = _drawn(codes, n_rows, self.discount, self.strength, rng)
        return found


@numba.njit(cache=True)
def _drawn(
    codes: NDArray[np.int64], n_rows: int, discount: float, strength: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    before = np.arange(n_rows)
    value, count, first = np.empty(n_rows, np.int64), np.zeros(n_rows, np.int64), np.empty(n_rows, np.int64)
    n_values = 0
    for row in range(len(codes)):
        value[row] = codes[row]
        if count[codes[row]] == 0:
            first[codes[row]] = row
            n_values += 1
        count[codes[row]] += 1
    for row in range(len(codes), n_rows):
        if rng.random() * (strength + row) < strength + discount * n_values:
            value[row], first[n_values], count[n_values] = n_values, row, 1
            n_values += 1
            continue
        if discount < 0 and rng.random() * (row - discount * n_values) >= row:
            source = first[int(rng.random() * n_values)]
        else:
            source = int(rng.random() * row)
            # Any row's value with probability c; kept, it is drawn with probability c - d.
            while discount > 0 and rng.random() * count[value[source]] < discount:
                source = int(rng.random() * row)
        before[row], value[row] = source, value[source]
        count[value[row]] += 1
    return before
