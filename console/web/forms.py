"""Forms: each has its session's token, and is answered on a thread of its own since pages wait for other services."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.console.web.sessions import Session

CSRF = "csrf"
"""The name of the token's field."""
MAX_FIELDS = 30
MAX_PART_BYTES = 512 << 10
READS_ONLY = "you may read here, and not act"

Form = Mapping[str, str]
"""The fields of a form as text; of a file, its content."""


def session_of(request: Request) -> Session:
    found: Session = request.state.session
    return found


def done(request: Request, address: str, message: str) -> Response:
    """On to a page, which shows the message once."""
    session_of(request).messages.append(("done", message))
    return RedirectResponse(address, 303)


def require_read(form: Form, present: str, where: str, what: str, remedy: str, got: str = "") -> None:
    """Refuse, with WRONG_STATE, to act on something else than the page showed whose form this is."""
    if not secrets.compare_digest(form.get("read", "").encode(), present.encode()):
        raise GemelError(ErrorCode.WRONG_STATE, what, where=where, got=got, remedy=remedy)


def digest_of(*parts: bytes | str) -> str:
    """What a form has of all that its page showed, to be compared when it comes back (`require_read`)."""
    whole = (part.encode() if isinstance(part, str) else part for part in parts)
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in whole)).hexdigest()


def decided_for(act: str, form: Form) -> bool:
    """Whether a form's decision is for an act, such as to accept; PARAMETER if it is neither for it nor to refuse."""
    decision = form.get("decision")
    if decision not in (act, "refuse"):
        raise parameter("decision", f"a decision is to {act} or to refuse", remedy="choose one")
    return decision == act


def form_page(path: str, answer: Callable[[Request], Response]) -> Route:
    """The route of a page that is there for its form alone: who may only read is refused it, as its form would be."""

    def shown(request: Request) -> Response:
        _require_acting(request)
        return answer(request)

    return Route(path, shown)


def posting(path: str, answer: Callable[[Request, Form], Response], *, reading: bool = False) -> Route:
    """The route of a form, answered on a thread with its fields, the token already checked.

    `reading`: who may only read may send it too. NOT_ADMITTED for a form without the session's token, or of someone who
    may only read; TEXT_ENCODING for a file that is not UTF-8.
    """

    async def endpoint(request: Request) -> Response:
        async with request.form(max_files=1, max_fields=MAX_FIELDS, max_part_size=MAX_PART_BYTES) as sent:
            given, csrf = sent.get(CSRF), session_of(request).csrf
            if not isinstance(given, str) or not secrets.compare_digest(given.encode(), csrf.encode()):
                what = "the form is not of this session"
                remedy = "open the page again, and send the form from there"
                raise GemelError(ErrorCode.NOT_ADMITTED, what, where=request.url.path, remedy=remedy)
            if not reading:
                _require_acting(request)
            fields = {name: await _text(name, value) for name, value in sent.multi_items()}
        return await run_in_threadpool(answer, request, fields)

    return Route(path, endpoint, methods=["POST"])


def _require_acting(request: Request) -> None:
    if not session_of(request).acts:
        raise GemelError(ErrorCode.NOT_ADMITTED, READS_ONLY, where=request.url.path)


async def _text(name: str, value: str | UploadFile) -> str:
    if isinstance(value, str):
        # A browser sends line ends as a mail would have them.
        return value.replace("\r\n", "\n")
    content = await value.read(MAX_PART_BYTES + 1)
    if len(content) > MAX_PART_BYTES:
        raise parameter(name, f"a file has at most {MAX_PART_BYTES} bytes here")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GemelError(
            ErrorCode.TEXT_ENCODING,
            "a specification must be UTF-8 text",
            where=name,
            got=f"another encoding at byte {error.start}",
            remedy="save it as UTF-8",
        ) from None
