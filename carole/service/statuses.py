"""Which projects' states a custodian is shown with its next task: what goes on, and what has changed since.

Projects that are over are not shown again and again: there is no end to them. But a custodian must learn of each
erasure, however long it was away, for it then erases the seed and what it has not sent yet. So it names the entry of
the audit log up to which it knows them, and is shown every project that a later entry is about, in several answers if
need be. The entry's place in the log's tree is named too: where Carole's store was put back from a backup since,
another entry is there, and the custodian is shown everything from the beginning. Carole keeps nothing about it, and the
custodian only in memory: after a start it begins with the first entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from gemel.carole.projects import Project
from gemel.carole.projects.tasks import is_over
from gemel.carole.service.wire import status_to_wire
from gemel.carole.store import Store
from gemel.common.parties import Side
from gemel.common.rpc.pages import size_of
from gemel.protos.linkage.v1 import custody_pb2, project_pb2

ANSWER_BYTES = 256 << 10
"""Of the states in one answer."""

_MAX_CHANGED = 5000
"""Read from the log for one answer: more than an answer has place for."""


@dataclass(frozen=True)
class ShownStatuses:
    """The states in one answer."""

    statuses: Sequence[project_pb2.ProjectStatus]
    position: custody_pb2.StatusPosition
    more: bool


def shown_statuses(store: Store, side: Side, since: custody_pb2.StatusPosition) -> ShownStatuses:
    """The states of projects to show to a custodian.

    Notes
    -----
    Projects that go on have three quarters of the answer, and take turns where that is too little. O(projects), and
    O(entries of the log after `since`).
    """
    # The log first: what is read of a project after it is never older than the entry that is named.
    start = store.audit.confirmed(since.entry, since.leaf)
    changed, newest = store.audit.changed(start, _MAX_CHANGED)
    projects = store.projects.all()
    room = _Room(ANSWER_BYTES)
    going_on = [project for project in projects if not is_over(project, side)]
    at = next((place for place, project in enumerate(projects) if project.name == since.open), -1)
    later = {project.name for project in projects[at + 1 :]}
    in_turn = sorted(going_on, key=lambda project: project.name not in later)
    shown = [project.name for project in takewhile(lambda project: room.take(project, 3 / 4), in_turn)]
    last = shown[-1] if len(shown) < len(in_turn) else ""
    by_name = {project.name: project for project in projects}
    reached, more = start, False
    for place, (name, entry) in enumerate(changed):
        # The first is always taken: else one that is larger than its part of an answer would never be passed.
        if name in by_name and not room.take(by_name[name], always=place == 0):
            more = True
            break
        reached = entry
    else:
        more = len(changed) == _MAX_CHANGED
        reached = reached if more else newest
    position = custody_pb2.StatusPosition(entry=reached, leaf=store.audit.leaf(reached), open=last)
    return ShownStatuses(room.statuses, position, more)


class _Room:
    """The states in an answer, as many as have place."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._size = 0
        self._found: dict[str, project_pb2.ProjectStatus] = {}

    @property
    def statuses(self) -> list[project_pb2.ProjectStatus]:
        return list(self._found.values())

    def take(self, project: Project, share: float = 1.0, *, always: bool = False) -> bool:
        """Take a project in, if it is not there yet; False where a share of the answer has no place for it.

        There is place for the first of all, however large.
        """
        if project.name in self._found:
            return True
        status = status_to_wire(project)
        size = size_of(status)
        if self._found and not always and self._size + size > share * self._budget:
            return False
        self._found[project.name] = status
        self._size += size
        return True
