"""Whether a file may hold invented records: near-copies within it, and how few of the smaller file's records link.

A single invented record looks like any other: that it is linked tells its sender that the other file has the person,
and nothing here can notice. What shows is many records of one person, or a file of which next to nothing links.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gemel.carole.assessment.measures import Disclosure, Measure
from gemel.carole.engine.linkage.near_copies import PARTNERS, NearCopies
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.parties import Side


def invented_records(
    copies: tuple[NearCopies, NearCopies] | None, members: Mapping[str, Mapping[str, Any]]
) -> Disclosure:
    """Judge what could be records that a custodian has made up, without copies where no contribution can be looked at.

    `members` has by custodian its number of records and how many of them are linked, as `membership` counts them.
    """
    figures = {side: {"records": each["records"], "linked": each["linked"]} for side, each in members.items()}
    smaller = min(figures.values(), key=lambda each: (each["records"], each["linked"]))
    measures: dict[str, Measure] = {}
    if smaller["records"]:
        unlinked = 1 - smaller["linked"] / smaller["records"]
        how = f"{smaller['linked']} of {smaller['records']} records of the smaller file are linked"
        measures["unlinked"] = Measure(unlinked, how, no_interval="counted: the links as they were decided are meant")
    document: dict[str, Any] = {str(side): each for side, each in figures.items()}
    warnings: tuple[ResultWarning, ...] = ()
    if copies is not None:
        for side, found in zip(Side, copies, strict=True):
            seen = {"near_copies": found.rows, "standard_error": found.standard_error, "compared": found.compared}
            document[str(side)] |= seen
        if all(found.distinguishing for found in copies):
            worst = max(zip(Side, copies, strict=True), key=lambda pair: pair[1].share)
            measures["near_copies"] = _near_copies(*worst)
        else:
            warnings = (result_warning("near_copies_unseen"),)
    return Disclosure(measures, document, warnings)


def _near_copies(side: Side, found: NearCopies) -> Measure:
    how = f"the larger share is {side.title()}'s: records with {PARTNERS} near-copies or more, under one blocking rule"
    if not found.standard_error:
        return Measure(found.share, how, no_interval="counted: all rows of every block were compared")
    how += (
        f"; {found.compared} of them compared, drawn at random, with a standard error of"
        f" {found.standard_error / found.records:.2g}"
    )
    # The upper end of an interval would hold every honest file with blocks so large that few of their rows are drawn.
    return Measure(found.share, how, no_interval="estimated from a sample, and judged as estimated")


def near_copies_warnings(copies: tuple[NearCopies, NearCopies]) -> tuple[ResultWarning, ...]:
    """A warning for each file with near-copies, for results that no policy judges as well."""
    return tuple(
        result_warning("near_copies", side=side.title(), records=round(found.rows), partners=PARTNERS)
        for side, found in zip(Side, copies, strict=True)
        if found.rows >= 1
    )
