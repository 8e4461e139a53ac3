"""The pages on a log that was restored: what was lost here, and for each project the decision on it."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from gemel.common.language import marked
from gemel.common.parties import Role
from gemel.common.specification.model.content import PROJECT_PATTERN
from gemel.common.witnessing.log_reader import Restored
from gemel.common.witnessing.wording import decided_line, lost_lines, released_lines, restored_lines
from gemel.console.coordinator.coordinator_pages import PROJECT, MemberPages, page_of, project_name
from gemel.console.web.forms import Form, decided_for, digest_of, done, form_page, posting, require_read

RESTORED = "/restored"
HELPS = (marked("What was lost, and your decision"), RESTORED)
"""The way to these pages from the error of a log that no longer continues what was seen."""


class RestoredPages(MemberPages):
    def routes(self) -> list[BaseRoute]:
        return [
            Route(RESTORED, self.overview),
            form_page(f"{PROJECT}{RESTORED}", self.shown),
            posting(f"{PROJECT}{RESTORED}", self.decide),
        ]

    def overview(self, request: Request) -> Response:
        """The projects that wait for the member's decision; or, of a name that was typed, that project's page."""
        typed = request.query_params.get("project", "").strip()[:64]
        if re.fullmatch(PROJECT_PATTERN, typed):
            return RedirectResponse(page_of(typed) + RESTORED, 303)
        member = self._member
        if member.role is Role.STEWARD:
            found = member.unchecked_steward().assessed()
        else:
            found = [each for each in member.unchecked_coordinator().projects() if each.owner == member.name]
        return self._pages.page(
            "restored.html.j2",
            request,
            lines=list(lost_lines(member.found.log.restored())),
            waiting=[each.project for each in found if member.role in each.restore_awaits],
            others=[each.project for each in found if each.restore_awaits and member.role not in each.restore_awaits],
            typed=typed,
            is_owner=member.role is Role.COORDINATOR,
        )

    def shown(self, request: Request) -> Response:
        name = project_name(request)
        restored, runs = self._found(name)
        return self._pages.page(
            "restored_project.html.j2",
            request,
            project=name,
            role=str(self._member.role),
            lines=list(restored_lines(restored, released_lines(runs))),
            read=_digest(restored, runs),
        )

    def decide(self, request: Request, form: Form) -> Response:
        accept, name = decided_for("accept", form), project_name(request)
        restored, runs = self._found(name)
        what, remedy = "what was lost is another than what you read", "read the page again before you decide"
        require_read(form, _digest(restored, runs), name, what, remedy)
        status = self._member.found.log.decide(name, restored, runs, accept=accept, reason=form.get("reason", ""))
        return done(request, RESTORED, decided_line(name, list(status.restore_awaits), accepted=accept))

    def _found(self, project: str) -> tuple[Restored, dict[str, bytes]]:
        found = self._member.found
        return found.log.restored(), dict(found.memory.released(project))


def _digest(restored: Restored, runs: dict[str, bytes]) -> str:
    """What stands for all that the page showed but the log's present length, which grows meanwhile."""
    lost = restored.lost
    parts = [f"{restored.restoration} {restored.made_at} {restored.restored.size} {restored.agreed}".encode()]
    parts += [restored.restored.root, b"" if lost is None else f"{lost.size} {lost.at}".encode() + lost.root]
    parts += [f"{run} ".encode() + root for run, root in sorted(runs.items())]
    return digest_of(*parts)
