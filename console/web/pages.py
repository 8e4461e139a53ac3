"""Pages: templates in one look, everything escaped, nothing undefined."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from gemel.common.audit.statements import MAX_REASON, MIN_REASON
from gemel.common.errors import ErrorCode, GemelError, GemelErrors
from gemel.common.language import current, gettext, marked, ngettext, written
from gemel.common.pki.certificates import load_certificate, read_certificates, read_public
from gemel.common.pki.checks import utc_now
from gemel.common.pki.ending import Urgency, urgency
from gemel.common.pki.folders import PartyFolder
from gemel.common.rpc.certificate_endings import ending_lines
from gemel.console.web.guard import REPORT_POLICY
from gemel.console.web.sessions import Session
from gemel.protos.linkage.v1 import project_pb2

_HERE = "gemel.console.web"
_STATUS = {
    ErrorCode.PARAMETER: 400,
    ErrorCode.TEXT_ENCODING: 400,
    ErrorCode.SPECIFICATION: 422,
    ErrorCode.NOT_IDENTIFIED: 422,
    ErrorCode.NOT_ADMITTED: 403,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.WRONG_STATE: 409,
    ErrorCode.AUDIT: 409,
    ErrorCode.RUN_ACTIVE: 409,
    ErrorCode.EXISTS: 409,
    ErrorCode.UNAVAILABLE: 503,
    ErrorCode.BUSY: 503,
}
"""Of pages that show an error; 500 for all others."""
_KEPT = 8
"""Rendered reports: both roles look at one again."""


class Pages:
    """The templates of a console, rendered in the language that is written at present.

    Templates of `packages` are found, in this order, before those of this package. `links` stand in the head of each
    page, text and address; those in `acting` only for who may act. `remedies` has pages that help, by the code of an
    error. Title, links and remedies are `marked`.
    """

    def __init__(
        self,
        title: str,
        links: Sequence[tuple[str, str]],
        packages: Sequence[str] = (),
        acting: Collection[str] = (),
        remedies: Mapping[ErrorCode, tuple[str, str]] | None = None,
    ) -> None:
        self._found = (*packages, _HERE)
        self._made = Environment(
            loader=FunctionLoader(self._source),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.i18n"],
        )
        self._made.install_gettext_callables(gettext, ngettext, newstyle=True)  # type: ignore[attr-defined]
        self._made.filters["written"] = written
        self._made.globals |= {"acting": acting, "limits": (MIN_REASON, MAX_REASON)}
        self._title, self._links = title, links
        self._remedies = dict(remedies or {})
        self._lock = threading.Lock()
        self._reports: OrderedDict[bytes, str] = OrderedDict()

    def _source(self, name: str) -> str | None:
        for package in self._found:
            found = files(package).joinpath(name)
            if found.is_file():
                return found.read_text(encoding="utf-8")
        return None

    def text(self, template: str, request: Request, shown: Mapping[str, Any]) -> str:
        session: Session | None = getattr(request.state, "session", None)
        return self._made.get_template(template).render(
            session=session,
            path=request.url.path,
            language=current().code,
            console=gettext(self._title),
            navigation=[(gettext(text), address) for text, address in self._links],
            **shown,
        )

    def page(self, template: str, request: Request, status: int = 200, **shown: Any) -> Response:
        return HTMLResponse(self.text(template, request, shown), status)

    def error(self, request: Request, error: GemelError) -> Response:
        """The answer with an error: what is wrong, where, what was got and what to do, one by one if it is several."""
        helps = self._remedies.get(error.code)
        shown = {"errors": error_list(error), "helps": (gettext(helps[0]), helps[1]) if helps else None}
        return self.page("error.html.j2", request, _STATUS.get(error.code, 500), **shown)

    def report(self, content: bytes, render: Callable[[], str]) -> Response:
        """A report of some content, rendered unless it is among the newest: drawing one takes two seconds."""
        key = hashlib.sha256(content).digest()
        with self._lock:
            found = self._reports.get(key)
            if found is None:
                found = self._reports[key] = render()
                while len(self._reports) > _KEPT:
                    self._reports.popitem(last=False)
        return HTMLResponse(found, headers={"content-security-policy": REPORT_POLICY, "x-frame-options": "SAMEORIGIN"})


def error_list(error: GemelError) -> list[GemelError]:
    if not isinstance(error, GemelErrors):
        return [error]
    return [single for inner in error.errors for single in error_list(inner)]


_WORDS = {
    Urgency.NONE: "",
    Urgency.SOON: marked("ends soon: have it renewed"),
    Urgency.URGENT: marked("have it renewed now"),
}


def certificates_page(
    pages: Pages, request: Request, folder: PartyFolder, name: str, reported: Iterable[project_pb2.EndingCertificate]
) -> Response:
    """When certificates end: the member's own, of the given name, to the day, others' as far as Carole has named them
    last.
    """
    own = load_certificate(folder.certificate)
    chain = [(gettext("Your certificate"), own)]
    chain += [
        (gettext("An authority of Carole's certificate"), each)
        for each in read_certificates(read_public(folder.linker, "Carole's authority"), str(folder.linker))
    ]
    now = utc_now()
    rows = [
        {
            "whose": whose,
            "ends": f"{each.not_valid_after_utc:%Y-%m-%d %H:%M} UTC",
            "words": gettext(_WORDS[urgency(each, now)]),
            "days": (each.not_valid_after_utc - now).days,
        }
        for whose, each in chain
    ]
    return pages.page("certificates.html.j2", request, rows=rows, others=list(ending_lines(reported, without=name)))
