"""Warnings about a fitted model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gemel.carole.fellegi_sunter.model import Model, PatternCounts
from gemel.carole.fellegi_sunter.settings import Estimation, FieldLevels, RuleFields, U
from gemel.common.arrays import F64, U32, U64, Flags
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
        what = "at most 32 blocking rules can be distinguished"
        raise parameter("blocking", what, str(len(rules)), "use fewer rules")
    for rule in rules:
        if any(not 0 <= q < n_fields for q in rule.fields):
            what = f"positions of fields must be 0 to {n_fields - 1}"
            remedy = "name fields that are compared; a key's other fields are left out"
            raise parameter(f"blocking.{rule.name}", what, str(list(rule.fields)), remedy)


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
    return _top_heavy(fields, width, [field.m_prior.agreement for field in fields], rising=0)


def worth(fields: Sequence[FieldLevels]) -> F64:
    """Matches that the belief about m of each field is worth."""
    return np.array([field.m_prior.weight for field in fields])


def starting_m(fields: Sequence[FieldLevels], width: int, top: float) -> F64:
    """Starting value of m, rising with the level: `top` at the top level, the rest as 1, 4, 9 and so on."""
    return _top_heavy(fields, width, [top] * len(fields), rising=2)


def _top_heavy(fields: Sequence[FieldLevels], width: int, tops: Sequence[float], rising: int) -> F64:
    """m of given top levels, the others in proportion to a power of their number; of exceptions the lowest is usual."""
    m = np.zeros((len(fields), width))
    for q, (field, top) in enumerate(zip(fields, tops, strict=True)):
        others = field.n_levels - 1
        if not others:
            m[q, 0] = 1.0
        elif field.exception:
            m[q, 0] = LOWEST_SHARE_OF_EXCEPTIONS
            m[q, 1 : field.n_levels] = (1 - LOWEST_SHARE_OF_EXCEPTIONS) / others
        else:
            below = np.arange(1.0, field.n_levels) ** rising
            m[q, :others] = (1 - top) * below / below.sum()
            m[q, others] = top
    return m


FEW_MATCHES = 10.0
"""Expected matches below which a field's m is reported as poorly estimated."""

FEWEST_MATCHES = 1e-6
"""Expected matches up to which there is no sign of any: the lower bound of p, as a number of them."""

FAR_FROM_BELIEF = 3.0
"""Factor of disagreement among matches over the believed one above which it is reported."""

MIN_DIFFERENCE = 0.3
"""Difference of agreement below which it is not."""


def warnings_of(
    model: Model,
    level_counts: F64,
    matches: float,
    rules: Sequence[RuleFields],
    reason: str | None,
    maximum: float = math.inf,
) -> tuple[ResultWarning, ...]:
    """Warnings about a fit, and notes on its levels.

    `level_counts` (float64, shape (n_fields, n_levels)): pairs by level over all pairs; `matches`: expected ones, which
    p may not follow above `maximum`; `reason`: why the model is not identified, if it is not.
    """
    unidentified = unidentified_fields(rules, len(model.fields))
    found: list[ResultWarning] = []
    if reason is not None:
        found.append(result_warning("model_not_identified", reason=reason))
    if not model.converged:
        near = f"about {model.distance:.1g} from its fixed point"
        far = near if math.isfinite(model.distance) else "still moving away"
        found.append(result_warning("estimation_not_converged", iterations=model.iterations, distance=far))
    if matches <= FEWEST_MATCHES:
        found.append(result_warning("no_matches"))
    elif matches > maximum * (1 + 1e-9):
        found.append(result_warning("p_at_one_to_one_limit", expected=matches, maximum=maximum))
    poorly = []
    for q, field in enumerate(model.fields):
        found.extend(_about_field(field, model.m[q], model.u[q], level_counts[q], bool(unidentified[q])))
        learnt = model.matches_behind_m[q]
        if learnt < FEW_MATCHES and np.count_nonzero(level_counts[q]) > 1 and not unidentified[q]:
            poorly.append(f"{field.name} {learnt:.1f}")
    if poorly and matches > FEWEST_MATCHES:
        found.append(result_warning("m_from_few_matches", fields=", ".join(poorly)))
    return (*found, *_levels_not_observed(model.fields, level_counts))


def second_warnings(
    model: Model, agreement: F64, level_counts: F64, matches: float, settings: Estimation, rules: Sequence[RuleFields]
) -> tuple[ResultWarning, ...]:
    """Warnings about the estimate under the assignment, and about m where it contradicts what is believed.

    `agreement` (float64, shape (n_fields, n_levels)): m of the matches whose true value is the same; `level_counts`
    (float64, shape (n_fields, n_levels)): pairs by level over all pairs.
    """
    reason = None if model.identified else why_not_identified(model.fields, level_counts, settings.u)
    found = warnings_of(model, level_counts, matches, rules, reason)
    believed = default_m(model.fields, model.m.shape[1])
    disbelieved = []
    for q, field in enumerate(model.fields):
        usual = 0 if field.exception else field.n_levels - 1
        m, belief = float(agreement[q, usual]), float(believed[q, usual])
        if field.n_levels > 1 and 1 - m > FAR_FROM_BELIEF * (1 - belief) and m < belief - MIN_DIFFERENCE:
            disbelieved.append(f"{field.name} {m:.2f} (believed {belief:.2f})")
    if disbelieved and matches > FEWEST_MATCHES:
        return (*found, result_warning("m_below_belief", fields=", ".join(disbelieved)))
    return found


def _levels_not_observed(fields: Sequence[FieldLevels], level_counts: F64) -> list[ResultWarning]:
    parts = []
    for field, counts in zip(fields, level_counts, strict=True):
        unseen = np.flatnonzero(counts[: field.n_levels] == 0)
        if len(unseen) and np.count_nonzero(counts) > 1:
            parts.append(f"{field.name} {', '.join(str(k) for k in unseen)}")
    return [result_warning("levels_not_observed", levels="; ".join(parts))] if parts else []


def _about_field(field: FieldLevels, m: F64, u: F64, counts: F64, unidentified: bool) -> list[ResultWarning]:
    counts = counts[: field.n_levels]
    if counts.sum() == 0:
        return [result_warning("field_always_missing", field=field.name)]
    if np.count_nonzero(counts) == 1:
        return [result_warning("field_constant", field=field.name)]
    found = []
    if unidentified and not field.exception:
        found.append(result_warning("m_assumed", field=field.name, share=field.m_prior.agreement))
    top = field.n_levels - 1
    if m[top] < u[top]:
        found.append(result_warning("agreement_counts_against_match", field=field.name))
    return found


def why_not_identified(fields: Sequence[FieldLevels], counts: F64, u: U) -> str | None:
    """Reason why these counts cannot determine the parameters, or None.

    `counts` (float64, shape (n_fields, n_levels)): pairs compared, by level.
    """
    informative = np.flatnonzero((counts > 0).sum(axis=1) >= 2).tolist()
    names = [fields[q].name for q in informative]
    if not names:
        return "not identifiable: no field takes two levels, so nothing distinguishes matches from other pairs"
    if len(names) == 1:
        kind = "binary field" if fields[informative[0]].n_levels == 2 else "field"
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
    remedy = "compare more fields (three or more), or with two fields set model.u to all_pairs"
    return GemelError(ErrorCode.NOT_IDENTIFIED, reason, where="model", remedy=remedy)
