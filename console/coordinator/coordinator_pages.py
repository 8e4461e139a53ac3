"""The coordinator's pages: projects, one project, its approval, its runs, its results."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gemel.common.documents.claimed_words import claimed_sentence
from gemel.common.documents.model_document import StatisticsDocument
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.language import gettext, marked, written
from gemel.common.specification import Specification, load_specification, specification_digest
from gemel.common.specification.model.content import PROJECT_PATTERN
from gemel.console.coordinator.acts import Act, acts_of_coordinator, forms_among, require_act
from gemel.console.coordinator.member import Member
from gemel.console.coordinator.project_words import described, is_under_way, page_state, project_list
from gemel.console.coordinator.waiting import risk_shown
from gemel.console.web.forms import Form, done, form_page, posting, require_read, session_of
from gemel.console.web.listing import reloaded
from gemel.console.web.pages import Pages, certificates_page
from gemel.console.web.specification_words import specification_shown
from gemel.coordinator.client.coordinator_client import Coordinator, Report
from gemel.coordinator.client.run_progress import RESOLVE, pairs_compared
from gemel.protos.linkage.v1 import project_pb2

# Runs of mode block_keyed that wait for the resolver, resolved by this console on threads of its own.


class Resolutions:
    """What the console resolves, or has resolved, by project and run."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._lock = threading.Lock()
        self._done: dict[tuple[str, str], float] = {}
        self._failed: dict[tuple[str, str], GemelError] = {}

    def begin(self, project: str, run: str) -> None:
        """Begin to resolve a run that waits for it, unless that is under way already."""
        key = (project, run)
        with self._lock:
            if key in self._done:
                return
            self._done[key] = 0.0
            self._failed.pop(key, None)
        threading.Thread(target=self._resolve, args=key, name=f"resolve {project}", daemon=True).start()

    def follow(self, project: str, run: str) -> None:
        """Resolve a run as soon as it waits for that, as `gemel project watch` would."""
        threading.Thread(target=self._follow, args=(project, run), name=f"follow {project}", daemon=True).start()

    def words(self, project: str, run: str) -> str:
        """How far it is, or why it failed; empty if it was not begun here."""
        key = (project, run)
        with self._lock:
            if key in self._failed:
                return gettext("It could not be resolved here: {error}").format(error=self._failed[key])
            if key not in self._done:
                return ""
            return gettext("It is being resolved here, {share} done.").format(share=written(self._done[key], ".0%"))

    def _follow(self, project: str, run: str) -> None:
        # What fails here is shown by the project's page too, with a button to try again.
        with suppress(GemelError):
            for status in self._member.unchecked_coordinator().watch(project, run):
                if status.state == project_pb2.RUN_STATE_RESOLVING and status.stage == RESOLVE:
                    self.begin(project, run)
                    return

    def _resolve(self, project: str, run: str) -> None:
        key = (project, run)

        def progress(_: str, done: float) -> None:
            with self._lock:
                self._done[key] = done

        try:
            self._member.unchecked_coordinator().resolve(project, run, progress)
        except GemelError as error:
            with self._lock:
                del self._done[key]
                self._failed[key] = error


LINKS = ((marked("Projects"), "/"), (marked("New project"), "/new"), (marked("Certificates"), "/certificates"))
ACTING = ("/new",)
"""Which of them only who may act has."""
PROJECT = "/projects/{project}"


class MemberPages:
    def __init__(self, member: Member, pages: Pages) -> None:
        self._member, self._pages = member, pages

    def _certificates(self, request: Request, reported: Iterable[project_pb2.EndingCertificate]) -> Response:
        return certificates_page(self._pages, request, self._member.found.folder, self._member.name, reported)

    def _risk_report(self, report: Report) -> Response:
        from gemel.coordinator.reports.disclosure import render_risk_report

        language = self._member.language
        return self._pages.report(
            report.text, lambda: render_risk_report(report.document, sha256=report.sha256, language=language)
        )


class ProjectPages(MemberPages):
    def _acts(self, status: project_pb2.ProjectStatus) -> frozenset[Act]:
        return acts_of_coordinator(status, self._member.name)

    def _status(
        self, request: Request, act: Act | None = None, coordinator: Coordinator | None = None
    ) -> tuple[project_pb2.ProjectStatus, str]:
        """The status and the specification of the project in a page's address, of which `act` must be possible."""
        status, text = (coordinator or self._member.coordinator()).get(project_name(request))
        if act is not None:
            require_act(act, self._acts(status), status)
        return status, text


