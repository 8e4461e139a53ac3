"""Whether the counts determine the parameters.

One field alone never does: its levels are distributed as p m + (1 - p) u, and any split of that mixture fits as
well. Two fields determine m and p when u is known, but not when u is estimated from the same pairs: the
table of two fields minus the product of its margins is p / (1 - p) times an outer product, which fixes m - r up to
a factor only. Three fields do, unless some of them are constant or the match class is the same as the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gemel.carole.fellegi_sunter.settings import FieldLevels, U
from gemel.common.errors import ErrorCode, GemelError


def informative_fields(counts: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Fields that take at least two levels; `counts` has shape (n_fields, n_levels)."""
    return np.asarray((counts > 0).sum(axis=1) >= 2)


def why_not_identified(fields: Sequence[FieldLevels], counts: NDArray[np.float64], u: U) -> str | None:
    """Reason why these counts cannot determine the parameters, or None.

    Parameters
    ----------
    fields : sequence of FieldLevels
    counts : ndarray of float64, shape (n_fields, n_levels)
        Pairs compared, by level.
    u : {"all_pairs", "corrected", "free"}

    Returns
    -------
    str or None
    """
    informative = informative_fields(counts)
    names = [field.name for field, useful in zip(fields, informative, strict=True) if useful]
    if not names:
        return "not identifiable: no field takes two levels, so nothing distinguishes matches from other pairs"
    if len(names) == 1:
        q = int(np.flatnonzero(informative)[0])
        kind = "binary field" if fields[q].n_levels == 2 else "field"
        return (
            f"not identifiable from one {kind} ({names[0]}): only the mixture p m + (1 - p) u is, "
            "and any split of it fits as well"
        )
    if len(names) == 2 and u != "all_pairs":
        return (
            f"not identifiable from two fields ({names[0]}, {names[1]}) when u is estimated from the same pairs: "
            "p and m trade off against u"
        )
    return None


def not_identified(reason: str) -> GemelError:
    """The error that refuses a model, with its remedy."""
    return GemelError(
        ErrorCode.NOT_IDENTIFIED,
        reason,
        where="model",
        remedy="compare more fields (three or more), or with two fields set model.u to all_pairs",
    )
