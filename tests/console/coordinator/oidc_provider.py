"""A small OpenID Connect provider for tests: ``python -m tests.console.coordinator.oidc_provider PORT``.

It has discovery, the code flow with PKCE (S256 only), each code good once, and signed ID tokens. Whoever comes signs on
as the person named by the parameter ``as``; with ``spoil`` the token is of another issuer, audience, nonce or key, or
is too old.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import sys
import time
import warnings

import uvicorn
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT = "gemel-console"


class Provider:
    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._key = RSAKey.generate_key(2048, {"kid": "1", "alg": "RS256", "use": "sig"})
        self._other = RSAKey.generate_key(2048, {"kid": "1", "alg": "RS256", "use": "sig"})
        self._codes: dict[str, dict[str, str]] = {}

    def routes(self) -> list[Route]:
        return [
            Route("/.well-known/openid-configuration", self.discovery),
            Route("/authorize", self.authorize),
            Route("/token", self.token, methods=["POST"]),
            Route("/keys", self.keys),
        ]

    def discovery(self, _: Request) -> Response:
        named = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        return JSONResponse(
            {
                "issuer": self._issuer,
                **{key: f"{self._issuer}/{path}" for key, path in named.items()},
                "response_types_supported": ["code"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "code_challenge_methods_supported": ["S256"],
            }
        )

    def keys(self, _: Request) -> Response:
        return JSONResponse({"keys": [self._key.as_dict(private=False)]})

    def authorize(self, request: Request) -> Response:
        given = dict(request.query_params)
        if given.get("client_id") != CLIENT or given.get("code_challenge_method") != "S256" or "as" not in given:
            return JSONResponse({"error": "invalid_request"}, 400)
        code = secrets.token_urlsafe(16)
        self._codes[code] = given
        return RedirectResponse(f"{given['redirect_uri']}?code={code}&state={given['state']}", 302)

    async def token(self, request: Request) -> Response:
        form = await request.form()
        given = self._codes.pop(str(form.get("code")), None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(str(form.get("code_verifier")).encode()).digest())
        if given is None or challenge.rstrip(b"=").decode() != given["code_challenge"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        spoilt = given.get("spoil", "")
        now = int(time.time()) - (7200 if spoilt == "time" else 0)
        claims = {
            "iss": "https://evil.example" if spoilt == "issuer" else self._issuer,
            "aud": "another" if spoilt == "audience" else CLIENT,
            "nonce": "another" if spoilt == "nonce" else given.get("nonce", ""),
            "sub": given["as"],
            "iat": now,
            "exp": now + 600,
        }
        key = self._other if spoilt == "key" else self._key
        token = jwt.encode({"alg": "RS256", "kid": "1"}, claims, key)
        return JSONResponse({"access_token": secrets.token_urlsafe(16), "token_type": "Bearer", "id_token": token})


def main() -> None:
    port = int(sys.argv[1])
    provider = Provider(f"http://127.0.0.1:{port}")
    uvicorn.run(Starlette(routes=provider.routes()), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
