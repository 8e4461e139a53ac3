"""Membership: what each custodian learns about the other's file, from the links and from its own variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.inferred_values import expected_share, possible_probabilities
from gemel.carole.assessment.measures import Disclosure, Measure
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.parties import Side
from gemel.common.specification.model.content import ReleaseSpec
from gemel.risk.arrays import Floats
from gemel.risk.models.counts import distinct_rows

_PROBABILITIES = ("pairs", "draws")
"""Grants that disclose how probable every pair is: drawn linkages do by how often they have it."""


def membership(
    combined: Combined, release: ReleaseSpec, doubt: float, linkage: LinkageDocument | None = None
) -> Disclosure:
    """What each custodian learns about which of its people are in the other's file; the larger share is the measure.

    A record is shown to be of a member by what is released, exactly; whether it is one hangs on its links. The measure
    is the expected share that is shown rightly, with the interval of what is not known of the links.
    """
    possible = possible_probabilities(combined, linkage)
    grants = {side: str(getattr(release, str(side))) for side in Side}
    shown = {side: _shown(combined, side, grants[side], doubt, possible) for side in Side}
    worst = max(Side, key=lambda side: shown[side].judged)
    how = (
        f"link probability at least {1 - doubt:g}, as released; expected number of members among these; the larger"
        f" share is {worst.title()}'s"
    )
    if combined.left_out and grants[worst] in _PROBABILITIES:
        how += "; an upper bound, since pairs whose codes are not known may be of any of its records"
    document = {str(side): _figures(combined, side, grants[side], shown[side]) for side in Side}
    return Disclosure({"members_disclosed": replace(shown[worst], method=how)}, document)


def _shown(combined: Combined, side: Side, grant: str, doubt: float, possible: Sequence[Floats]) -> Measure:
    """Expected share of a custodian's records that the release shows, rightly, to be in the other's file."""
    codes, rows, pair_rows = combined.own(side)
    n = len(codes)
    if not n or grant not in ("links", *_PROBABILITIES):
        return Measure(0.0, "", 0.0, 0.0)
    released = np.zeros(n)
    if grant in _PROBABILITIES:
        released += np.bincount(pair_rows, combined.pair_probability, n)
    else:
        np.maximum.at(released, rows, combined.probability)
    released = np.minimum(released, 1.0)
    known = released >= 1.0 - doubt
    right = []
    for probability in possible:
        # Links whose probabilities claim too much are moved to what is estimated; other pairs stay.
        if grant in _PROBABILITIES:
            moved = np.bincount(rows, probability - combined.probability, n)
            member = np.clip(released + moved, 0.0, 1.0)
        else:
            member = np.zeros(n)
            np.maximum.at(member, rows, probability)
        right.append(np.where(known, member, 0.0))
    found = expected_share(right, "")
    if grant in _PROBABILITIES and combined.left_out:
        # Pairs of unknown records: the largest number of these that their probabilities could raise above the limit.
        lacking = np.sort(1.0 - doubt - released[~known])
        more = float(np.searchsorted(np.cumsum(lacking), combined.left_out, side="right")) / n
        assert found.upper is not None  # noqa: S101 - an expected share has an interval
        found = replace(found, value=min(1.0, found.value + more), upper=min(1.0, found.upper + more))
    return found


def _figures(combined: Combined, side: Side, grant: str, shown: Measure) -> dict[str, Any]:
    codes, rows, pair_rows = combined.own(side)
    n = len(codes)
    held = [q for q, variable in enumerate(combined.variables) if variable.held_by(side)]
    alone = 0
    if held and n:
        mine = codes[:, held] + 1
        _, which = distinct_rows(mine, (mine.max(axis=0) + 1).tolist())
        alone = int((np.bincount(which)[which[rows]] == 1).sum())
    return {
        "receives": grant,
        "records": n,
        "linked": len(np.unique(rows)),
        "expected_members": float(np.minimum(np.bincount(pair_rows, combined.pair_probability, n), 1.0).sum()),
        "learnt": shown.value,
        "lower": shown.lower,
        "upper": shown.upper,
        "found_by_own_variables": alone / len(rows) if len(rows) else 0.0,
    }
