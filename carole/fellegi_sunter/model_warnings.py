"""Warnings about a fitted model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gemel.carole.arrays import F64, U32, U64, Flags
from gemel.carole.fellegi_sunter.model import Model, PatternCounts
from gemel.carole.fellegi_sunter.settings import Estimation, FieldLevels, RuleFields, U
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.errors import ErrorCode, GemelError, parameter

# Which pairs identify m of which field, and where m starts.
#
# A blocking rule's pairs agree on the rule's own fields by construction, so they carry no information on how often
# matches agree there: m of a field is estimated only from pairs of rules that do not involve it. Such pairs were
# selected by other fields, so given match status their levels in this field are as in any pair.


LOWEST_SHARE_OF_EXCEPTIONS = 0.98
"""Starting value of m of a comparison whose higher levels are exceptions, and its default where unidentified."""


def check_rules(rules: Sequence[RuleFields], n_fields: int) -> None:
    """Raise unless there are at most 32 rules, each of known fields."""
    if len(rules) > 32:
        raise parameter(
            "blocking", "at most 32 blocking rules can be distinguished", str(len(rules)), "use fewer rules"
        )
    for rule in rules:
        if any(not 0 <= q < n_fields for q in rule.fields):
            raise parameter(
                f"blocking.{rule.name}",
                f"positions of fields must be 0 to {n_fields - 1}",
                str(list(rule.fields)),
                "name fields that are compared; a key's other fields are left out",
            )


def identified_bits(mask: U32, rules: Sequence[RuleFields], n_fields: int) -> U64:
    """Fields whose m each row of pattern counts identifies, as a bit per field.

    `mask` (uint32, shape (n_patterns,)): bit r is set when a row's pairs satisfy rule r; `rules`: None: every row
    identifies every field. Returns uint64, shape (n_patterns,).
    """
    everything = (1 << n_fields) - 1
    if not rules:
        return np.full(len(mask), everything, dtype=np.uint64)
    bits = np.zeros(len(mask), dtype=np.uint64)
    for r, rule in enumerate(rules):
        others = everything & ~sum(1 << q for q in set(rule.fields))
        satisfied = (mask >> np.uint32(r)) & np.uint32(1) == 1
        bits[satisfied] |= np.uint64(others)
    return bits


def expected_levels(patterns: PatternCounts, rules: Sequence[RuleFields], links: F64, n_levels: int) -> F64:
    """Expected links by field and level, of the patterns that identify the field: shape (n_fields, n_levels)."""
    gamma = patterns.gamma
    identified = identified_bits(patterns.mask, rules, patterns.n_fields)
    counted = np.zeros((gamma.shape[1], n_levels))
    for q in range(gamma.shape[1]):
        identifies = (gamma[:, q] >= 0) & ((identified >> np.uint64(q)) & np.uint64(1) == 1)
        counted[q] = np.bincount(gamma[identifies, q], links[identifies], minlength=n_levels)
    return counted


def unidentified_fields(rules: Sequence[RuleFields], n_fields: int) -> Flags:
    """Fields that every rule involves, so that no pair identifies their m."""
    if not rules:
        return np.zeros(n_fields, dtype=np.bool_)
    return np.array([all(q in rule.fields for rule in rules) for q in range(n_fields)], dtype=np.bool_)


def default_m(fields: Sequence[FieldLevels], width: int) -> F64:
    """Believed m: that of unidentified fields, and the mean of its prior in others. Shape (n_fields, width)."""
    even = [np.ones(field.n_levels) for field in fields]
    return _with_exceptions(_top_heavy(even, [field.m_prior.agreement for field in fields], width), fields)


def worth(fields: Sequence[FieldLevels]) -> F64:
    """Matches that the belief about m of each field is worth."""
    return np.array([field.m_prior.weight for field in fields])


def starting_m(fields: Sequence[FieldLevels], width: int, top: float) -> F64:
    """Starting value of m, rising with the level: `top` at the top level, the rest as 1, 4, 9 and so on."""
    rising = [np.arange(1.0, field.n_levels + 1) ** 2 for field in fields]
    return _with_exceptions(_top_heavy(rising, [top] * len(fields), width), fields)


def _with_exceptions(m: F64, fields: Sequence[FieldLevels]) -> F64:
    """m with nearly all matches at the lowest level of comparisons of which the others are exceptions."""
    for q, field in enumerate(fields):
        if field.exception and field.n_levels > 1:
            m[q, : field.n_levels] = (1 - LOWEST_SHARE_OF_EXCEPTIONS) / (field.n_levels - 1)
            m[q, 0] = LOWEST_SHARE_OF_EXCEPTIONS
    return m


def _top_heavy(shapes: Sequence[F64], tops: Sequence[float], width: int) -> F64:
    m = np.zeros((len(shapes), width))
    for q, (shape, top) in enumerate(zip(shapes, tops, strict=True)):
        below = shape[:-1]
        if len(below):
            m[q, : len(below)] = (1 - top) * below / below.sum()
            m[q, len(below)] = top
        else:
            m[q, 0] = 1.0
    return m


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
    m: F64,
    u: F64,
    level_counts: F64,
    matches_behind_m: F64,
    unidentified_fields: Flags,
    reason: str | None,
    unconstrained_matches: float,
    maximum: float,
    fewest: float,
    iterations: int | None,
    distance: float,
) -> tuple[ResultWarning, ...]:
    """Warnings about a fit, and notes on its levels.

    `level_counts` (float64, shape (n_fields, n_levels)): pairs by level over all pairs; `matches_behind_m` (float64,
    shape (n_fields,)): expected matches from which each field's m was estimated; `unidentified_fields` (bool, shape
    (n_fields,)): fields that every blocking rule involves; `iterations`: steps made without converging; None if EM
    converged.
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
    model: Model, level_counts: F64, matches: float, settings: Estimation, rules: Sequence[RuleFields]
) -> tuple[ResultWarning, ...]:
    """Warnings about the estimate under the assignment, and about m where it contradicts what is believed.

    `level_counts` (float64, shape (n_fields, n_levels)): pairs by level over all pairs.
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


def _levels_not_observed(fields: Sequence[FieldLevels], level_counts: F64) -> list[ResultWarning]:
    parts = []
    for field, counts in zip(fields, level_counts, strict=True):
        unseen = np.flatnonzero(counts[: field.n_levels] == 0)
        if len(unseen) and np.count_nonzero(counts) > 1:
            parts.append(f"{field.name} {', '.join(str(k) for k in unseen)}")
    return [result_warning("levels_not_observed", levels="; ".join(parts))] if parts else []


def _about_field(field: FieldLevels, m: F64, u: F64, counts: F64, unidentified_fields: bool) -> list[ResultWarning]:
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


def why_not_identified(fields: Sequence[FieldLevels], counts: F64, u: U) -> str | None:
    """Reason why these counts cannot determine the parameters, or None.

    `counts` (float64, shape (n_fields, n_levels)): pairs compared, by level.
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


def informative_fields(counts: F64) -> Flags:
    """Fields that take at least two levels; `counts` has shape (n_fields, n_levels)."""
    return np.asarray((counts > 0).sum(axis=1) >= 2)


def not_identified(reason: str) -> GemelError:
    """The error that refuses a model, with its remedy."""
    return GemelError(
        ErrorCode.NOT_IDENTIFIED,
        reason,
        where="model",
        remedy="compare more fields (three or more), or with two fields set model.u to all_pairs",
    )
