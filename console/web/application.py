"""A console as an ASGI application: its routes behind the guard, with entrance, signing out and what all pages load."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from gemel.common.configuration import ConsoleConfiguration, Right
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.language import Language, LanguageCode, console_language, in_language
from gemel.console.web.forms import Form, posting
from gemel.console.web.guard import LIVE_HEADER, NEW_LINK, PATH, RELOAD_HEADER, Guard, GuardRules, cookie_of
from gemel.console.web.pages import Pages
from gemel.console.web.sessions import Sessions

if TYPE_CHECKING:
    from gemel.console.web.sign_on import SignOn


PAUSE_SECONDS = 10.0
"""No further link is printed sooner: whoever reaches the port could fill the terminal."""


class Entrance:
    """Makes links, of which the newest is good once."""

    def __init__(self, base: str, shown: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._base, self._shown, self._clock = base, shown, clock
        self._lock = threading.Lock()
        self._token = ""
        self._made = float("-inf")

    def show(self) -> bool:
        """Show a link, and make the one before it useless; False, and nothing shown, so soon after the last."""
        with self._lock:
            if self._clock() - self._made < PAUSE_SECONDS:
                return False
            self._token, self._made = secrets.token_urlsafe(32), self._clock()
            link = f"{self._base}{PATH}?token={self._token}"
        self._shown(link)
        return True

    def redeem(self, token: str) -> bool:
        """Whether this is the token of the newest link, not used yet; it is used now."""
        with self._lock:
            good = bool(self._token) and secrets.compare_digest(token.encode(), self._token.encode())
            if good:
                self._token = ""
            return good


LOADED = {"console.css": "text/css", "console.js": "text/javascript", "console.svg": "image/svg+xml"}
"""What pages load, by name: no path is ever made of what a browser sends."""


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in LOADED:
        return PlainTextResponse("There is no such file.\n", 404)
    return Response(files("gemel.console.web").joinpath(name).read_bytes(), media_type=LOADED[name])


def _failed(pages: Pages, request: Request, error: Exception) -> Response:
    if isinstance(error, GemelError):
        return pages.error(request, error)
    if isinstance(error, HTTPException) and error.status_code == 404:
        return pages.error(request, GemelError(ErrorCode.NOT_FOUND, "there is no such page"))
    unexpected = GemelError(ErrorCode.INTERNAL, "the page could not be made", remedy="see the console's terminal")
    answer = pages.error(request, unexpected)
    answer.status_code = error.status_code if isinstance(error, HTTPException) else 500
    return answer


class _Written:
    """ASGI middleware: what is answered is written in a console's language, also what the guard answers."""

    def __init__(self, guarded: Guard, language: Language) -> None:
        self._guarded, self._language = guarded, language

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Threads on which a page is made have a copy of this task's context, and with it the language.
        with in_language(self._language):
            await self._guarded(scope, receive, send)


def _by_link(opened: Entrance, pages: Pages, rules: GuardRules, sessions: Sessions, user: str) -> list[Route]:
    def enter(request: Request) -> Response:
        if not opened.redeem(request.query_params.get("token", "")):
            return pages.page("locked.html.j2", request, 403, by_link=True, sent=False)
        return _begun(pages, rules, request, sessions.begin(user, acts=True))

    def new_link(request: Request) -> Response:
        opened.show()
        return pages.page("locked.html.j2", request, 401, by_link=True, sent=True)

    return [Route(PATH, enter), Route(NEW_LINK, new_link, methods=["POST"])]


def _by_sign_on(sign_on: SignOn, pages: Pages, rules: GuardRules, sessions: Sessions) -> list[Route]:
    async def begin(request: Request) -> Response:
        return await sign_on.redirect(request)

    async def back(request: Request) -> Response:
        user, acts = await sign_on.signed_on(request)
        begun = await run_in_threadpool(sessions.begin, user, acts=acts)
        answer = _begun(pages, rules, request, begun)
        sign_on.forget(answer)
        return answer

    return [Route("/sign-on", begin), Route("/sign-on/back", back)]


def _begun(pages: Pages, rules: GuardRules, request: Request, cookie: str) -> Response:
    """A page that goes on to the first one: after a redirect from elsewhere a browser would not send the cookie yet."""
    if request.method == "HEAD":
        return RedirectResponse("/", 303)
    answer = pages.page("entered.html.j2", _without_session(request))
    answer.set_cookie(rules.cookie, cookie, httponly=True, samesite="strict", secure=rules.is_secure, path="/")
    return answer


def _without_session(request: Request) -> Request:
    request.state.session = None
    return request


def opened(
    routes: Sequence[BaseRoute],
    pages: Pages,
    settings: ConsoleConfiguration,
    rules: GuardRules,
    shown: Callable[[str], None],
    *,
    user: str,
    right: Right,
    language: LanguageCode,
) -> ASGIApp:
    """A console, in which `user` is the member as which it acts.

    `shown` shows a one-time link to whoever has started it, where there is no single sign-on; else a subject of that
    must have the `right` to act. Pages are English where the consoles have no catalogue of the member's `language`.
    """
    sessions = Sessions(settings.idle_minutes * 60, settings.longest_hours * 3600)
    by_link = settings.sign_on is None
    if settings.sign_on is None:
        entrance = Entrance(rules.base, shown)
        entrance.show()
        entering = _by_link(entrance, pages, rules, sessions, user)
    else:
        from gemel.console.web.sign_on import SignOn

        entering = _by_sign_on(SignOn(settings.sign_on, rules.base, right), pages, rules, sessions)

    def sign_out(request: Request, _: Form) -> Response:
        sessions.end(cookie_of(request, rules.cookie))
        answer = pages.page("signed_out.html.j2", _without_session(request))
        answer.delete_cookie(rules.cookie, httponly=True, samesite="strict", secure=rules.is_secure)
        return answer

    def locked(request: Request) -> Response:
        if LIVE_HEADER in request.headers:
            return PlainTextResponse("", 401, headers={RELOAD_HEADER: "1"})
        return pages.page("locked.html.j2", request, 401, by_link=by_link, sent=False)

    own = [Route("/static/{name}", _static), posting("/sign-out", sign_out, reading=True), *entering]
    handlers = dict.fromkeys((GemelError, HTTPException, Exception), partial(_failed, pages))
    guarded = Guard(Starlette(routes=[*own, *routes], exception_handlers=handlers), rules, sessions, locked)
    return _Written(guarded, console_language(language))
