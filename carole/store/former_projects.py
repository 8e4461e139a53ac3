"""Projects of the same two custodians that were released lately: many of them are what repeated probing looks like.

Each project has keys of its own, so that nothing of one can be compared with another's; that there were many of them,
and how many records they linked, can be counted. Members are distinguished by their names in the membership list.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import select

from gemel.carole.store.database import Database
from gemel.carole.store.tables import approvals, projects, runs
from gemel.common.parties import Side

DAYS = 365
"""Releases older than this are not counted."""

_DAY_MS = 24 * 3600 * 1000


@dataclass(frozen=True)
class FormerProjects:
    """Projects of the same two custodians.

    Attributes
    ----------
    projects
        Other projects of which a run was released within `DAYS` days.
    links
        Links of the newest such run of each, in all.
    """

    projects: int
    links: int


def former_projects(database: Database, now: int) -> Callable[[str], FormerProjects]:
    """Count released projects of the same two custodians.

    Parameters
    ----------
    now
        Milliseconds since 1970.

    Returns
    -------
    callable
        Of a project's name: the other released projects of its two custodians; none before both have approved.

    Notes
    -----
    Erased projects count: approvals and numbers of links stay when a project is erased. O(projects) once.
    """
    consented = (
        select(projects.c.name, approvals.c.role, approvals.c.member)
        .join(approvals, approvals.c.project == projects.c.id)
        .where(approvals.c.role.in_([str(side.role) for side in Side]))
    )
    released = (
        select(projects.c.name, runs.c.links)
        .join(runs, runs.c.project == projects.c.id)
        .where(runs.c.released == 1, runs.c.ended_at > now - DAYS * _DAY_MS)
        .order_by(runs.c.sequence)
    )
    parties: dict[str, dict[str, str]] = {}
    with database.read() as connection:
        for row in connection.execute(consented):
            parties.setdefault(row.name, {})[row.role] = row.member
        links = {row.name: int(row.links) for row in connection.execute(released)}

    released_of: dict[frozenset[tuple[str, str]], list[int]] = defaultdict(list)
    for name, number in links.items():
        released_of[frozenset(parties.get(name, {}).items())].append(number)
    sums = {both: FormerProjects(len(numbers), sum(numbers)) for both, numbers in released_of.items()}

    def others(name: str) -> FormerProjects:
        own = parties.get(name, {})
        all_of = sums.get(frozenset(own.items()))
        if len(own) < len(Side) or all_of is None:
            return FormerProjects(0, 0)
        if name not in links:
            return all_of
        return FormerProjects(all_of.projects - 1, all_of.links - links[name])

    return others
