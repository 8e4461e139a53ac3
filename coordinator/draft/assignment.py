"""Which assignment suits two files, by the people who are in one of them more than once."""

from __future__ import annotations

from collections.abc import Mapping

from tryst.common.cleaning.own_copies import OwnCopies
from tryst.common.parties import Side
from tryst.common.specification.model.defaults import Assignment


def propose_assignment(copies: Mapping[Side, OwnCopies]) -> tuple[Assignment, str]:
    """The assignment and its reason, in counts.

    Parameters
    ----------
    copies
        What each file has of equal and near-equal records.

    Returns
    -------
    assignment
        many_to_one where Alice's file has copies, one_to_many where Bob's has; where both have, that of the file with
        more. one_to_one otherwise.
    reason
        Empty where neither file has copies.
    """
    several = [side for side in Side if copies[side].several]
    if not several:
        return "one_to_one", ""
    counted = "; ".join(
        f"{side.title()}'s file has {copies[side].equal:,} pairs of equal records and {copies[side].near:,} that are"
        " equal in all but one field"
        for side in several
    )
    worse = max(several, key=lambda side: copies[side].equal + copies[side].near)
    assignment: Assignment = "many_to_one" if worse is Side.ALICE else "one_to_many"
    reason = (
        f"{counted}: people who are in it more than once. With {assignment} all their records in {worse.title()}'s file"
        " may be linked; one_to_one would link one of each."
    )
    if len(several) > 1:
        reason += (
            f" No assignment allows several in both files: take those in {worse.other.title()}'s out first, which"
            " `tryst duplicates` finds."
        )
    return assignment, reason
