"""Membership: what each custodian learns about the other's file, from the links and from its own variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tryst.carole.assessment.combined import Combined
from tryst.carole.assessment.measures import Measure
from tryst.common.parties import Side
from tryst.common.specification.model.content import ReleaseSpec
from tryst.risk.models.counts import distinct_rows

_PROBABILITIES = ("pairs", "draws")
"""Grants that disclose how probable every pair is: drawn linkages do by how often they have it."""


@dataclass(frozen=True)
class Membership:
    """Shares of the members disclosed, the larger of the two, and the figures they are made of."""

    measures: Mapping[str, Measure]
    document: dict[str, Any]


def membership(combined: Combined, release: ReleaseSpec, doubt: float) -> Membership:
    """What each custodian learns about which of its people are in the other's file.

    Parameters
    ----------
    release
        Who receives what: without links nothing is disclosed.
    doubt
        Probability of error below which a membership counts as disclosed.
    """
    found = {str(side): _of(combined, side, str(getattr(release, str(side))), doubt) for side in Side}
    worst = max(found, key=lambda side: found[side]["learnt"])
    how = f"link probability at least {1 - doubt:g}, as released; the larger share is {worst.capitalize()}'s"
    if combined.left_out and getattr(release, worst) in _PROBABILITIES:
        how += "; an upper bound, since pairs whose codes are not known may be of any of its records"
    return Membership({"members_disclosed": Measure(found[worst]["learnt"], how)}, found)


def _of(combined: Combined, side: Side, grant: str, doubt: float) -> dict[str, Any]:
    alice = side is Side.ALICE
    rows, codes = (combined.row_a, combined.alice) if alice else (combined.row_b, combined.bob)
    pair_rows = combined.pair_a if alice else combined.pair_b
    n = len(codes)
    likely = np.zeros(n)
    if grant in _PROBABILITIES:
        likely += np.bincount(pair_rows, combined.pair_probability, n)
    elif grant == "links":
        np.maximum.at(likely, rows, combined.probability)
    learnt = int((np.minimum(likely, 1.0) >= 1.0 - doubt).sum())
    if grant in _PROBABILITIES:
        # Pairs of unknown records: the most of these that their probabilities could raise above the limit.
        lacking = np.sort(1.0 - doubt - likely[likely < 1.0 - doubt])
        learnt += int(np.searchsorted(np.cumsum(lacking), combined.left_out, side="right"))
    own = [q for q, variable in enumerate(combined.variables) if variable.held_by(side)]
    alone = 0
    if own and n:
        mine = codes[:, own] + 1
        _, which = distinct_rows(mine, (mine.max(axis=0) + 1).tolist())
        alone = int((np.bincount(which)[which[rows]] == 1).sum())
    return {
        "receives": grant,
        "records": n,
        "linked": len(np.unique(rows)),
        "expected_members": float(np.minimum(np.bincount(pair_rows, combined.pair_probability, n), 1.0).sum()),
        "learnt": learnt / n if n else 0.0,
        "found_by_own_variables": alone / len(rows) if len(rows) else 0.0,
    }
