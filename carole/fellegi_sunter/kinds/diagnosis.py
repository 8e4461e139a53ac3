"""Which pairs of fields independence describes worst, within matches and within non-matches, in words.

Where the specification has fields independent although two of them are strongly dependent, a run warns of it. Only
agreement of two people counts for that: it makes non-matches look like matches, so that too many are claimed. Errors
that two fields share make matches look like non-matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from gemel.carole.fellegi_sunter.kinds.law import EstimationMask, Tables
from gemel.carole.fellegi_sunter.settings import FieldLevels
from gemel.common.arrays import F64, I8
from gemel.common.documents.result_warning import ResultWarning, result_warning

Class = Literal["matches", "others"]

FEWEST_PAIRS = 10.0
"""Minimum number of pairs with both values for a diagnosis of two fields."""

MAX_MISFITS = 10
"""Maximum number of pairs of fields reported, the worst first."""

STRONG = 1.5
"""Factor of observed over expected agreement on both fields from which a dependence ignored is warned of: at it a model
of independent fields claims 4 to 7 % more matches than where nothing depends (docs/dependence.md)."""

CERTAIN = 10.0
"""Minimum log Bayes factor of a dependence that is warned of, that of an edge among strangers."""


@dataclass(frozen=True)
class Misfit:
    """Two fields that depend on each other in one class, measured against independence.

    `gain`: log Bayes factor of dependence over independence, on three levels; `observed`, `expected`: share of the
    pairs in which both fields are at the top level (others), or both below it (matches): in the class, and as expected
    under independence.
    """

    within: Class
    fields: tuple[str, str]
    gain: float
    observed: float
    expected: float

    @property
    def words(self) -> str:
        first, second = self.fields
        if self.within == "others":
            what = f"pairs of two people agree on both {first} and {second}"
        else:
            what = f"pairs of one person differ on both {first} and {second}"
        if self.expected <= 0:
            return f"{what} although independence allows none"
        ratio = self.observed / self.expected
        times = _times(ratio) if ratio >= 1 else f"{ratio:.2f} times"
        return f"{what} {times} as often as independence has it ({_per(self.observed)})"


def misfits(
    within: Class,
    gamma: I8,
    weight: F64,
    fields: Sequence[FieldLevels],
    estimation_mask: EstimationMask | None = None,
    scale: float = 1.0,
) -> tuple[Misfit, ...]:
    """Pairs of fields by how much independence fails to describe them, the worst first.

    `gamma` (int8, shape (n_patterns, n_fields)); `weight` (float64, shape (n_patterns,)): expected pairs of the class
    by pattern; `estimation_mask`: which patterns may identify which fields; None: each of all.

    O(n_patterns * n_fields**2).
    """
    n_levels = [field.n_levels for field in fields]
    tables = Tables(gamma, weight, n_levels, estimation_mask, scale)
    found = []
    for v, w in combinations(range(len(fields)), 2):
        table = tables.counted((v, w))
        total = float(table.sum())
        gain = tables.bayes_factor(0, v, w) if total >= FEWEST_PAIRS else 0.0
        if gain <= 0:
            continue
        share = table / total
        one, other = share.sum(axis=1), share.sum(axis=0)
        if within == "others":
            observed, expected = share[-1, -1], one[-1] * other[-1]
        else:
            observed, expected = share[:-1, :-1].sum(), one[:-1].sum() * other[:-1].sum()
        names = (fields[v].name, fields[w].name)
        found.append(Misfit(within, names, gain, float(observed), float(expected)))
    return tuple(sorted(found, key=lambda misfit: -misfit.gain))[:MAX_MISFITS]


def ignored_dependence(found: Sequence[Misfit]) -> tuple[ResultWarning, ...]:
    """Warning of the strongest dependence that a model of independent fields ignores, if it is a strong one."""
    strong = [
        misfit
        for misfit in found
        if misfit.within == "others" and misfit.gain >= CERTAIN and misfit.observed >= STRONG * misfit.expected > 0
    ]
    if not strong:
        return ()
    strongest = max(strong, key=lambda misfit: misfit.observed / misfit.expected)
    first, second = strongest.fields
    ratio = strongest.observed / strongest.expected
    others = len(strong) - 1
    more = f"; {others} other pair{'s' if others > 1 else ''} of fields too" if others else ""
    claimed = "the second counts as evidence of its own, and too many matches are claimed"
    effect = f"{claimed}{more}"
    return (result_warning("dependence_ignored", first=first, second=second, times=_times(ratio), effect=effect),)


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:,.0f} times"


def _per(share: float) -> str:
    if share >= 0.001:
        return f"{share:.1%} of them"
    return f"one in {1 / share:,.0f}" if share > 0 else "never"
