"""What blocking lost, from the matches that several rules found independently of each other.

The model cannot see matches that no rule proposed. But rules on different fields fail for different reasons, and
how often one finds what another found tells how often it finds anything: capture and recapture. Rules that share
a field fail together, so they count as one list.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq


def independent_groups(fields: Sequence[Sequence[str]]) -> list[list[int]]:
    """Rules in groups, so that no two rules of different groups share a field.

    Parameters
    ----------
    fields : sequence of sequence of str
        Per rule the fields its key is made of.
    """
    groups: list[tuple[set[str], list[int]]] = []
    for rule, names in enumerate(fields):
        touching = [group for group in groups if group[0] & set(names)]
        merged = (set(names).union(*(group[0] for group in touching)), [rule])
        for group in touching:
            merged[1].extend(group[1])
            groups.remove(group)
        groups.append(merged)
    return sorted(sorted(rules) for _, rules in groups)


def blocking_recall(
    mask: NDArray[np.uint32], matches: NDArray[np.float64], fields: Sequence[Sequence[str]]
) -> float | None:
    """Estimated share of the matches that satisfy at least one blocking rule.

    Parameters
    ----------
    mask : ndarray of uint32, shape (n_patterns,)
        Rules satisfied.
    matches : ndarray of float64, shape (n_patterns,)
        Expected matches with each mask.
    fields : sequence of sequence of str
        Per rule the fields its key is made of.

    Returns
    -------
    float or None
        None where it cannot be told: no two rules without a common field, or no match found by two of them.

    Notes
    -----
    Each group of rules is a list that catches matches independently of the others; with S matches caught by any,
    n_j by group j, the total N solves `1 - S/N = prod(1 - n_j/N)` [1]_; with two groups this is Lincoln's and
    Petersen's estimate. Records wrong in many fields are missed by all groups together: the recall is then
    estimated too high.

    References
    ----------
    .. [1] Darroch, Biometrika 45, 1958. doi:10.1093/biomet/45.3-4.343
    """
    groups = independent_groups(fields)
    found = float(matches.sum())
    caught = [float(matches[(mask & np.uint32(sum(1 << rule for rule in group))) != 0].sum()) for group in groups]
    if len(groups) < 2 or found <= 0 or sum(caught) <= found * (1 + 1e-9):
        return None
    if max(caught) >= found * (1 - 1e-12):
        return 1.0

    def excess(recall: float) -> float:
        return 1 - recall - float(np.prod([1 - recall * n / found for n in caught]))

    # 0 is a root as well; the other lies where the overlap of the lists puts it.
    return float(brentq(excess, 1e-9, 1.0)) if excess(1e-9) > 0 else None
