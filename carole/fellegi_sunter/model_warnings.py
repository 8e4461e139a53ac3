"""What a user should know of a fitted model before believing it: in words, with field names and counts only."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tryst.carole.fellegi_sunter.estimation_mask import TOP_SHARE_BY_DEFAULT
from tryst.carole.fellegi_sunter.settings import FieldLevels

FEW_MATCHES = 10.0
"""Expected matches below which a field's m is called poorly learnt."""


def warnings_of(
    *,
    fields: Sequence[FieldLevels],
    m: NDArray[np.float64],
    u: NDArray[np.float64],
    level_counts: NDArray[np.float64],
    matches_behind_m: NDArray[np.float64],
    unidentified_fields: NDArray[np.bool_],
    reason: str | None,
    unconstrained_matches: float,
    maximum: float,
    fewest: float,
    iterations: int | None,
    distance: float,
) -> tuple[str, ...]:
    """Warnings about a fit, most serious first.

    Parameters
    ----------
    fields, m, u
        The model.
    level_counts : ndarray of float64, shape (n_fields, n_levels)
        Pairs by level over all pairs.
    matches_behind_m : ndarray of float64, shape (n_fields,)
        Expected matches that taught each field.
    unidentified_fields : ndarray of bool, shape (n_fields,)
        Fields that every blocking rule involves.
    reason : str or None
        Why the model is not identified.
    unconstrained_matches, maximum, fewest : float
        Expected matches as the last step gave them, and the bounds they were held in.
    iterations : int or None
        Steps made without converging; None if EM converged.
    distance : float
        Extrapolated distance from the fixed point.

    Returns
    -------
    tuple of str
    """
    found: list[str] = []
    if reason is not None:
        found.append(reason)
    if iterations is not None:
        far = f"about {distance:.1g} from its fixed point" if math.isfinite(distance) else "still moving away"
        found.append(f"not converged: after {iterations} steps EM is {far}; raise model.max_iterations")
    if unconstrained_matches <= fewest:
        found.append("no sign of matches: their expected number fell to 0")
    elif unconstrained_matches > maximum * (1 + 1e-9):
        found.append(
            f"p wants {unconstrained_matches:.1f} matches but one-to-one linkage allows {maximum:.0f},"
            " where it is held: "
            "either nearly every record has its match, or something else than matching makes pairs agree"
        )
    for q, field in enumerate(fields):
        found.extend(_about_field(field, m[q], u[q], level_counts[q], bool(unidentified_fields[q])))
    poorly = [
        f"{field.name} {learnt:.1f}"
        for field, learnt, counts, never in zip(
            fields, matches_behind_m, level_counts, unidentified_fields, strict=True
        )
        if learnt < FEW_MATCHES and np.count_nonzero(counts) > 1 and not never
    ]
    if poorly and unconstrained_matches > fewest:
        found.append(f"m was learnt from few expected matches: {', '.join(poorly)}")
    return tuple(found)


def notes_of(fields: Sequence[FieldLevels], level_counts: NDArray[np.float64]) -> tuple[str, ...]:
    """What to know when reading m and u, and nothing to worry about: levels that no pair takes."""
    parts = []
    for field, counts in zip(fields, level_counts, strict=True):
        unseen = np.flatnonzero(counts[: field.n_levels] == 0)
        if len(unseen) and np.count_nonzero(counts) > 1:
            parts.append(f"{field.name} {', '.join(str(k) for k in unseen)}")
    if not parts:
        return ()
    return (f"levels that no pair takes (0 is the least similar), where the prior stands in: {'; '.join(parts)}",)


def _about_field(
    field: FieldLevels,
    m: NDArray[np.float64],
    u: NDArray[np.float64],
    counts: NDArray[np.float64],
    unidentified_fields: bool,
) -> list[str]:
    counts = counts[: field.n_levels]
    if counts.sum() == 0:
        return [f"{field.name} is missing in every pair: it says nothing"]
    if np.count_nonzero(counts) == 1:
        return [f"{field.name} takes one level in every pair: it says nothing"]
    found = []
    if unidentified_fields and not field.exception:
        found.append(
            f"every blocking rule involves {field.name}, so how often matches agree on it cannot be learnt: assumed "
            f"{TOP_SHARE_BY_DEFAULT:.0%} at the top level; add a rule without it"
        )
    top = field.n_levels - 1
    if m[top] < u[top]:
        found.append(f"{field.name}: agreement counts against a match (m < u at the top level); check the field")
    return found
