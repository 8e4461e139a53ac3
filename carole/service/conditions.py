"""What the custodians' services report of themselves: when they last called, and why a project does not go on there.

It is kept in memory only, for each request for a task brings it whole. After a restart it is unknown until the next
one, some seconds later, and its time counts from there.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from gemel.carole.store.store import milliseconds
from gemel.common.parties import Side
from gemel.protos.linkage.v1 import custody_pb2, project_pb2

MAX_CONDITIONS = 1000
"""Of one custodian; further ones are left out."""


@dataclass(frozen=True)
class Reported:
    """What is known of one custodian in one project; times are milliseconds since 1970, 0 for never."""

    condition: int = project_pb2.CUSTODIAN_CONDITION_UNSPECIFIED
    since: int = 0
    last_poll: int = 0


class Conditions:
    """The newest report of each custodian."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._polls: dict[Side, int] = {}
        self._found: dict[Side, dict[str, tuple[int, int]]] = {side: {} for side in Side}

    def report(self, side: Side, conditions: Iterable[custody_pb2.ProjectCondition], projects: Iterable[str]) -> None:
        """Take a custodian's report, which replaces its former one; a condition that stays keeps its time.

        Parameters
        ----------
        projects
            Names of all projects; what is reported of others is left out.
        """
        now, names = milliseconds(), frozenset(projects)
        with self._lock:
            self._polls[side] = now
            former, newest = self._found[side], {}
            for each in list(conditions)[:MAX_CONDITIONS]:
                kind = _known(each.condition)
                if each.project not in names or kind == project_pb2.CUSTODIAN_CONDITION_UNSPECIFIED:
                    continue
                there = former.get(each.project)
                newest[each.project] = there if there is not None and there[0] == kind else (kind, now)
            self._found[side] = newest

    def of(self, side: Side, project: str) -> Reported:
        """What a custodian has reported about a project."""
        with self._lock:
            condition, since = self._found[side].get(project, (project_pb2.CUSTODIAN_CONDITION_UNSPECIFIED, 0))
            return Reported(condition, since, self._polls.get(side, 0))


def _known(condition: int) -> int:
    """A kind of a newer version of Gemel is shown as another error."""
    return condition if condition in project_pb2.CustodianCondition.values() else project_pb2.CUSTODIAN_CONDITION_OTHER
