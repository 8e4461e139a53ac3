"""Which assignment suits two files, by the people who are in one of them more than once."""

from __future__ import annotations

from collections.abc import Mapping

from gemel.common.parties import Side
from gemel.common.specification.model.defaults import IN_BLOCKS, Assignment, Mode
from gemel.custodian.cleaning.own_copies import OwnCopies


def propose_assignment(copies: Mapping[Side, OwnCopies], mode: Mode = "open") -> tuple[Assignment, str]:
    """The assignment and its reason, in counts."""
    several = [side for side in Side if copies[side].several]
    if not several:
        return "one_to_one", ""
    counted = "; ".join(
        f"{side.title()}'s file has {copies[side].equal:,} pairs of equal records and {copies[side].near:,} that are"
        " equal in all but one field"
        for side in several
    )
    counted += ": people who are in it more than once."
    if len(several) > 1 and mode not in IN_BLOCKS:
        return "clusters", (
            f"{counted} With clusters the persons of each file are found, and all their records in both are linked;"
            " one_to_one would link one of each."
        )
    worse = max(several, key=lambda side: copies[side].equal + copies[side].near)
    assignment: Assignment = "many_to_one" if worse is Side.ALICE else "one_to_many"
    reason = (
        f"{counted} With {assignment} all their records in {worse.title()}'s file may be linked; one_to_one would link"
        " one of each."
    )
    if len(several) > 1:
        reason += (
            f" Mode {mode} has no assignment that allows several in both files: take those in"
            f" {worse.other.title()}'s out first, which `gemel duplicates` finds, or link in mode open by clusters."
        )
    return assignment, reason
