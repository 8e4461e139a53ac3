"""Which pairs identify m of which field, and where m starts.

A blocking rule's pairs agree on the rule's own fields by construction, so they carry no information on how often
matches agree there: m of a field is estimated only from pairs of rules that do not involve it. Such pairs were selected
by other fields, so given match status their levels in this field are as in any pair.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gemel.carole.fellegi_sunter.patterns import PatternCounts
from gemel.carole.fellegi_sunter.settings import FieldLevels, RuleFields
from gemel.common.errors import parameter

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


def identified_bits(mask: NDArray[np.uint32], rules: Sequence[RuleFields], n_fields: int) -> NDArray[np.uint64]:
    """Fields whose m each row of pattern counts identifies, as a bit per field.

    Parameters
    ----------
    mask : ndarray of uint32, shape (n_patterns,)
        Bit r is set when a row's pairs satisfy rule r.
    rules : sequence of RuleFields
        None: every row identifies every field.
    n_fields : int

    Returns
    -------
    ndarray of uint64, shape (n_patterns,)
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


def expected_levels(
    patterns: PatternCounts, rules: Sequence[RuleFields], links: NDArray[np.float64], n_levels: int
) -> NDArray[np.float64]:
    """Expected links by field and level, of the patterns that identify the field: shape (n_fields, n_levels)."""
    gamma = patterns.gamma
    identified = identified_bits(patterns.mask, rules, patterns.n_fields)
    counted = np.zeros((gamma.shape[1], n_levels))
    for q in range(gamma.shape[1]):
        identifies = (gamma[:, q] >= 0) & ((identified >> np.uint64(q)) & np.uint64(1) == 1)
        counted[q] = np.bincount(gamma[identifies, q], links[identifies], minlength=n_levels)
    return counted


def unidentified_fields(rules: Sequence[RuleFields], n_fields: int) -> NDArray[np.bool_]:
    """Fields that every rule involves, so that no pair identifies their m."""
    if not rules:
        return np.zeros(n_fields, dtype=np.bool_)
    return np.array([all(q in rule.fields for rule in rules) for q in range(n_fields)], dtype=np.bool_)


def default_m(fields: Sequence[FieldLevels], width: int) -> NDArray[np.float64]:
    """Believed m: that of unidentified fields, and the mean of its prior in others. Shape (n_fields, width)."""
    even = [np.ones(field.n_levels) for field in fields]
    return _with_exceptions(_top_heavy(even, [field.m_prior.agreement for field in fields], width), fields)


def worth(fields: Sequence[FieldLevels]) -> NDArray[np.float64]:
    """Matches that the belief about m of each field is worth."""
    return np.array([field.m_prior.weight for field in fields])


def starting_m(fields: Sequence[FieldLevels], width: int, top: float) -> NDArray[np.float64]:
    """Starting value of m, rising with the level: `top` at the top level, the rest as 1, 4, 9 and so on."""
    rising = [np.arange(1.0, field.n_levels + 1) ** 2 for field in fields]
    return _with_exceptions(_top_heavy(rising, [top] * len(fields), width), fields)


def _with_exceptions(m: NDArray[np.float64], fields: Sequence[FieldLevels]) -> NDArray[np.float64]:
    """m with nearly all matches at the lowest level of comparisons of which the others are exceptions."""
    for q, field in enumerate(fields):
        if field.exception and field.n_levels > 1:
            m[q, : field.n_levels] = (1 - LOWEST_SHARE_OF_EXCEPTIONS) / (field.n_levels - 1)
            m[q, 0] = LOWEST_SHARE_OF_EXCEPTIONS
    return m


def _top_heavy(shapes: Sequence[NDArray[np.float64]], tops: Sequence[float], width: int) -> NDArray[np.float64]:
    m = np.zeros((len(shapes), width))
    for q, (shape, top) in enumerate(zip(shapes, tops, strict=True)):
        below = shape[:-1]
        if len(below):
            m[q, : len(below)] = (1 - top) * below / below.sum()
            m[q, len(below)] = top
        else:
            m[q, 0] = 1.0
    return m