class CoordinatorPages(ProjectPages):
    def __init__(self, member: Member, pages: Pages) -> None:
        super().__init__(member, pages)
        self._resolutions = Resolutions(member)

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/", self.projects),
            Route("/certificates", self.certificates),
            Route(PROJECT, self.project),
            Route(f"{PROJECT}/live", self.live),
            form_page(f"{PROJECT}/approve", self.approval),
            posting(f"{PROJECT}/approve", self.approve),
            posting(f"{PROJECT}/start", self.start),
            posting(f"{PROJECT}/resolve", self.resolve),
            Route(f"{PROJECT}/risk", self.risk),
            Route(f"{PROJECT}/risk.html", self.risk_report),
            Route(f"{PROJECT}/results", self.results),
            Route(f"{PROJECT}/report.html", self.linkage_report),
            Route(f"{PROJECT}/model.json", self.model),
        ]

    def projects(self, request: Request) -> Response:
        shown = project_list(self._member.coordinator().projects(), request.query_params)
        return self._pages.page("projects.html.j2", request, **shown)

    def certificates(self, request: Request) -> Response:
        coordinator = self._member.coordinator()
        coordinator.projects()
        return self._certificates(request, coordinator.certificates)

    def project(self, request: Request) -> Response:
        status, text = self._status(request)
        return self._pages.page(
            "project.html.j2",
            request,
            **self._shown(status),
            state_token=page_state(status),
            specification=specification_shown(carole_has(text, status.project), text),
            mine=status.owner == self._member.name,
            acts=forms_among(self._acts(status), acting=session_of(request).acts),
        )

    def live(self, request: Request) -> Response:
        status, _ = self._status(request, coordinator=self._member.unchecked_coordinator())
        return reloaded(request, self._pages.page("live.html.j2", request, **self._shown(status)), page_state(status))

    def approval(self, request: Request) -> Response:
        status, text = self._status(request, Act.APPROVE)
        specification = specification_shown(carole_has(text, status.project), text)
        return self._pages.page(
            "approve.html.j2", request, project=status.project, epoch=status.epoch, specification=specification
        )

    def approve(self, request: Request, form: Form) -> Response:
        coordinator = self._member.coordinator()
        status, text = coordinator.get(project_name(request))
        # The digest is computed here, from the text that is there; the form's is of what was read.
        digest = specification_digest(carole_has(text, status.project))
        what, remedy = "the specification has changed since you read it", "read it again before you approve it"
        require_read(form, digest.hex(), status.project, what, remedy)
        coordinator.approve(status.project, digest, status.epoch)
        message = gettext("You have approved the specification. The custodians approve it too.")
        return done(request, page_of(status.project), message)

    def start(self, request: Request, _: Form) -> Response:
        name, coordinator = project_name(request), self._member.coordinator()
        text = coordinator.get(name)[1]
        run = coordinator.start(name)
        spec = carole_has(text, name)
        if spec.in_blocks and not spec.resolution.joined:
            self._resolutions.follow(name, run.run)
        message = gettext("The run is requested. It goes on at Carole, also when this page is closed.")
        return done(request, page_of(name), message)

    def resolve(self, request: Request, form: Form) -> Response:
        status, _ = self._status(request)
        self._resolutions.begin(status.project, status.run.run)
        message = gettext("The records of the run are being resolved by this console.")
        return done(request, page_of(status.project), message)

    def risk(self, request: Request) -> Response:
        status, report = self._report(request)
        return self._pages.page("risk.html.j2", request, **described(status), **risk_shown(report, status.project))

    def risk_report(self, request: Request) -> Response:
        return self._risk_report(self._report(request)[1])

    def results(self, request: Request) -> Response:
        status, _, statistics = self._statistics(request)
        return self._pages.page(
            "results.html.j2",
            request,
            project=status.project,
            compared=pairs_compared(statistics.linkage),
            claimed=claimed_sentence(statistics.linkage.claims),
            links=statistics.linkage.links,
        )

    def linkage_report(self, request: Request) -> Response:
        from gemel.coordinator.rehearsal.output_folder import report_content
        from gemel.coordinator.reports.linkage.page import render_report

        status, text, statistics = self._statistics(request)
        spec = load_specification(text, status.project)
        content, language = report_content(spec, statistics, None), self._member.language
        return self._pages.report(statistics.written(), lambda: render_report(content, language))

    def model(self, request: Request) -> Response:
        status, _, statistics = self._statistics(request)
        name = f'attachment; filename="{status.project}-model.json"'
        return Response(statistics.written(), media_type="application/json", headers={"content-disposition": name})

    def _report(self, request: Request) -> tuple[project_pb2.ProjectStatus, Report]:
        coordinator = self._member.coordinator()
        status, _ = self._status(request, coordinator=coordinator)
        return status, coordinator.report(status.project, status.run.run)

    def _statistics(self, request: Request) -> tuple[project_pb2.ProjectStatus, str, StatisticsDocument]:
        coordinator = self._member.coordinator()
        status, text = self._status(request, coordinator=coordinator)
        return status, text, coordinator.statistics(status.project, status.run.run)

    def _shown(self, status: project_pb2.ProjectStatus) -> dict[str, Any]:
        resolving = self._resolutions.words(status.project, status.run.run) if is_under_way(status) else ""
        return {**described(status), "resolving": resolving}


def project_name(request: Request) -> str:
    return required_name(request.path_params["project"], "the page's address")


def required_name(name: str, where: str) -> str:
    """A name that a project can have; NOT_FOUND otherwise."""
    if not re.fullmatch(PROJECT_PATTERN, name):
        raise GemelError(ErrorCode.NOT_FOUND, "no project has such a name", where=where)
    return name


def page_of(project: str) -> str:
    return PROJECT.format(project=project)


def carole_has(text: str, project: str) -> Specification:
    """A project's specification, as Carole has it; errors as `load_specification`."""
    return load_specification(text, f"{project} at Carole")
