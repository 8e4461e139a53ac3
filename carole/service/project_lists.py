"""Projects in the order in which lists show them, page by page."""

from __future__ import annotations

from collections.abc import Sequence

from gemel.carole.projects import Project
from gemel.common.errors import ErrorCode, GemelError


def newest_first(projects: Sequence[Project], after: str) -> list[Project]:
    """The projects that were created before one, the newest first; all, if none is named.

    What is created while a caller turns the pages is on none of them, and moves no other project to another page.
    """
    if not after:
        return list(reversed(projects))
    found = [place for place, project in enumerate(projects) if project.name == after]
    if not found:
        raise GemelError(
            ErrorCode.NOT_FOUND,
            "the list has changed since its page before",
            where="after",
            got="the name of no project",
            remedy="begin with the first page again",
        )
    return list(reversed(projects[: found[0]]))
