"""The rows of one custodian's sets, for one compute party: one set at a time, and which values the rows have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemel.common.sharing.gates import Shared
from gemel.common.sharing.pair_levels import presence_of_rows
from gemel.common.signatures.layout import SetLayout
from gemel.common.signatures.party_sets import PartyContribution


class SetRows:
    """Reads a contribution's sets for as long as their pairs are compared.

    Parameters
    ----------
    part : PartyContribution
    names : sequence of str
        Compared fields, in their order: of the rows of the largest rule the presence of their values is kept.
    """

    def __init__(self, part: PartyContribution, names: tuple[str, ...]) -> None:
        self._part, self._names = part, names
        self._newest: tuple[int, Shared, NDArray[np.uint64]] | None = None
        self._largest = part.sets_of(part.largest_rule)
        self._present: dict[int, Shared] = {}

    def of(self, number: int) -> tuple[Shared, NDArray[np.uint64]]:
        """Shares of a set's rows, and the digests of their blocks; the set before it is given up."""
        if self._newest is None or self._newest[0] != number:
            self._newest = None
            rows = self._part.rows(number)
            self._newest = number, rows, self._part.digests(number)
        rows, digests = self._newest[1:]
        if number in self._largest and number not in self._present:
            self._present[number] = presence_of_rows(
                rows, self._part.words(number), shared_names(self.layout, self._names)
            )
        return rows, digests

    @property
    def layout(self) -> SetLayout:
        """Of the largest rule's first set: its fields are the same in each."""
        return self._part.sets[self._largest.start]

    def presence(self) -> Shared:
        """Of all rows of the largest rule which shared fields have a value: shape (2, n_rows, 1), by `shared_names`."""
        for number in self._largest:
            if number not in self._present:
                self.of(number)
        return np.concatenate([self._present[number] for number in self._largest], axis=1)


def shared_names(layout: SetLayout, names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of some fields that are shared in a set."""
    shared = {field.name for field in layout.fields if field.content == "shared"}
    return tuple(name for name in names if name in shared)


def values_there(words: NDArray[np.uint64], layout: SetLayout, names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Which values rows have, from opened words of presence: bool, shape (n_rows, n_fields).

    Parameters
    ----------
    words
        uint64, shape (n_rows, 1): a bit for each of `shared_names`.
    layout
        Of the rows' sets.
    names
        The compared fields. One that the rule fixes is there in every row, one that it withholds in none.
    """
    shared = shared_names(layout, names)
    content = {field.name: field.content for field in layout.fields}
    there = np.empty((len(words), len(names)), dtype=np.bool_)
    for q, name in enumerate(names):
        if name in shared:
            there[:, q] = words[:, 0] >> np.uint64(shared.index(name)) & np.uint64(1)
        else:
            there[:, q] = content[name] == "fixed"
    return there
