"""What can be stated for certain, and of whom: bounds put into sentences about people with given key values."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemel.risk.attribution.cell_bounds import Bounds
from gemel.risk.attribution.release import Release


def statements(release: Release, limits: Bounds, maximum: int = 500) -> dict[str, Any]:
    """Exact attributions that the bounds allow.

    For each sensitive variable, and for each set of key variables (any one of the others, and all of them): the groups
    of people who agree on the keys, are known to exist, and for whom some level is impossible. One possible level left
    is a positive attribution; some ruled out, a negative one.

    Parameters
    ----------
    release, limits
        A release and its bounds. A margin's upper bound is 0 just when those of all its cells are, so base cells do.
    maximum
        Sentences of each kind that are listed; all are counted.
    """
    names = [v.name for v in release.variables]
    upper = np.minimum(limits.upper, 2**31)
    found: dict[str, Any] = {"positive": [], "negative": [], "positive_total": 0, "negative_total": 0}
    for sensitive in range(len(names)):
        others = [a for a in range(len(names)) if a != sensitive]
        sets = {(a,) for a in others} | {tuple(others)}
        for keys in sorted(sets, key=lambda s: (len(s), s)):
            gone = tuple(a for a in others if a not in keys)
            high, low = upper.sum(axis=gone, keepdims=True), limits.lower.sum(axis=gone, keepdims=True)
            high, low = np.moveaxis(high, sensitive, -1), np.moveaxis(low, sensitive, -1)
            possible, anyone = high > 0, low.sum(axis=-1) > 0
            count = possible.sum(axis=-1)
            levels = release.variables[sensitive].levels
            for index in np.argwhere(anyone & (count < len(levels))):
                who = ", ".join(f"{names[a]}={release.variables[a].levels[index[others.index(a)]]}" for a in keys)
                mask = possible[tuple(index)]
                kind = "positive" if mask.sum() == 1 else "negative"
                found[f"{kind}_total"] += 1
                if len(found[kind]) < maximum:
                    shown = [x for x, ok in zip(levels, mask, strict=True) if ok == (kind == "positive")]
                    found[kind].append(
                        {
                            "who": who or "everyone",
                            "variable": names[sensitive],
                            "levels": shown,
                            "at_least": int(low[tuple(index)].sum()),
                        }
                    )
    return found
