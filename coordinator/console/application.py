"""A member's console put together: its pages by its role, behind the guard, in the place where it listens."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp

from gemel.common.errors import ErrorCode
from gemel.common.language import marked
from gemel.common.parties import Role
from gemel.common.web.console_configuration import ConsoleConfiguration, Right
from gemel.common.web.guard import GuardRules
from gemel.common.web.opening import opened
from gemel.common.web.pages import Pages
from gemel.coordinator.console import coordinator_pages, steward_pages
from gemel.coordinator.console.audit_pages import AuditPages
from gemel.coordinator.console.coordinator_pages import CoordinatorPages
from gemel.coordinator.console.ending_pages import EndingPages
from gemel.coordinator.console.member import Member
from gemel.coordinator.console.ownership_pages import OwnershipPages, StewardOwnershipPages
from gemel.coordinator.console.proposal_pages import ProposalPages
from gemel.coordinator.console.restored_pages import HELPS, RestoredPages
from gemel.coordinator.console.steward_pages import StewardPages

_TEMPLATES = "gemel.coordinator.console.templates"
_STEWARDS = (StewardPages, AuditPages, StewardOwnershipPages, RestoredPages)
_COORDINATORS = (CoordinatorPages, ProposalPages, EndingPages, OwnershipPages, RestoredPages)


def console_of(
    member: Member,
    settings: ConsoleConfiguration,
    base: str,
    rules: GuardRules,
    shown: Callable[[str], None],
) -> ASGIApp:
    """The console of a coordinator or a steward; parameters as `opened` takes them."""
    is_steward = member.role is Role.STEWARD
    links = steward_pages.LINKS if is_steward else coordinator_pages.LINKS
    pages = Pages(
        marked("console of the steward") if is_steward else marked("console of the coordinator"),
        links,
        (_TEMPLATES,),
        acting=steward_pages.ACTING if is_steward else coordinator_pages.ACTING,
        remedies={ErrorCode.AUDIT: HELPS},
    )
    parts = _STEWARDS if is_steward else _COORDINATORS
    routes = [route for part in parts for route in part(member, pages).routes()]
    right: Right = "steward" if is_steward else "coordinator"
    language = member.language
    return opened(routes, pages, settings, base, rules, shown, user=member.name, right=right, language=language)
