"""What m of a shared field may be: not what would make relatives one person, round by round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gemel.carole.fellegi_sunter.settings import FieldLevels, MPrior
from gemel.common.arrays import F64

REPLACED = 0.05
"""Share of values replaced at random that m of any field may have."""

NEARLY_ALL = 0.9
"""Share of strangers' pairs at the top level from which a field tells too little for this."""

UNLIKE = 0.4
"""Share of pairs that share a field, of those alike only as strangers often are: no world has more."""

RARE = 0.05
"""Share of strangers' pairs from which a level shows whether values are replaced."""


def held(m: F64, believed: F64, u: F64, fields: Sequence[FieldLevels]) -> F64:
    """m with no field's values replaced at random far more often than in other fields.

    A value that is wrong altogether looks like one that is not shared: the data do not tell an m with more of the first
    from more pairs that lack the field. So a relative's other date of birth could become an error in a person's own,
    round by round. Of each field the part of m that is as strangers' levels is at most `REPLACED`, or twice the median
    of the other fields', or what is believed of it where that is more.
    """
    often, usual = (np.where(u >= RARE, each / np.maximum(u, RARE), np.inf).min(axis=1) for each in (m, believed))
    free = np.array([not field.of and field.n_levels > 1 for field in fields])
    free &= np.isfinite(often) & (u[np.arange(len(u)), [field.n_levels - 1 for field in fields]] < NEARLY_ALL)
    kept = m.copy()
    for q in np.flatnonzero(free).tolist():
        others = free.copy()
        others[q] = False
        most = max(REPLACED, 2.0 * float(np.median(often[others]))) if others.any() else 1.0
        if fields[q].m_prior != MPrior():
            most = max(most, float(usual[q]))
        if often[q] > most:
            kept[q] = (m[q] - (often[q] - most) * u[q]) / (1.0 - (often[q] - most))
    return _alike(kept, believed, u, fields)


def _alike(m: F64, believed: F64, u: F64, fields: Sequence[FieldLevels]) -> F64:
    """m with no more than `UNLIKE` at levels that strangers often reach, the highest aside."""
    kept = m.copy()
    for q, field in enumerate(fields):
        if field.of or field.n_levels < 2:
            continue
        low = u[q][::-1].cumsum()[::-1] >= RARE
        low[field.n_levels - 1 :] = False
        share, most = float(m[q, low].sum()), max(UNLIKE, float(believed[q, low].sum()))
        if share > most:
            kept[q] *= np.where(low, most / share, (1.0 - most) / max(1.0 - share, 1e-300))
    return kept
