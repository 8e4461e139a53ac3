"""What an attack claims, and what of it is true: the common result of every attack on an encoding."""

from __future__ import annotations

from dataclasses import dataclass

from gemel.common.arrays import I64, Flags
from gemel.common.errors import parameter

UNKNOWN = -1
"""No claim is made, or the value is none of the public ones."""


@dataclass(frozen=True)
class Recovery:
    """What one attack recovers of one field; every share is of 1.

    `n_values`, `n_records`: distinct encoded values attacked, and records that have one; `values`, `records`: shares of
    them that the attack names rightly; `attainable_values`, `attainable_records`: shares whose value is in the
    dictionary at all; `chance`: share of records recovered by naming the commonest public value everywhere; `claimed`:
    share of records for which the attack names a value; `error`: standard error of `records` less `chance` where a
    sample was attacked.
    """

    attack: str
    field: str
    n_values: int
    n_records: int
    values: float
    records: float
    attainable_values: float
    attainable_records: float
    chance: float
    claimed: float
    error: float = 0.0

    @property
    def precision(self) -> float:
        """Share of the claims that are right; 0 where none is made."""
        return self.records / self.claimed if self.claimed else 0.0


def score(attack: str, field: str, guesses: I64, truth: I64, counts: I64, commonest: int) -> Recovery:
    """Judge an attack by the truth.

    `guesses`, `truth` (int64, shape (n_values,)): public value that the attack names for each encoded one, and that it
    is, or ``UNKNOWN``; `counts`, of this shape: records that have it. A file without values has all shares 0;
    `commonest`: the commonest public value, or ``UNKNOWN``. Raises `GemelError`: PARAMETER if the arrays differ in
    length.
    """
    if not len(guesses) == len(truth) == len(counts):
        what = "guesses, truth and counts speak of the same values"
        raise parameter(f"{attack} of {field}", what, f"{len(guesses)}, {len(truth)} and {len(counts)}")
    n_values, n_records = len(counts), int(counts.sum())
    right = (guesses == truth) & (truth != UNKNOWN)
    known = truth != UNKNOWN

    def of_values(chosen: Flags) -> float:
        return float(chosen.sum() / n_values) if n_values else 0.0

    def of_records(chosen: Flags) -> float:
        return float(counts[chosen].sum() / n_records) if n_records else 0.0

    chance, claimed = of_records((truth == commonest) & known), of_records(guesses != UNKNOWN)
    named = of_values(right), of_records(right), of_values(known), of_records(known)
    return Recovery(attack, field, n_values, n_records, *named, chance, claimed)
