"""The pages on which an operator decides: each shows what the decision is about, and its form has what was shown.

What the form names is compared with what the service has when the form comes back: nothing is decided that was not
read. The service compares once more where its calls can (`operator_service`).
"""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from gemel.common.audit.statements import normalized_reason
from gemel.common.errors import parameter
from gemel.common.language import gettext
from gemel.common.witnessing.wording import decided_line
from gemel.console.custodian.custodian import PROJECT, Custodian, CustodianPages
from gemel.console.custodian.project_pages import ProjectPages, profile_shown
from gemel.console.web.forms import Form, decided_for, digest_of, done, form_page, posting, require_read
from gemel.console.web.pages import Pages
from gemel.custodian.leakage_report import LeakageReport
from gemel.protos.linkage.v1 import operator_pb2


class DecisionPages(CustodianPages):
    """What a custodian decides; a form is on its page as long as the service offers the decision."""

    def __init__(self, custodian: Custodian, pages: Pages, shown: ProjectPages) -> None:
        super().__init__(custodian, pages)
        self._shown = shown

    def routes(self) -> list[BaseRoute]:
        decisions = {
            "approve": (self.approval, self.approve),
            "decline": (self.refusal, self.decline),
            "override": (self.limit, self.override),
            "fetch-alone": (self.waiting_share, self.fetch_alone),
            "accept-restore": (self.restored, self.decide_restored),
        }
        return [
            route
            for name, (shown, decided) in decisions.items()
            for route in (form_page(f"{PROJECT}/{name}", shown), posting(f"{PROJECT}/{name}", decided))
        ]

    def _form(
        self, template: str, request: Request, project: operator_pb2.CustodianProject, decision: str, **shown: Any
    ) -> Response:
        title, other = self._custodian.party.title, self._custodian.party.side.other.title()
        shown |= {"project": project.project, "title": title, "other": other}
        return self._pages.page(template, request, open=decision in project.decisions, **shown)

    def approval(self, request: Request) -> Response:
        with self._project(request) as (service, project):
            shown = self._shown.specified(service, project) | profile_shown(service.profile(project.project))
        return self._form("approval.html.j2", request, project, "approve", epoch=project.epoch, **shown)

    def approve(self, request: Request, form: Form) -> Response:
        """Sign the specification that the page showed, in the epoch that it showed."""
        with self._project(request) as (service, project):
            name = project.project
            found = service.specification(name)
            _require_read(form, f"{found.digest.hex()} {found.epoch}", name, "the specification")
            service.approve(name, found.digest, found.epoch)
            return _done(request, name, service.outcome_of(name))

    def refusal(self, request: Request) -> Response:
        with self._project(request) as (service, project):
            digest = service.specification(project.project).digest.hex()
        return self._form("refusal.html.j2", request, project, "decline", digest=digest)

    def decline(self, request: Request, form: Form) -> Response:
        """Decline the specification that the page named, with a reason."""
        reason = normalized_reason(form.get("reason", ""))
        with self._project(request) as (service, project):
            name = project.project
            _require_read(form, service.specification(name).digest.hex(), name, "the specification")
            service.decline(name, reason)
            return _done(request, name, service.outcome_of_decline(name))

    def limit(self, request: Request) -> Response:
        with self._project(request) as (service, project):
            found = service.leakage(project.project)
        report = LeakageReport.from_dict(json.loads(found.json))
        shown = {"report": report, "read": digest_of(found.json), "reason": found.reason}
        return self._form("override.html.j2", request, project, "override", **shown)

    def override(self, request: Request, form: Form) -> Response:
        reason = normalized_reason(form.get("reason", ""))
        with self._project(request) as (service, project):
            name = project.project
            _require_read(form, digest_of(service.leakage(name).json), name, "the measurement")
            service.override(name, reason)
        message = gettext("Overridden. Your service contributes now; your reason is in Carole's audit log.")
        return _done(request, name, message)

    def waiting_share(self, request: Request) -> Response:
        with self._project(request) as (_, project):
            return self._form("fetch_alone.html.j2", request, project, "fetch-alone")

    def fetch_alone(self, request: Request, form: Form) -> Response:
        reason = normalized_reason(form.get("reason", ""))
        with self._project(request) as (service, project):
            service.fetch_alone(project.project, reason)
        message = gettext("Decided. Your service fetches the share now; your reason goes to Carole's audit log.")
        return _done(request, project.project, message)

    def restored(self, request: Request) -> Response:
        with self._project(request) as (service, project):
            restoration, lines = service.show_restored(project.project)
        shown = {"restoration": restoration, "lines": lines}
        return self._form("restored.html.j2", request, project, "accept-restore", **shown)

    def decide_restored(self, request: Request, form: Form) -> Response:
        accept, given, reason = decided_for("accept", form), form.get("restoration", ""), form.get("reason", "").strip()
        if not (given.isascii() and given.isdigit() and len(given) < 16):
            raise parameter("restoration", "the form names no restored log", remedy="open the page again")
        if not accept:
            reason = normalized_reason(reason)
        with self._project(request) as (service, project):
            name = project.project
            awaits = service.decide_restored(name, int(given), accept=accept, reason=reason)
        return _done(request, name, decided_line(name, awaits, accepted=accept))


def _require_read(form: Form, present: str, project: str, what: str) -> None:
    require_read(form, present, project, f"{what} is another than the one you read", "read it again before you decide")


def _done(request: Request, project: str, message: str) -> Response:
    return done(request, PROJECT.format(project=project), message)
