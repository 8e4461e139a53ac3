"""The pages on which a project goes from one coordinator to another: offered by its owner or a steward, taken over."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from gemel.common.language import gettext
from gemel.common.parties import Role
from gemel.console.coordinator.acts import Act
from gemel.console.coordinator.coordinator_pages import (
    PROJECT,
    MemberPages,
    ProjectPages,
    carole_has,
    page_of,
    project_name,
    required_name,
)
from gemel.console.web.forms import Form, digest_of, done, form_page, posting, require_read
from gemel.console.web.specification_words import specification_shown
from gemel.coordinator.client.ownership import OfferedProject, offer_project, offered_project, take_project

OFFER = "/hand-over"
"""The steward's page: it is of any project, also of one that she does not see among those that were judged."""


class OwnershipPages(ProjectPages):
    def routes(self) -> list[BaseRoute]:
        return [
            form_page(f"{PROJECT}/hand-over", self.offer),
            posting(f"{PROJECT}/hand-over", self.hand_over),
            form_page(f"{PROJECT}/take-over", self.offered),
            posting(f"{PROJECT}/take-over", self.take_over),
        ]

    def offer(self, request: Request) -> Response:
        status, _ = self._status(request, Act.HAND_OVER)
        return self._pages.page(
            "hand_over.html.j2",
            request,
            project=status.project,
            successor=status.successor,
            others=[name for name in self._member.coordinators if name != self._member.name],
            own=self._member.name,
        )

    def hand_over(self, request: Request, form: Form) -> Response:
        name, successor = project_name(request), form.get("successor", "")
        self._member.coordinator()
        offer_project(self._member.found, Role.COORDINATOR, name, successor, form.get("reason", ""))
        withdrawn = successor == self._member.name
        offered = gettext("The project is offered to {successor}, and is yours until that coordinator takes it over.")
        message = gettext("The offer is withdrawn.") if withdrawn else offered.format(successor=successor)
        return done(request, page_of(name), message)

    def offered(self, request: Request) -> Response:
        """Whose project it is, who offers it and why, and what is consented to by taking it over."""
        taken = self._offered(request)
        return self._pages.page(
            "take_over.html.j2",
            request,
            project=taken.status.project,
            owner=taken.status.owner,
            sentences=taken.sentences,
            specification=specification_shown(carole_has(taken.text, taken.status.project), taken.text),
            read=_digest(taken),
        )

    def take_over(self, request: Request, form: Form) -> Response:
        taken = self._offered(request)
        project = taken.status.project
        what = "the offer or the specification is another than the one you read"
        require_read(form, _digest(taken), project, what, "read the page again before you take the project over")
        take_project(self._member.found, taken)
        message = gettext("The project is yours, and you have consented to its specification.")
        return done(request, page_of(project), message)

    def _offered(self, request: Request) -> OfferedProject:
        status, _ = self._status(request, Act.TAKE_OVER)
        return offered_project(self._member.found, status.project)


class StewardOwnershipPages(MemberPages):
    def routes(self) -> list[BaseRoute]:
        return [form_page(OFFER, self.offer), posting(OFFER, self.hand_over)]

    def offer(self, request: Request) -> Response:
        query = request.query_params
        return self._pages.page(
            "steward_hand_over.html.j2",
            request,
            project=query.get("project", "")[:64],
            former=query.get("owner", "")[:64],
            others=self._member.coordinators,
        )

    def hand_over(self, request: Request, form: Form) -> Response:
        name, successor = required_name(form.get("project", "").strip(), "project"), form.get("successor", "")
        self._member.steward()
        former = form.get("former", "").strip()
        offer_project(self._member.found, Role.STEWARD, name, successor, form.get("reason", ""), former=former)
        message = gettext("{project} is offered to {successor}. Your reason and signature are in the audit log.")
        return done(request, "/", message.format(project=name, successor=successor))


def _digest(taken: OfferedProject) -> str:
    """What stands for all that the page showed: of the offer, its signature's digest."""
    return digest_of(taken.digest, taken.offered, taken.status.owner, str(taken.status.epoch))
