"""The pages on which an operator decides: each shows what the decision is about, and its form has what was shown.

What the form names is compared with what the service has when the form comes back: nothing is decided that was not
read. The service compares once more where its calls can (`operator_service`).
"""

from __future__ import annotations

import hashlib
import json
import secrets

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from gemel.common.audit.statements import MAX_REASON, MIN_REASON, normalized_reason
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.language import gettext
from gemel.common.witnessing.wording import decided_line
from gemel.console.custodian.custodian import PROJECT, Custodian, project_of
from gemel.console.custodian.project_pages import ProjectPages, profile_shown
from gemel.console.web.forms import Form, form_page, posting, session_of
from gemel.console.web.pages import Pages
from gemel.custodian.leakage_report import LeakageReport

RESTORE_DECISIONS = {"accept": True, "refuse": False}
_LIMITS = (MIN_REASON, MAX_REASON)


class DecisionPages:
    """What a custodian decides; parameters as `ProjectPages`, and that."""

    def __init__(self, custodian: Custodian, pages: Pages, shown: ProjectPages) -> None:
        self._custodian, self._pages, self._shown = custodian, pages, shown

    def routes(self) -> list[BaseRoute]:
        """By address."""
        return [
            form_page(f"{PROJECT}/approve", self.approval),
            posting(f"{PROJECT}/approve", self.approve),
            form_page(f"{PROJECT}/decline", self.refusal),
            posting(f"{PROJECT}/decline", self.decline),
            form_page(f"{PROJECT}/override", self.limit),
            posting(f"{PROJECT}/override", self.override),
            form_page(f"{PROJECT}/fetch-alone", self.waiting_share),
            posting(f"{PROJECT}/fetch-alone", self.fetch_alone),
            form_page(f"{PROJECT}/accept-restore", self.restored),
            posting(f"{PROJECT}/accept-restore", self.decide_restored),
        ]

    def approval(self, request: Request) -> Response:
        """What is signed by an approval, with the profile of what was read."""
        with self._custodian.service() as service:
            project = project_of(service, request)
            shown = self._shown.specified(service, project)
            counts = profile_shown(service.profile(project.project))
        return self._pages.page(
            "approval.html.j2",
            request,
            project=project.project,
            epoch=project.epoch,
            title=self._custodian.party.title,
            other=self._custodian.party.side.other.title(),
            open="approve" in project.decisions,
            **{**shown, **counts},
        )

    def approve(self, request: Request, form: Form) -> Response:
        """Sign the specification that the page showed, in the epoch that it showed."""
        with self._custodian.service() as service:
            name = project_of(service, request).project
            found = service.specification(name)
            _require_read(form, f"{found.digest.hex()} {found.epoch}", name, "the specification")
            service.approve(name, found.digest, found.epoch)
            return _done(request, name, service.outcome_of(name))

    def refusal(self, request: Request) -> Response:
        """What declining, or withdrawing, does."""
        with self._custodian.service() as service:
            project = project_of(service, request)
            digest = service.specification(project.project).digest.hex()
        return self._pages.page(
            "refusal.html.j2",
            request,
            project=project.project,
            title=self._custodian.party.title,
            digest=digest,
            limits=_LIMITS,
            open="decline" in project.decisions,
        )

    def decline(self, request: Request, form: Form) -> Response:
        """Decline the specification that the page named, with a reason."""
        reason = normalized_reason(form.get("reason", ""))
        with self._custodian.service() as service:
            name = project_of(service, request).project
            _require_read(form, service.specification(name).digest.hex(), name, "the specification")
            service.decline(name, reason)
            return _done(request, name, service.outcome_of_decline(name))

    def limit(self, request: Request) -> Response:
        """What the service has measured above the limit."""
        with self._custodian.service() as service:
            project = project_of(service, request)
            found = service.leakage(project.project)
        return self._pages.page(
            "override.html.j2",
            request,
            project=project.project,
            report=LeakageReport.from_dict(json.loads(found.json)),
            read=_digest(found.json),
            reason=found.reason,
            limits=_LIMITS,
            open="override" in project.decisions,
        )

    def override(self, request: Request, form: Form) -> Response:
        """Contribute above the limit, by the measurement that the page showed."""
        reason = normalized_reason(form.get("reason", ""))
        with self._custodian.service() as service:
            name = project_of(service, request).project
            _require_read(form, _digest(service.leakage(name).json), name, "the measurement")
            service.override(name, reason)
        return _done(
            request, name, gettext("Overridden. Your service contributes now; your reason is in Carole's audit log.")
        )

    def waiting_share(self, request: Request) -> Response:
        """What it means to fetch a share that the other custodian has not countersigned."""
        with self._custodian.service() as service:
            project = project_of(service, request)
        return self._pages.page(
            "fetch_alone.html.j2",
            request,
            project=project.project,
            other=self._custodian.party.side.other.title(),
            limits=_LIMITS,
            open="fetch-alone" in project.decisions,
        )

    def fetch_alone(self, request: Request, form: Form) -> Response:
        """Fetch it."""
        reason = normalized_reason(form.get("reason", ""))
        with self._custodian.service() as service:
            name = project_of(service, request).project
            service.fetch_alone(name, reason)
        message = gettext("Decided. Your service fetches the share now; your reason goes to Carole's audit log.")
        return _done(request, name, message)

    def restored(self, request: Request) -> Response:
        """What Carole's log has lost by a restoration of her store."""
        with self._custodian.service() as service:
            project = project_of(service, request)
            restoration, lines = service.show_restored(project.project)
        return self._pages.page(
            "restored.html.j2",
            request,
            project=project.project,
            title=self._custodian.party.title,
            restoration=restoration,
            lines=lines,
            limits=_LIMITS,
            open="accept-restore" in project.decisions,
        )

    def decide_restored(self, request: Request, form: Form) -> Response:
        """Accept the restoration that the page showed, or refuse it."""
        decision, given = form.get("decision", ""), form.get("restoration", "")
        if decision not in RESTORE_DECISIONS or not (given.isascii() and given.isdigit() and len(given) < 16):
            raise parameter("decision", "a decision is to accept or to refuse", remedy="choose one")
        accept = RESTORE_DECISIONS[decision]
        reason = form.get("reason", "").strip()
        if not accept:
            reason = normalized_reason(reason)
        with self._custodian.service() as service:
            name = project_of(service, request).project
            awaits = service.decide_restored(name, int(given), accept=accept, reason=reason)
        return _done(request, name, decided_line(name, awaits, accepted=accept))


def _require_read(form: Form, present: str, project: str, what: str) -> None:
    """Refuse a decision about something else than the page showed.

    Raises
    ------
    GemelError
        WRONG_STATE.
    """
    if not secrets.compare_digest(form.get("read", "").encode(), present.encode()):
        raise GemelError(
            ErrorCode.WRONG_STATE,
            f"{what} is another than the one you read",
            where=project,
            remedy="read it again before you decide",
        )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _done(request: Request, project: str, message: str) -> Response:
    """Back to a project's page, which shows the message once."""
    session_of(request).messages.append(("done", message))
    return RedirectResponse(f"/projects/{project}", 303)
