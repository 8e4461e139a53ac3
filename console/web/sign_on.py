"""Single sign-on by OpenID Connect: the provider says who it is, the configuration who may come in and what for.

The protocol is authlib's: code flow with PKCE, state and nonce, the token's signature, issuer, audience and time. What
it has to keep between the two requests is here, by a cookie that comes back from the provider's page and opens nothing.
"""

from __future__ import annotations

import secrets
import threading
import time
import warnings
from typing import Any

import httpx
from starlette.requests import Request
from starlette.responses import Response

from gemel.common.configuration import SignOnConfiguration
from gemel.common.errors import ErrorCode, GemelError
from gemel.console.web.guard import cookie_of

with warnings.catch_warnings(record=True):
    # Newer releases prefer a successor of httpx, and work with it; they insist on saying so.
    from authlib.integrations.base_client import OAuthError
    from authlib.integrations.starlette_client import OAuth

BACK = "/sign-on/back"
PENDING_SECONDS = 600.0
MAX_PENDING = 1000
_COOKIE = "gemel-sign-on"


class SignOn:
    """Signs people on at one provider."""

    def __init__(self, settings: SignOnConfiguration, base: str, right: str) -> None:
        self._settings, self._base, self._right = settings, base, right
        self._is_secure = base.startswith("https:")
        self._lock = threading.Lock()
        self._pending: dict[str, tuple[float, dict[str, Any]]] = {}
        # PKCE, so that a code is worth nothing to whoever else sees it; no proxy of the environment.
        self._client = OAuth().register(
            "provider",
            client_id=settings.client_id,
            client_secret=_secret(settings),
            server_metadata_url=f"{settings.issuer}/.well-known/openid-configuration",
            client_kwargs={"scope": "openid", "code_challenge_method": "S256", "trust_env": False, "timeout": 10.0},
        )

    async def redirect(self, request: Request) -> Response:
        """The answer that sends a browser to the provider."""
        pending: dict[str, Any] = {}
        request.scope["session"] = pending
        try:
            answer: Response = await self._client.authorize_redirect(request, self._base + BACK)
        except (httpx.HTTPError, OAuthError, ValueError) as error:
            raise self._away(error) from None
        name = secrets.token_urlsafe(32)
        with self._lock:
            now = time.monotonic()
            self._pending = {key: each for key, each in self._pending.items() if now - each[0] < PENDING_SECONDS}
            while len(self._pending) >= MAX_PENDING:
                self._pending.pop(next(iter(self._pending)))
            self._pending[name] = (now, pending)
        # Lax: the browser comes back from the provider's page.
        answer.set_cookie(
            _COOKIE, name, max_age=int(PENDING_SECONDS), httponly=True, samesite="lax", secure=self._is_secure
        )
        return answer

    async def signed_on(self, request: Request) -> tuple[str, bool]:
        """Who has signed on, by the provider's answer in a request; and whether the person may act."""
        with self._lock:
            began, pending = self._pending.pop(cookie_of(request, _COOKIE), (float("-inf"), {}))
        if time.monotonic() - began > PENDING_SECONDS:
            raise _refused("the sign-on was not begun in this browser, or too long ago")
        request.scope["session"] = pending
        try:
            token = await self._client.authorize_access_token(request)
        except httpx.HTTPError as error:
            raise self._away(error) from None
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the provider's answer, no one comes in
            raise _refused(f"the provider's answer is not valid ({type(error).__name__})") from None
        subject = str((token.get("userinfo") or {}).get("sub", ""))
        right = self._settings.subjects.get(subject)
        if not subject or right not in (self._right, "reader"):
            raise GemelError(
                ErrorCode.NOT_ADMITTED,
                f"you have signed on, and may not use the console of the {self._right}",
                where="sign-on",
                remedy="whoever runs the console adds your subject to console.sign_on.subjects",
            )
        return subject, right == self._right

    def forget(self, answer: Response) -> None:
        """Let the browser drop the cookie of a sign-on that has ended."""
        answer.delete_cookie(_COOKIE, httponly=True, samesite="lax", secure=self._is_secure)

    def _away(self, error: Exception) -> GemelError:
        what = "the provider of the single sign-on does not answer"
        got = type(error).__name__
        remedy = "try again; if it stays so, ask whoever runs it"
        return GemelError(ErrorCode.UNAVAILABLE, what, where=self._settings.issuer, got=got, remedy=remedy)


def _refused(what: str) -> GemelError:
    return GemelError(ErrorCode.NOT_ADMITTED, what, where="sign-on", remedy="sign on again")


def _secret(settings: SignOnConfiguration) -> str | None:
    path = settings.client_secret_file
    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        what = "the client's secret cannot be read"
        got = type(error).__name__
        remedy = "see console.sign_on.client_secret_file"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=str(path), got=got, remedy=remedy) from None
