"""A project belongs to one coordinator: whatever coordinators do to a project is for its owner alone.

The owner is the coordinator that created the project, or that has taken it over since. Others may read its state.
"""

from __future__ import annotations

from gemel.carole.projects.project import Project
from gemel.carole.projects.transitions import OWNER, Action, Actor
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role


def acting(project: Project, role: Actor, member: str, action: Action) -> Actor:
    """The actor that a member is in the table of transitions: of a coordinator, only the project's owner is one.

    Raises
    ------
    GemelError
        NOT_ADMITTED for another coordinator.
    """
    if role != Role.COORDINATOR:
        return role
    require_owner(project, member, str(action))
    return OWNER


def require_owner(project: Project, member: str, doing: str) -> None:
    """Refuse a coordinator that the project does not belong to; `doing` is what it requests, for the error.

    Raises
    ------
    GemelError
        NOT_ADMITTED, with the owner's name.
    """
    if project.owner == member:
        return
    raise GemelError(
        ErrorCode.NOT_ADMITTED,
        f"the project belongs to the coordinator {project.owner}",
        where=f"{doing} of {project.name}",
        got=f"coordinator {member}",
        remedy=f"let {project.owner} do it, or hand the project over to you (`gemel project hand-over`); where "
        f"{project.owner} is no longer a member, a steward does (`gemel steward hand-over`)",
    )


def waits_for(project: Project, member: str) -> bool:
    """Whether a coordinator may take the project over: it was handed over to it."""
    return project.hand_over is not None and project.hand_over.statement.successor == member
