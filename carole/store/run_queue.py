"""Which runs wait for a worker, and in which order."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Select, and_, not_, or_, select

from gemel.carole.projects import RunState
from gemel.carole.store.tables import projects, runs

LEASE_MS = 60_000
"""How long a worker may be silent before its run is taken again."""

PAUSE_MS = 300_000
"""How long a run that gave way is behind all others: its parties are looked for again as often."""


def free(now: int) -> ColumnElement[bool]:
    """Runs that are queued, or whose worker has been silent for too long."""
    return or_(runs.c.state == int(RunState.QUEUED), and_(runs.c.state == int(RunState.RUNNING), _past(now)))


def gave_way(now: int) -> ColumnElement[bool]:
    """Runs that wait for another party, and gave way a while ago: a queued run has a stage for no other reason."""
    return and_(runs.c.state == int(RunState.QUEUED), runs.c.stage != "", not_(_past(now)))


def waiting(now: int) -> Select[tuple[str, str]]:
    """Project and name of the runs that a worker may take."""
    return select(projects.c.name, runs.c.run).join(projects).where(runs.c.active == 1, free(now))


def _past(now: int) -> ColumnElement[bool]:
    return or_(runs.c.lease_until.is_(None), runs.c.lease_until < now)
