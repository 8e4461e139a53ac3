"""What the names of relatives are like that they do not share.

A whole name has the family's in it, and so may an e-mail address: those of two of a family are more alike than
strangers' are, and less than one person's. Where the family's name is a field of its own, relatives share that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gemel.carole.fellegi_sunter.settings import FieldLevels
from gemel.common.arrays import F64
from gemel.risk.models.graphs import mask_of, members

FEWEST_SHARED = 3
"""Fields that relatives share: of fewer, coincidences are more."""

ALIKE, WORTH = 0.03, 20.0
"""Share of relatives' names that are alike in part, as is believed; and the pairs that this is worth."""


@dataclass(frozen=True)
class Relatives:
    """Levels of the names that relatives do not share.

    `names`, `ties`: bits of the fields that are alike in part, and of those that relatives share; `first`, `u`
    (float64, shape (n_fields, n_levels)): levels that are believed, and strangers'; `of_kind`: by shared fields, those
    that were found; None where the pairs are strangers'.
    """

    names: int
    ties: int
    first: F64
    u: F64
    of_kind: Mapping[int, F64 | None]

    @classmethod
    def believed(cls, fields: Sequence[FieldLevels], u: F64) -> Relatives:
        """Before any is known: strangers' levels, but for some that are alike in part.

        Of these every level up to half of all is half as frequent as the one below.
        """
        own = [q for q, each in enumerate(fields) if each.describes == "name" and not each.of and each.n_levels > 3]
        names = own if all(each.describes != "family" for each in fields) else []
        ties = [q for q, each in enumerate(fields) if each.describes in ("family", "household") and not each.of]
        first = u.copy()
        for q in names:
            between = np.zeros(u.shape[1])
            between[1 : fields[q].n_levels // 2] = 0.5 ** np.arange(fields[q].n_levels // 2 - 1)
            first[q] = (1.0 - ALIKE) * u[q] + ALIKE * between / between.sum()
        return cls(mask_of(names), mask_of(ties), first, u, {})

    def levels(self, shared: int) -> F64 | None:
        """Levels where two people share these fields; None: they are strangers."""
        if not shared & self.ties or shared.bit_count() < FEWEST_SHARED:
            return None
        return self.of_kind.get(shared, self.first)

    def learnt(self, kinds: Iterable[tuple[int, F64, bool]], fields: Sequence[FieldLevels]) -> Relatives:
        """What pairs of two people show: of each kind the shared fields, pairs by field and level, whether strangers'.

        Relatives are alike in part; who is alike nearly altogether, may be one person with an error. So the upper half
        of the levels stays as strangers have it.
        """
        of_kind: dict[int, F64 | None] = {}
        for shared, levels, strangers in kinds:
            found = levels + WORTH * self.first
            for q in members(self.names):
                half = fields[q].n_levels // 2
                found[q, :half] *= self.u[q, :half].sum() / found[q, :half].sum()
                found[q, half:] = self.u[q, half:]
            of_kind[shared] = None if strangers else found
        return replace(self, of_kind=of_kind)
