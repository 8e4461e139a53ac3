"""The steward's pages: the queue of held results, one result with its report and the decision on it, the audit log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gemel.common.audit import AuditEntry
from gemel.common.audit.statements import normalized_reason
from gemel.common.language import gettext, marked
from gemel.console.coordinator.acts import acts_of_steward, forms_among
from gemel.console.coordinator.coordinator_pages import PROJECT, MemberPages, page_of
from gemel.console.coordinator.project_words import described, page_state, project_list, when
from gemel.console.coordinator.waiting import S, risk_shown
from gemel.console.web.forms import Form, decided_for, done, posting, require_read, session_of
from gemel.console.web.listing import reloaded
from gemel.coordinator.client.steward_client import Steward
from gemel.protos.linkage.v1 import project_pb2

# What the audit log has that a steward decides by: the leakage that custodians measured, and who signed a release why.
#
# The entries are proven to be in the log that Carole has signed; what they state is the custodians' own word.


@dataclass(frozen=True)
class LeakageStatement:
    """What a custodian measured on its own records before it contributed them.

    `measured` is what known attacks recovered that is nearest to its `limit`, of a field's values above guessing or of
    a register's people: shares, None where the specification requires no measurement. `override` is the operator's
    reason to contribute above the limit.
    """

    custodian: str
    at: str
    measured: float | None
    limit: float | None
    override: str

    @property
    def is_above(self) -> bool:
        return self.measured is not None and self.limit is not None and self.measured > self.limit


@dataclass(frozen=True)
class ReleaseReason:
    """A steward's signature on the release of a held result, with when and why."""

    member: str
    at: str
    reason: str


def leakage_statements(entries: Iterable[AuditEntry]) -> list[LeakageStatement]:
    """The newest statement of each custodian, in the order of their names."""
    newest = {entry.actor: entry for entry in entries if entry.action == "begin-upload"}
    return [
        LeakageStatement(
            actor,
            when(entry.at),
            _share(entry.details.get("leakage")),
            _share(entry.details.get("leakage_limit")),
            str(entry.details.get("leakage_override", "")),
        )
        for actor, entry in sorted(newest.items())
    ]


def release_reasons(entries: Iterable[AuditEntry], run: str, signed: Sequence[str]) -> list[ReleaseReason]:
    newest = {entry.actor: entry for entry in entries if entry.action == "override" and entry.details.get("run") == run}
    return [
        ReleaseReason(name, when(newest[name].at), str(newest[name].details.get("reason", "")))
        if name in newest
        # Carole counts a signature that is not in her log: this is not to look like one that is.
        else ReleaseReason(name, "", "")
        for name in signed
    ]


def _share(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


LINKS = (
    (marked("Results"), "/"),
    (marked("Audit log"), "/audit"),
    (marked("Hand over"), "/hand-over"),
    (marked("Certificates"), "/certificates"),
)
ACTING = ("/hand-over",)
"""Which of them only who may act has."""


class StewardPages(MemberPages):
    def routes(self) -> list[BaseRoute]:
        return [
            Route("/", self.queue),
            Route("/certificates", self.certificates),
            Route(PROJECT, self.project),
            Route(f"{PROJECT}/live", self.live),
            Route(f"{PROJECT}/risk.html", self.risk_report),
            posting(f"{PROJECT}/decide", self.decide),
        ]

    def queue(self, request: Request) -> Response:
        judged = self._member.steward().assessed()
        held = sum(each.state == S.PROJECT_STATE_HELD for each in judged)
        mine = sum(self._awaits_me(each) for each in judged)
        shown = project_list(judged, request.query_params)
        return self._pages.page("queue.html.j2", request, **shown, held=held, mine=mine)

    def certificates(self, request: Request) -> Response:
        steward = self._member.steward()
        steward.assessed()
        return self._certificates(request, steward.certificates)

    def project(self, request: Request) -> Response:
        steward, status = self._judged(request)
        report = steward.report(status.project, status.run.run)
        entries = list(steward.entries(status.project))
        acts = acts_of_steward(status, self._member.name, self._member.coordinators)
        return self._pages.page(
            "result.html.j2",
            request,
            **described(status),
            **risk_shown(report, status.project),
            state_token=page_state(status),
            leakage=leakage_statements(entries),
            held=status.state == S.PROJECT_STATE_HELD,
            acts=forms_among(acts, acting=session_of(request).acts),
            has_signed=self._member.name in status.signed,
            reasons=release_reasons(entries, status.run.run, status.signed),
            signatures=status.signatures,
        )

    def live(self, request: Request) -> Response:
        _, status = self._judged(request)
        return reloaded(request, self._pages.page("live.html.j2", request, **described(status)), page_state(status))

    def risk_report(self, request: Request) -> Response:
        steward, status = self._judged(request)
        return self._risk_report(steward.report(status.project, status.run.run))

    def decide(self, request: Request, form: Form) -> Response:
        release = decided_for("release", form)
        reason = normalized_reason(form.get("reason", ""))
        steward, status = self._judged(request)
        report = steward.report(status.project, status.run.run)
        what, remedy = "the report is another than the one you read", "read the report again before you decide"
        require_read(form, report.sha256.hex(), status.project, what, remedy)
        after = steward.decide(status.project, status.run.run, report.sha256, release=release, reason=reason)
        return done(request, page_of(status.project), _outcome(after, release=release))

    def _judged(self, request: Request) -> tuple[Steward, project_pb2.ProjectStatus]:
        steward = self._member.steward()
        return steward, steward.judged(request.path_params["project"], "see the list of results")

    def _awaits_me(self, status: project_pb2.ProjectStatus) -> bool:
        return status.state == S.PROJECT_STATE_HELD and self._member.name not in status.signed


def _outcome(after: project_pb2.ProjectStatus, *, release: bool) -> str:
    if not release:
        return gettext("You have refused the result. Your reason and signature are in the audit log.")
    if after.state == S.PROJECT_STATE_HELD:
        return gettext("You have signed the release. The result stays held until the other signature is there.")
    return gettext("You have released the result. Your reason and signature are in the audit log.")
