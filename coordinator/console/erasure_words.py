"""What an erasure or a new epoch of a project destroys, and what stays, by what Carole has of it now."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.language import gettext, listed, ngettext, written
from gemel.common.specification import Specification
from gemel.coordinator.console.project_words import is_under_way
from gemel.coordinator.console.waiting import NAMES, S
from gemel.protos.linkage.v1 import project_pb2

_JUDGED = (S.PROJECT_STATE_ASSESSED, S.PROJECT_STATE_HELD)


def uploads_lost(status: project_pb2.ProjectStatus) -> Iterator[str]:
    """What the custodians have sent, and what is made of it at present; a clause each."""
    for each in status.contributions:
        name = NAMES[each.side]
        if each.committed:
            sent = ngettext(
                "what {name} has sent: the signatures of {rows} row",
                "what {name} has sent: the signatures of {rows} rows",
                each.rows,
            )
        elif each.bytes_received:
            sent = ngettext(
                "what has arrived of {name}'s upload of {rows} row",
                "what has arrived of {name}'s upload of {rows} rows",
                each.rows,
            )
        else:
            continue
        yield sent.format(name=name, rows=written(each.rows, ",d"))
    if is_under_way(status):
        yield gettext("the run that is under way, which ends without a result")


def erasure_lost(status: project_pb2.ProjectStatus) -> list[str]:
    """All of which an erasure destroys the keys; a clause each."""
    found = list(uploads_lost(status))
    run = status.run
    if status.state in _JUDGED and run.links_withheld:
        found.append(gettext("the result, which no party has received, and the report on its disclosure risk"))
    elif status.state in _JUDGED:
        result = ngettext(
            "the result with {links} link, which no party has received, and the report on its disclosure risk",
            "the result with {links} links, which no party has received, and the report on its disclosure risk",
            run.links,
        )
        found.append(result.format(links=written(run.links, ",d")))
    if status.state == S.PROJECT_STATE_RELEASED:
        result = ngettext(
            "the released result with {links} link at Carole, and the reports on it",
            "the released result with {links} links at Carole, and the reports on it",
            run.links,
        )
        withheld = gettext("the released result at Carole, and the reports on it")
        found.append(withheld if run.links_withheld else result.format(links=written(run.links, ",d")))
        if late := [NAMES[side.side] for side in status.sides if not side.result_acknowledged]:
            found.append(gettext("what was released to {names} and is not fetched yet").format(names=listed(late)))
    return found


def erasure_kept(status: project_pb2.ProjectStatus, spec: Specification) -> list[str]:
    """What an erasure leaves; a clause each."""
    found = [
        gettext("the specification, and that the project was: its name is not given again"),
        gettext("the audit log, with all approvals, decisions and reasons"),
        gettext("what is with the custodians: their records, and what they have fetched"),
    ]
    if status.state == S.PROJECT_STATE_RELEASED:
        days = spec.retention.releases_days
        kept = ngettext(
            "of the release, that it was made, and for {days} day the counts of its tables, with which Carole compares "
            "later releases of the same custodians",
            "of the release, that it was made, and for {days} days the counts of its tables, with which Carole "
            "compares later releases of the same custodians",
            days,
        )
        found.append(kept.format(days=written(days, ",d")))
    return found
