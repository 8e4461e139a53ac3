"""Which pairs identify m of which field, and where m starts.

A blocking rule's pairs agree on the rule's own fields by construction, so they carry no information on how often
matches agree there: m of a field is estimated only from pairs of rules that do not involve it. Such pairs were selected
by other fields, so given match status their levels in this field are as in any pair.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tryst.carole.fellegi_sunter.settings import FieldLevels, RuleFields
from tryst.common.errors import ErrorCode, TrystError

TOP_SHARE_BY_DEFAULT = 0.9
"""P(top level | match) of a field whose m is unidentified; the other levels share the rest evenly."""

LOWEST_SHARE_OF_EXCEPTIONS = 0.98
"""Starting value of m of a comparison whose higher levels are exceptions, and its default where unidentified."""


def check_rules(rules: Sequence[RuleFields], n_fields: int) -> None:
    """Raise unless there are at most 32 rules, each of known fields."""
    if len(rules) > 32:
        raise TrystError(
            ErrorCode.PARAMETER,
            "at most 32 blocking rules can be distinguished",
            where="blocking",
            got=str(len(rules)),
            remedy="use fewer rules",
        )
    for rule in rules:
        if any(not 0 <= q < n_fields for q in rule.fields):
            raise TrystError(
                ErrorCode.PARAMETER,
                f"positions of fields must be 0 to {n_fields - 1}",
                where=f"blocking.{rule.name}",
                got=str(list(rule.fields)),
                remedy="name fields that are compared; a key's other fields are left out",
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


def unidentified_fields(rules: Sequence[RuleFields], n_fields: int) -> NDArray[np.bool_]:
    """Fields that every rule involves, so that no pair identifies their m."""
    if not rules:
        return np.zeros(n_fields, dtype=np.bool_)
    return np.array([all(q in rule.fields for rule in rules) for q in range(n_fields)], dtype=np.bool_)


def default_m(fields: Sequence[FieldLevels], width: int) -> NDArray[np.float64]:
    """m of unidentified fields: `TOP_SHARE_BY_DEFAULT` at the top level, the rest shared evenly."""
    m = _top_heavy([np.ones(field.n_levels) for field in fields], TOP_SHARE_BY_DEFAULT, width)
    return _with_exceptions(m, fields)


def starting_m(fields: Sequence[FieldLevels], width: int, top: float) -> NDArray[np.float64]:
    """Starting value of m, rising with the level: `top` at the top level, the rest as 1, 4, 9 and so on."""
    m = _top_heavy([np.arange(1.0, field.n_levels + 1) ** 2 for field in fields], top, width)
    return _with_exceptions(m, fields)


def _with_exceptions(m: NDArray[np.float64], fields: Sequence[FieldLevels]) -> NDArray[np.float64]:
    """m with nearly all matches at the lowest level of comparisons of which the others are exceptions."""
    for q, field in enumerate(fields):
        if field.exception and field.n_levels > 1:
            m[q, : field.n_levels] = (1 - LOWEST_SHARE_OF_EXCEPTIONS) / (field.n_levels - 1)
            m[q, 0] = LOWEST_SHARE_OF_EXCEPTIONS
    return m


def _top_heavy(shapes: Sequence[NDArray[np.float64]], top: float, width: int) -> NDArray[np.float64]:
    m = np.zeros((len(shapes), width))
    for q, shape in enumerate(shapes):
        below = shape[:-1]
        if len(below):
            m[q, : len(below)] = (1 - top) * below / below.sum()
            m[q, len(below)] = top
        else:
            m[q, 0] = 1.0
    return m
