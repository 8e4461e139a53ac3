"""What an erasure or a new epoch of a project destroys, and what stays, by what Carole has of it now."""

from __future__ import annotations

from collections.abc import Iterator

from tryst.common.message_words import listed
from tryst.common.specification import Specification
from tryst.coordinator.console.project_words import is_under_way
from tryst.coordinator.console.waiting import NAMES, S
from tryst.protos.linkage.v1 import project_pb2

_JUDGED = (S.PROJECT_STATE_ASSESSED, S.PROJECT_STATE_HELD)


def uploads_lost(status: project_pb2.ProjectStatus) -> Iterator[str]:
    """What the custodians have sent, and what is made of it at present; a clause each."""
    for each in status.contributions:
        name = NAMES[each.side]
        if each.committed:
            yield f"what {name} has sent: the signatures of {each.rows:,} rows"
        elif each.bytes_received:
            yield f"what has arrived of {name}'s upload of {each.rows:,} rows"
    if is_under_way(status):
        yield "the run that is under way, which ends without a result"


def erasure_lost(status: project_pb2.ProjectStatus) -> list[str]:
    """All of which an erasure destroys the keys; a clause each."""
    found = list(uploads_lost(status))
    links = "" if status.run.links_withheld else f" with {status.run.links:,} links"
    if status.state in _JUDGED:
        found.append(f"the result{links}, which no party has received, and the report on its disclosure risk")
    if status.state == S.PROJECT_STATE_RELEASED:
        found.append(f"the released result{links} at Carole, and the reports on it")
        if late := [NAMES[side.side] for side in status.sides if not side.result_acknowledged]:
            found.append(f"what was released to {listed(late)} and is not fetched yet")
    return found


def erasure_kept(status: project_pb2.ProjectStatus, spec: Specification) -> list[str]:
    """What an erasure leaves; a clause each."""
    found = [
        "the specification, and that the project was: its name is not given again",
        "the audit log, with all approvals, decisions and reasons",
        "what is with the custodians: their records, and what they have fetched",
    ]
    if status.state == S.PROJECT_STATE_RELEASED:
        found.append(
            f"of the release, that it was made, and for {spec.retention.releases_days:,} days the counts of its "
            "tables, with which Carole compares later releases of the same custodians"
        )
    return found
