"""The pages on which a project goes from one coordinator to another: offered by its owner or a steward, taken over."""

from __future__ import annotations

import hashlib
import re
import secrets

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from gemel.common.audit.statements import MAX_REASON, MIN_REASON
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.language import gettext
from gemel.common.parties import Role
from gemel.common.specification.model.content import PROJECT_PATTERN
from gemel.console.coordinator.acts import Act, acts_of_coordinator, require_act
from gemel.console.coordinator.coordinator_pages import PROJECT, carole_has, done, project_name
from gemel.console.coordinator.member import Member
from gemel.console.web.forms import Form, form_page, posting, session_of
from gemel.console.web.pages import Pages
from gemel.console.web.specification_words import specification_shown
from gemel.coordinator.client.ownership import OfferedProject, offer_project, offered_project, take_project

_LIMITS = (MIN_REASON, MAX_REASON)
OFFER = "/hand-over"
"""The steward's page: it is of any project, also of one that she does not see among those that were judged."""


class OwnershipPages:
    """A coordinator's: handing over and taking over; parameters as `CoordinatorPages`."""

    def __init__(self, member: Member, pages: Pages) -> None:
        self._member, self._pages = member, pages

    def routes(self) -> list[BaseRoute]:
        """By address."""
        return [
            form_page(f"{PROJECT}/hand-over", self.offer),
            posting(f"{PROJECT}/hand-over", self.hand_over),
            form_page(f"{PROJECT}/take-over", self.offered),
            posting(f"{PROJECT}/take-over", self.take_over),
        ]

    def offer(self, request: Request) -> Response:
        """The form that offers a project to another coordinator, or withdraws the offer."""
        status, _ = self._member.coordinator().get(project_name(request))
        require_act(Act.HAND_OVER, acts_of_coordinator(status, self._member.name), status)
        return self._pages.page(
            "hand_over.html.j2",
            request,
            project=status.project,
            successor=status.successor,
            others=[name for name in self._member.coordinators if name != self._member.name],
            own=self._member.name,
            limits=_LIMITS,
        )

    def hand_over(self, request: Request, form: Form) -> Response:
        """Sign the offer."""
        name, successor = project_name(request), form.get("successor", "")
        self._member.coordinator()
        offer_project(self._member.found, Role.COORDINATOR, name, successor, form.get("reason", ""))
        withdrawn = successor == self._member.name
        offered = gettext("The project is offered to {successor}, and is yours until that coordinator takes it over.")
        message = gettext("The offer is withdrawn.") if withdrawn else offered.format(successor=successor)
        return done(request, name, message)

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
        """Take over what the page showed."""
        taken = self._offered(request)
        if not secrets.compare_digest(_digest(taken).encode(), form.get("read", "").encode()):
            raise GemelError(
                ErrorCode.WRONG_STATE,
                "the offer or the specification is another than the one you read",
                where=taken.status.project,
                remedy="read the page again before you take the project over",
            )
        take_project(self._member.found, taken)
        return done(
            request, taken.status.project, gettext("The project is yours, and you have consented to its specification.")
        )

    def _offered(self, request: Request) -> OfferedProject:
        status, _ = self._member.coordinator().get(project_name(request))
        require_act(Act.TAKE_OVER, acts_of_coordinator(status, self._member.name), status)
        return offered_project(self._member.found, status.project)


class StewardOwnershipPages:
    """A steward's: handing over for an owner that is no longer a member; parameters as `CoordinatorPages`."""

    def __init__(self, member: Member, pages: Pages) -> None:
        self._member, self._pages = member, pages

    def routes(self) -> list[BaseRoute]:
        """By address."""
        return [form_page(OFFER, self.offer), posting(OFFER, self.hand_over)]

    def offer(self, request: Request) -> Response:
        """The form, with project and owner from the page that led here."""
        query = request.query_params
        return self._pages.page(
            "steward_hand_over.html.j2",
            request,
            project=query.get("project", "")[:64],
            former=query.get("owner", "")[:64],
            others=self._member.coordinators,
            limits=_LIMITS,
        )

    def hand_over(self, request: Request, form: Form) -> Response:
        """Sign the offer for the owner."""
        name, successor = form.get("project", "").strip(), form.get("successor", "")
        if not re.fullmatch(PROJECT_PATTERN, name):
            raise GemelError(ErrorCode.NOT_FOUND, "no project has such a name", where="project")
        self._member.steward()
        former = form.get("former", "").strip()
        offer_project(self._member.found, Role.STEWARD, name, successor, form.get("reason", ""), former=former)
        message = gettext("{project} is offered to {successor}. Your reason and signature are in the audit log.")
        session_of(request).messages.append(("done", message.format(project=name, successor=successor)))
        return RedirectResponse("/", 303)


def _digest(taken: OfferedProject) -> str:
    """What stands for all that the page showed: of the offer, its signature's digest."""
    parts = (taken.digest, taken.offered, taken.status.owner.encode(), str(taken.status.epoch).encode())
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()
