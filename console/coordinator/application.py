"""A member's console put together: its pages by its role, behind the guard, in the place where it listens."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from gemel.common.audit import AuditEntry
from gemel.common.configuration import ConsoleConfiguration, Right
from gemel.common.errors import ErrorCode
from gemel.common.language import gettext, marked, written
from gemel.common.parties import Role
from gemel.common.specification.model.content import PROJECT_PATTERN
from gemel.console.coordinator import coordinator_pages, steward_pages
from gemel.console.coordinator.coordinator_pages import CoordinatorPages, MemberPages
from gemel.console.coordinator.ending_pages import EndingPages
from gemel.console.coordinator.member import Member
from gemel.console.coordinator.ownership_pages import OwnershipPages, StewardOwnershipPages
from gemel.console.coordinator.project_words import when
from gemel.console.coordinator.proposal_pages import ProposalPages
from gemel.console.coordinator.restored_pages import HELPS, RestoredPages
from gemel.console.coordinator.steward_pages import StewardPages
from gemel.console.web.application import opened
from gemel.console.web.guard import GuardRules
from gemel.console.web.pages import Pages

# The steward's page of Carole's audit log: each entry proven to be in the log that she has signed.

# Entries of the audit log in words: who did what, with its reason; digests and signatures stay in the log.

_DIGITS = re.compile(r"[0-9a-fA-F]{24,}")
"""Of a digest, a signature or a number that was drawn: a reader of a page can do nothing with them."""


def entry_shown(entry: AuditEntry) -> dict[str, Any]:
    details = {key: value for key, value in entry.details.items() if key != "reason" and _is_for_people(value)}
    return {
        "sequence": entry.sequence,
        "at": when(entry.at),
        "project": entry.project,
        "actor": entry.actor,
        "action": entry.action.replace("-", " "),
        "reason": str(entry.details.get("reason", "")),
        "details": "; ".join(f"{key.replace('_', ' ')}: {_text(value)}" for key, value in details.items()),
    }


def _is_for_people(value: object) -> bool:
    # A mapping is a list of members, with the beginnings of their keys: these are compared by other ways than a page.
    return value not in ("", None, []) and not isinstance(value, dict) and not _DIGITS.search(str(value))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return written(value, ",d") if isinstance(value, int) else str(value)


PAGE = 100


class AuditPages(MemberPages):
    def routes(self) -> list[BaseRoute]:
        return [Route("/audit", self.entries)]

    def entries(self, request: Request) -> Response:
        """A hundred entries of all projects or of one, from an entry on; by default the newest."""
        named = request.query_params.get("project", "").strip()[:64]
        project = named if re.fullmatch(PROJECT_PATTERN, named) else ""
        steward = self._member.steward()
        seen = self._member.found.memory.newest_seen()
        size = 0 if seen is None else seen.size
        given = request.query_params.get("after", "")
        newest = 0 if project else max(0, size - PAGE)
        after = int(given) if given.isascii() and given.isdigit() and len(given) < 16 else newest
        found = list(islice(steward.entries(project, after=after), PAGE + 1))
        shown = found[:PAGE]

        def link(number: int) -> str:
            return f"/audit?{urlencode({'project': project, 'after': number})}"

        return self._pages.page(
            "audit.html.j2",
            request,
            project=project,
            named=named,
            size=size,
            signed_at="" if seen is None else when(seen.at),
            entries=[entry_shown(each) for each in shown],
            # Of one project the entry before is not known by its number.
            earlier=link(max(0, after - PAGE)) if after and not project else "",
            first=link(0) if after and project else "",
            later=link(shown[-1].sequence) if len(found) > PAGE else "",
        )


_TEMPLATES = "gemel.console.coordinator.templates"
_STEWARDS = (StewardPages, AuditPages, StewardOwnershipPages, RestoredPages)
_COORDINATORS = (CoordinatorPages, ProposalPages, EndingPages, OwnershipPages, RestoredPages)


def console_of(
    member: Member, settings: ConsoleConfiguration, rules: GuardRules, shown: Callable[[str], None]
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
    return opened(routes, pages, settings, rules, shown, user=member.name, right=right, language=language)
