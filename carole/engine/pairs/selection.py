"""The choice of comparison vectors whose pairs are kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.run.memory import mebibytes
from gemel.carole.engine.run.result import ScoredPatterns
from gemel.common.errors import ErrorCode, GemelError

KEPT_PROBABILITY = 1e-4
"""Pairs of a smaller match probability are never kept."""

KEPT_WITH_VALUES = 1e-6
"""The same by agreement alone, where a resolver will see the values of the kept pairs and of no others: values may lift
them above the other."""

MAX_PAIRS = 5_000_000
"""More pairs than this are kept only if they reach the threshold of a link."""


@dataclass(frozen=True)
class Selection:
    """Comparison vectors whose pairs are kept."""

    patterns: NDArray[np.int64]
    n_pairs: int
    floor: float
    raised: bool


def choose_patterns(
    scored: ScoredPatterns,
    threshold: float,
    maximum: int,
    bytes_each: int,
    min_probability: float = KEPT_PROBABILITY,
) -> Selection:
    """Choose the vectors of highest weight that have at most `maximum` pairs.

    Parameters
    ----------
    scored : ScoredPatterns
        All vectors.
    threshold : float
        Smallest probability of a link: such pairs must fit, or the decision would be wrong.
    maximum : int
        Pairs that memory allows.
    bytes_each : int
        Memory of a pair, for the error.
    min_probability : float
        Pairs of a smaller match probability are left out.

    Notes
    -----
    Vectors of equal weight stay together, so that what is kept does not depend on an arbitrary order.
    """
    return choose_classes(
        scored.weight, scored.probability, scored.count, threshold, maximum, bytes_each, min_probability
    )


def choose_classes(
    weight: NDArray[np.float64],
    probability: NDArray[np.float64],
    count: NDArray[np.integer] | NDArray[np.float64],
    threshold: float,
    maximum: int,
    bytes_each: int,
    min_probability: float,
) -> Selection:
    """The same for any classes of pairs, given their weights, match probabilities and numbers of pairs."""
    order = np.argsort(-weight, kind="stable")
    weight, probability = weight[order], probability[order]
    total = np.cumsum(count[order])
    n_links = int(np.searchsorted(-probability, -threshold, side="right"))
    for_links = int(total[n_links - 1]) if n_links else 0
    if for_links > maximum:
        raise GemelError(
            ErrorCode.MEMORY,
            f"the {for_links:,} pairs that reach the threshold need {mebibytes(for_links * bytes_each)} of memory "
            f"but {mebibytes(maximum * bytes_each)} are left",
            where="resources.memory_bytes",
            remedy="raise links.threshold, grant more memory, or check the model: it may treat blocks as matches",
        )
    selected = int(np.searchsorted(-probability, -min_probability, side="right"))
    limit = min(maximum, max(MAX_PAIRS, for_links))
    fitting = int(np.searchsorted(total, limit, side="right"))
    chosen = min(selected, fitting)
    if chosen < selected:
        chosen = max(int(np.searchsorted(-weight, -weight[chosen], side="left")), n_links)
    return Selection(
        patterns=np.sort(order[:chosen]).astype(np.int64),
        n_pairs=int(total[chosen - 1]) if chosen else 0,
        floor=float(weight[chosen - 1]) if chosen else np.inf,
        raised=chosen < selected,
    )
