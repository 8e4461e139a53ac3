"""The pages on which a coordinator destroys what Carole has of a project: by a new epoch, or by erasing it."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.epochs import MAX_EPOCHS
from gemel.common.language import gettext, listed, ngettext, written
from gemel.common.specification import Specification, encoding_digest
from gemel.console.coordinator.acts import Act
from gemel.console.coordinator.coordinator_pages import PROJECT, ProjectPages, carole_has, page_of
from gemel.console.coordinator.project_words import is_under_way, shown_state
from gemel.console.coordinator.waiting import NAMES, S
from gemel.console.web.forms import Form, digest_of, done, form_page, posting, require_read
from gemel.protos.linkage.v1 import project_pb2

# What an erasure or a new epoch of a project destroys, and what stays, by what Carole has of it now.

_JUDGED = (S.PROJECT_STATE_ASSESSED, S.PROJECT_STATE_HELD)


def uploads_lost(status: project_pb2.ProjectStatus) -> Iterator[str]:
    """What the custodians have sent, and what is made of it at present; a clause each."""
    for each in status.contributions:
        name = NAMES[each.side]
        if each.committed:
            sent = ngettext(
                "what {name} has sent: the signatures of {rows} row",
                "what {name} has sent: the signatures of {rows} rows",
                each.rows,
            )
        elif each.bytes_received:
            sent = ngettext(
                "what has arrived of {name}'s upload of {rows} row",
                "what has arrived of {name}'s upload of {rows} rows",
                each.rows,
            )
        else:
            continue
        yield sent.format(name=name, rows=written(each.rows, ",d"))
    if is_under_way(status):
        yield gettext("the run that is under way, which ends without a result")


def erasure_lost(status: project_pb2.ProjectStatus) -> list[str]:
    """All of which an erasure destroys the keys; a clause each."""
    found = list(uploads_lost(status))
    run = status.run
    if status.state in _JUDGED and run.links_withheld:
        found.append(gettext("the result, which no party has received, and the report on its disclosure risk"))
    elif status.state in _JUDGED:
        result = ngettext(
            "the result with {links} link, which no party has received, and the report on its disclosure risk",
            "the result with {links} links, which no party has received, and the report on its disclosure risk",
            run.links,
        )
        found.append(result.format(links=written(run.links, ",d")))
    if status.state == S.PROJECT_STATE_RELEASED:
        result = ngettext(
            "the released result with {links} link at Carole, and the reports on it",
            "the released result with {links} links at Carole, and the reports on it",
            run.links,
        )
        withheld = gettext("the released result at Carole, and the reports on it")
        found.append(withheld if run.links_withheld else result.format(links=written(run.links, ",d")))
        if late := [NAMES[side.side] for side in status.sides if not side.result_acknowledged]:
            found.append(gettext("what was released to {names} and is not fetched yet").format(names=listed(late)))
    return found


def erasure_kept(status: project_pb2.ProjectStatus, spec: Specification) -> list[str]:
    """What an erasure leaves; a clause each."""
    found = [
        gettext("the specification, and that the project was: its name is not given again"),
        gettext("the audit log, with all approvals, decisions and reasons"),
        gettext("what is with the custodians: their records, and what they have fetched"),
    ]
    if status.state == S.PROJECT_STATE_RELEASED:
        days = spec.retention.releases_days
        kept = ngettext(
            "of the release, that it was made, and for {days} day the counts of its tables, with which Carole compares "
            "later releases of the same custodians",
            "of the release, that it was made, and for {days} days the counts of its tables, with which Carole "
            "compares later releases of the same custodians",
            days,
        )
        found.append(kept.format(days=written(days, ",d")))
    return found


class EndingPages(ProjectPages):
    def routes(self) -> list[BaseRoute]:
        return [
            form_page(f"{PROJECT}/new-epoch", self.epoch),
            posting(f"{PROJECT}/new-epoch", self.open_epoch),
            form_page(f"{PROJECT}/erase", self.erasure),
            posting(f"{PROJECT}/erase", self.erase),
        ]

    def epoch(self, request: Request) -> Response:
        status, _ = self._status(request, Act.NEW_EPOCH)
        lost = list(uploads_lost(status))
        return self._pages.page(
            "new_epoch.html.j2",
            request,
            project=status.project,
            epoch=status.epoch + 1,
            epochs=MAX_EPOCHS,
            blocking_error=status.blocking_error,
            lost=lost,
            read=digest_of(*lost),
        )

    def open_epoch(self, request: Request, form: Form) -> Response:
        coordinator = self._member.coordinator()
        status, text = self._status(request, Act.NEW_EPOCH, coordinator)
        if form.get("epoch") != str(status.epoch + 1):
            what = "another epoch was opened since you opened the page"
            got = f"epoch {status.epoch}"
            remedy = "look at the project again: the next epoch may be open already"
            raise GemelError(ErrorCode.WRONG_STATE, what, where=status.project, got=got, remedy=remedy)
        _require_read(list(uploads_lost(status)), form, status)
        encoding = encoding_digest(carole_has(text, status.project))
        coordinator.open_epoch(status.project, status.epoch + 1, encoding, form.get("reason", ""))
        message = gettext("The new epoch is open. Both custodians' operators read your reason.")
        return done(request, page_of(status.project), message)

    def erasure(self, request: Request) -> Response:
        # Also where the log is no longer what was seen: what it is about can then still be taken away.
        status, text = self._status(request, Act.ERASE, self._member.unchecked_coordinator())
        lost, kept = erasure_lost(status), erasure_kept(status, carole_has(text, status.project))
        return self._pages.page(
            "erase.html.j2",
            request,
            project=status.project,
            state=shown_state(status),
            lost=lost,
            kept=kept,
            read=digest_of(*lost, *kept),
        )

    def erase(self, request: Request, form: Form) -> Response:
        coordinator = self._member.unchecked_coordinator()
        status, text = self._status(request, Act.ERASE, coordinator)
        if form.get("name", "").strip() != status.project:
            what = "what was typed is not the project's name, and nothing was erased"
            raise parameter(status.project, what, remedy="open the page again, and type the name as it stands there")
        kept = erasure_kept(status, carole_has(text, status.project))
        _require_read(erasure_lost(status) + kept, form, status)
        coordinator.erase(status.project)
        message = gettext("The project is erased: the keys of all that Carole had of it are gone.")
        return done(request, page_of(status.project), message)


def _require_read(words: list[str], form: Form, status: project_pb2.ProjectStatus) -> None:
    """Refuse to destroy more, or other things, than the page named that was read."""
    what = "what would be erased is no longer what you read, and nothing was erased"
    remedy, got = "open the page again, and read what is erased", f"the project is now: {shown_state(status)}"
    require_read(form, digest_of(*words), status.project, what, remedy, got)
