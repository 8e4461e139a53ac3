r"""A file at the size it may grow to, made of a smaller one, for what depends on the rows per block.

The fields fall into groups that depend on each other, as given name and sex do, or street, town and postcode. Each new
record takes every group from a record before it, so that what is common in the sample stays as common, what depends
stays dependent, and combinations of independent groups arise that the sample has no two rows of.

A larger file also has values that the sample lacks: nearly all telephone numbers, and most days of birth. The field
with the most values in a group takes a new value as often as an urn finds from the sample. A file ten times as
large would otherwise have ten rows of each telephone number, and the gate would refuse rules for blocks that no true
file has (`python -m benchmarks growth`). A new value is the first half of one value with the second half of another, so
that its first characters, its length and its similarities are like those of the others.

How often the values of a field repeat in a file larger than a sample: the urn of Ewens and Pitman.

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

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numba
import numpy as np
import polars as pl
from numpy.typing import NDArray

MIN_DISCOUNT = -50.0
"""Smallest `discount`; values are then nearly equally common."""
_STEPS = 60


@dataclass(frozen=True)
class ValueUrn:
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
        """For each of `n_rows` rows one before it with the same value, or itself: of a new value, or the sample's.

        `codes` are the values of the sample's rows, numbers from 0, each of them there. O(n_rows); 30 milliseconds for
        a million rows.
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


DEPENDENT = 1.2
"""Two fields are dependent if pairs of records agree on both so many times more often than if they were not."""
PAIRS = 400_000
"""Random pairs of records from which it is counted."""
FEW = 10
"""Pairs that agree on both fields that show a dependence."""
BEGINNING = 3
"""Characters of a value, at least, that a new value takes from one: keys of drafted rules have as many."""
DRAWS = (BEGINNING, BEGINNING, BEGINNING, 1, 1, 1)
"""The same at each draw of a value until no other row has it: short codes that begin so may all be taken."""


def grown(columns: Mapping[str, pl.Series], n_rows: int, rng: np.random.Generator) -> dict[str, pl.Series]:
    """A file of `n_rows` records with the shares and dependences of a smaller one, its values and further ones.

    `columns` are cleaned values by field, null where missing; returned as they are if the file has so many records.
    O(n_rows) for each field.
    """
    n = len(next(iter(columns.values())))
    if n_rows <= n:
        return dict(columns)
    found: dict[str, pl.Series] = {}
    for group in dependent_groups(columns, rng):
        finest = max(group, key=lambda name: columns[name].n_unique())
        before = _rows_before(columns[finest], n_rows, rng)
        # A new value comes with what a record of the sample has in the other fields, and begins like that record's own.
        new = n + np.flatnonzero(before[n:] == np.arange(n, n_rows))
        like = before.copy()
        like[new] = rng.choice(np.flatnonzero(columns[finest].is_not_null().to_numpy()), len(new)) if len(new) else new
        like = _origin(like)
        found |= {name: columns[name].gather(like) for name in group}
        found[finest] = _with_new(columns[finest], _origin(before), like, rng)
    return {name: found[name] for name in columns}


def _rows_before(column: pl.Series, n_rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """For each row one before it with the same value, or itself: those of the sample, and those of a new value."""
    n = len(column)
    filled = column.is_not_null().to_numpy()
    # Of the further rows as many lack a value as of the sample's.
    is_filled = np.concatenate([filled, filled[rng.integers(0, n, n_rows - n)]])
    before = np.arange(n_rows)
    there, lacking = np.flatnonzero(is_filled), np.flatnonzero(~is_filled)
    if len(lacking):
        sampled = np.flatnonzero(~filled)
        before[lacking[len(sampled) :]] = rng.choice(sampled, len(lacking) - len(sampled))
    if filled.any():
        codes = column.drop_nulls().rank("dense").to_numpy().astype(np.int64) - 1
        before[there] = there[ValueUrn.fitted(np.bincount(codes)).drawn(codes, len(there), rng)]
    return before


def _origin(before: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first row of each row's value, given one before it that has the same, or itself."""
    while True:
        further: NDArray[np.int64] = before[before]
        if np.array_equal(further, before):
            return before
        before = further


def _with_new(
    column: pl.Series, origin: NDArray[np.int64], like: NDArray[np.int64], rng: np.random.Generator
) -> pl.Series:
    """The values of a column by the rows they come from; those of no row of the sample begin like that of another."""
    n = len(column)
    new = np.unique(origin[origin >= n])
    if not len(new):
        return column.gather(origin)
    own = column.drop_nulls()
    beginning = column.gather(like[new])
    made, again = beginning, np.arange(len(new))
    for minimum in DRAWS:
        ends = own.gather(rng.integers(0, len(own), len(again)))
        made = made.scatter(again, _joined(beginning.gather(again), ends, minimum))
        taken = made.is_in(own.implode()) | ~made.is_first_distinct()
        again = np.flatnonzero(taken.to_numpy())
    return pl.concat([column, made]).gather(np.where(origin < n, origin, n + np.searchsorted(new, origin)))


def _joined(beginning: pl.Series, end: pl.Series, minimum: int) -> pl.Series:
    """The first half of each value, at least so many characters, with the second half of another."""
    both = pl.DataFrame({"a": beginning, "b": end})
    half_a, half_b = (pl.max_horizontal((pl.col(name).str.len_chars() + 1) // 2, pl.lit(minimum)) for name in "ab")
    return both.select(pl.col("a").str.slice(0, half_a) + pl.col("b").str.slice(half_b))["a"]


def dependent_groups(columns: Mapping[str, pl.Series], rng: np.random.Generator) -> list[list[str]]:
    """Fields that depend on each other, directly or by others, together; the groups in the order of the fields."""
    names, n = list(columns), len(next(iter(columns.values())))
    if n < 2:
        return [names]
    one, other = rng.integers(0, n, (2, PAIRS))
    different = one != other
    agree = {}
    for name, column in columns.items():
        # Missing values are no agreement.
        codes = column.fill_null("").rank("dense").to_numpy()
        filled = column.is_not_null().to_numpy()
        agree[name] = (codes[one] == codes[other]) & filled[one] & filled[other] & different
    group = {name: {name} for name in names}
    for left, right in combinations(names, 2):
        both = int((agree[left] & agree[right]).sum())
        expected = float(agree[left].mean() * agree[right].sum())
        if both >= FEW and both > DEPENDENT * expected + 3 * expected**0.5 and group[left] is not group[right]:
            group[left] |= group[right]
            for name in group[right]:
                group[name] = group[left]
    return [[name for name in names if name in members] for members in {id(g): g for g in group.values()}.values()]
