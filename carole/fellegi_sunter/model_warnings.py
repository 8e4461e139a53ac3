"""Warnings about a fitted model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gemel.carole.fellegi_sunter.estimation_mask import default_m, unidentified_fields
from gemel.carole.fellegi_sunter.identifiability import why_not_identified
from gemel.carole.fellegi_sunter.model import Model
from gemel.carole.fellegi_sunter.settings import Estimation, FieldLevels, RuleFields
from gemel.common.documents.result_warning import ResultWarning, result_warning

FEW_MATCHES = 10.0
"""Expected matches below which a field's m is reported as poorly estimated."""

FEWEST_EXPECTED = 1e-6
"""Expected matches below which there is no sign of any."""

FAR_FROM_BELIEF = 3.0
"""Factor of disagreement among matches over the believed one above which it is reported."""

MIN_DIFFERENCE = 0.3
"""Difference of agreement below which it is not."""


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
) -> tuple[ResultWarning, ...]:
    """Warnings about a fit, and notes on its levels.

    Parameters
    ----------
    fields, m, u
        The model.
    level_counts : ndarray of float64, shape (n_fields, n_levels)
        Pairs by level over all pairs.
    matches_behind_m : ndarray of float64, shape (n_fields,)
        Expected matches from which each field's m was estimated.
    unidentified_fields : ndarray of bool, shape (n_fields,)
        Fields that every blocking rule involves.
    reason : str or None
        Why the model is not identified.
    unconstrained_matches, maximum, fewest : float
        Expected matches of the last step, and their bounds.
    iterations : int or None
        Steps made without converging; None if EM converged.
    distance : float
        Extrapolated distance from the fixed point.
    """
    found: list[ResultWarning] = []
    if reason is not None:
        found.append(result_warning("model_not_identified", reason=reason))
    if iterations is not None:
        far = f"about {distance:.1g} from its fixed point" if math.isfinite(distance) else "still moving away"
        found.append(result_warning("estimation_not_converged", iterations=iterations, distance=far))
    if unconstrained_matches <= fewest:
        found.append(result_warning("no_matches"))
    elif unconstrained_matches > maximum * (1 + 1e-9):
        found.append(result_warning("p_at_one_to_one_limit", expected=unconstrained_matches, maximum=maximum))
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
        found.append(result_warning("m_from_few_matches", fields=", ".join(poorly)))
    return (*found, *_levels_not_observed(fields, level_counts))


def second_warnings(
    model: Model,
    level_counts: NDArray[np.float64],
    matches: float,
    settings: Estimation,
    rules: Sequence[RuleFields],
) -> tuple[ResultWarning, ...]:
    """Warnings about the estimate under the assignment, and about m where it contradicts what is believed.

    Parameters
    ----------
    model : Model
    level_counts : ndarray of float64, shape (n_fields, n_levels)
        Pairs by level over all pairs.
    matches : float
        Expected matches.
    settings, rules
        As given to `fit`.
    """
    found = warnings_of(
        fields=model.fields,
        m=model.m,
        u=model.u,
        level_counts=level_counts,
        matches_behind_m=model.matches_behind_m,
        unidentified_fields=unidentified_fields(rules, len(model.fields)),
        reason=None if model.identified else why_not_identified(model.fields, level_counts, settings.u),
        unconstrained_matches=matches,
        maximum=math.inf,
        fewest=FEWEST_EXPECTED,
        iterations=None if model.converged else model.iterations,
        distance=model.distance,
    )
    believed = default_m(model.fields, model.m.shape[1])
    disbelieved = []
    for q, field in enumerate(model.fields):
        usual = 0 if field.exception else field.n_levels - 1
        m, belief = float(model.m[q, usual]), float(believed[q, usual])
        if field.n_levels > 1 and 1 - m > FAR_FROM_BELIEF * (1 - belief) and m < belief - MIN_DIFFERENCE:
            disbelieved.append(f"{field.name} {m:.2f} (believed {belief:.2f})")
    if disbelieved and matches > FEWEST_EXPECTED:
        return (*found, result_warning("m_below_belief", fields=", ".join(disbelieved)))
    return found


def _levels_not_observed(fields: Sequence[FieldLevels], level_counts: NDArray[np.float64]) -> list[ResultWarning]:
    parts = []
    for field, counts in zip(fields, level_counts, strict=True):
        unseen = np.flatnonzero(counts[: field.n_levels] == 0)
        if len(unseen) and np.count_nonzero(counts) > 1:
            parts.append(f"{field.name} {', '.join(str(k) for k in unseen)}")
    return [result_warning("levels_not_observed", levels="; ".join(parts))] if parts else []


def _about_field(
    field: FieldLevels,
    m: NDArray[np.float64],
    u: NDArray[np.float64],
    counts: NDArray[np.float64],
    unidentified_fields: bool,
) -> list[ResultWarning]:
    counts = counts[: field.n_levels]
    if counts.sum() == 0:
        return [result_warning("field_always_missing", field=field.name)]
    if np.count_nonzero(counts) == 1:
        return [result_warning("field_constant", field=field.name)]
    found = []
    if unidentified_fields and not field.exception:
        found.append(result_warning("m_assumed", field=field.name, share=field.m_prior.agreement))
    top = field.n_levels - 1
    if m[top] < u[top]:
        found.append(result_warning("agreement_counts_against_match", field=field.name))
    return found
