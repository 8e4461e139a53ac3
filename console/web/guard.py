"""What stands before every page of a console: who is refused before any page's code runs, and the headers of answers.

In this order: the host that the browser names (a page elsewhere could have its own name resolved to this machine), the
method, for what changes something the origin of the request, and the session. The token in each form is checked where
forms are read (`forms`). No answer is kept by a browser, framed by another page, or may load anything from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gemel.console.web.sessions import Session, Sessions

MAX_REQUEST_BYTES = 1 << 20
"""Of a form; a specification has at most 256 KiB."""
LIVE_HEADER = "x-live"
"""Of requests that a page's script makes by itself: they keep no session alive."""
RELOAD_HEADER = "x-reload"
"""Of an answer to such a request: the page is to be loaded again."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; base-uri 'none'; sandbox"
"""Of a report, a page of its own look without script, which a page of the console shows in a frame."""

_HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_SAFE = ("GET", "HEAD")


PATH = "/enter"
NEW_LINK = "/new-link"
OPEN_PATHS = ("/static/", PATH, NEW_LINK, "/sign-on", "/sign-on/back")
"""Paths that need no session, and the beginnings of paths among them that end with a slash."""


@dataclass(frozen=True)
class GuardRules:
    """Where a console is: the address `base` alone is let through, by the headers Host and Origin.

    The `cookie` has the port in its name, since a browser sends cookies to every port of a host.
    """

    base: str
    cookie: str

    @property
    def host(self) -> str:
        return self.base.partition("://")[2]

    @property
    def is_secure(self) -> bool:
        """Whether browsers speak TLS to the console."""
        return self.base.startswith("https:")


def _is_open(path: str) -> bool:
    return any(path == known or (known.endswith("/") and path.startswith(known)) for known in OPEN_PATHS)


class Guard:
    def __init__(
        self, app: ASGIApp, rules: GuardRules, sessions: Sessions, locked: Callable[[Request], Response]
    ) -> None:
        self._app, self._rules, self._sessions, self._locked = app, rules, sessions, locked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or let it through."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if self._rules.is_secure:
                    headers.setdefault("strict-transport-security", "max-age=31536000")
            await send(message)

        request = Request(scope)
        answer = self._refusal(request)
        if answer is None:
            session = self._session(request)
            scope.setdefault("state", {})["session"] = session
            if session is None and not _is_open(scope["path"]):
                answer = self._locked(request)
        if answer is not None:
            await answer(scope, receive, sent)
            return
        await self._app(scope, _limited(receive), sent)

    def _refusal(self, request: Request) -> Response | None:
        headers = request.headers
        if len(headers.getlist("host")) != 1 or headers["host"] != self._rules.host:
            return _refused("This console has another address than the one that was called.", 421)
        if request.method in _SAFE:
            return None
        if request.method != "POST":
            return _refused("This console reads pages and receives forms, and nothing else.", 405)
        if headers.get("origin") != self._rules.base:
            return _refused("This form does not come from a page of the console.", 403)
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return _refused("This form does not come from a page of the console.", 403)
        if _declared_length(headers) > MAX_REQUEST_BYTES:
            return _refused("This form is too large: a specification has at most 256 KiB.", 413)
        return None

    def _session(self, request: Request) -> Session | None:
        cookie = cookie_of(request, self._rules.cookie)
        return self._sessions.find(cookie, used=LIVE_HEADER not in request.headers) if cookie else None


def cookie_of(request: Request, name: str) -> str:
    """A cookie of a request; empty if it has none, or two of the name."""
    found = []
    for line in request.headers.getlist("cookie"):
        for part in line.split(";"):
            try:
                found += [morsel.value for key, morsel in SimpleCookie(part.strip()).items() if key == name]
            except CookieError:
                continue
    return found[0] if len(found) == 1 else ""


def _declared_length(headers: Headers) -> int:
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else MAX_REQUEST_BYTES + 1


def _limited(receive: Receive) -> Receive:
    """A request's content, of which no more is read than a form may have: the length need not be declared."""
    size = 0

    async def received() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        return {"type": "http.disconnect"} if size > MAX_REQUEST_BYTES else message

    return received


def _refused(words: str, status: int) -> Response:
    return PlainTextResponse(f"{words}\n", status)
