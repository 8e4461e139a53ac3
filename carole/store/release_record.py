"""What stays of a release when its project is erased: that it was made, and the counts of its tables.

A later release of the same custodians is compared with them. They are no secret from the recipients, who have the
tables; erasing them would only blind the assessment of what comes later. They go when their own days are over.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, exists, insert, select

from gemel.carole.projects import Project
from gemel.carole.store.tables import payloads, projects, releases, results
from gemel.common.parties import Role

COUNTS = "counts"
"""The recipient under which the counts of a run's tables are stored: no party's share."""


def released_counts() -> ColumnElement[bool]:
    """Whether a payload is the counts of a release."""
    return exists().where(
        results.c.payload == payloads.c.id, results.c.recipient == COUNTS, releases.c.run == results.c.run
    )


def record_release(connection: Connection, number: int, project: Project, run: str, at: int) -> None:
    """Record a release in the transaction that makes it.

    Parameters
    ----------
    number
        The project's row.
    at
        Milliseconds since 1970.
    """
    days = connection.execute(select(projects.c.releases_days).where(projects.c.id == number)).scalar_one()
    connection.execute(
        insert(releases).values(
            run=run,
            project=number,
            alice=project.approvals[Role.CUSTODIAN_A].member,
            bob=project.approvals[Role.CUSTODIAN_B].member,
            specification_digest=project.specification_digest,
            at=at,
            days=days,
        )
    )
