"""The steward's page of Carole's audit log: each entry proven to be in the log that she has signed."""

from __future__ import annotations

import re
from itertools import islice
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gemel.common.specification.model.content import PROJECT_PATTERN
from gemel.common.web.pages import Pages
from gemel.coordinator.console.audit_words import entry_shown
from gemel.coordinator.console.member import Member
from gemel.coordinator.console.project_words import when

PAGE = 100


class AuditPages:
    """Reading the log; parameters as `StewardPages`."""

    def __init__(self, member: Member, pages: Pages) -> None:
        self._member, self._pages = member, pages

    def routes(self) -> list[BaseRoute]:
        """By address."""
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
