"""Who is let in: this machine's own browser, and only from the viewer's own page.

Covered: other sites that call the server from a visitor's browser, by origin; names of other sites
that are made to point here, by host; strangers on the network, by token. Not covered: other users
of this machine while the server listens on loopback only.
"""

from __future__ import annotations

import hmac
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1")
TOKEN_COOKIE = "kinfolk_token"
_SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


class RequestGuard:
    """Refuses what does not come from the page itself.

    Args:
        app: What it guards.
        hosts: The names under which the server may be called.
        token: What a caller must know, if anything.
    """

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...], token: str | None) -> None:
        self._app, self._hosts, self._token = app, hosts, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a call through, or say why not."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        problem = self._find_problem(scope, headers)
        if problem:
            await _send_refusal(scope, receive, send, problem)
        elif self._token is not None and scope["type"] == "http" and _query_token(scope):
            # The token leaves the address bar for a cookie that only this server gets.
            answer = RedirectResponse(scope["path"], status_code=303)
            answer.set_cookie(TOKEN_COOKIE, self._token, httponly=True, samesite="strict")
            await answer(scope, receive, send)
        else:
            await self._app(scope, receive, _add_security_headers(send))

    def _find_problem(self, scope: Scope, headers: Headers) -> str | None:
        host = headers.get("host", "")
        if _hostname(host) not in self._hosts:
            return f"The viewer is not called '{_hostname(host)}' here."
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            return f"The viewer does not answer to pages of '{origin}'."
        if origin is None and scope["type"] == "websocket":
            return "The viewer follows runs for its own page only."
        if self._token is not None and not self._has_token(scope, headers):
            return "The viewer needs its token: open the address that `kinfolk view` printed."
        return None

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        cookies = SimpleCookie(headers.get("cookie", ""))
        told = cookies[TOKEN_COOKIE].value if TOKEN_COOKIE in cookies else _query_token(scope)
        return hmac.compare_digest((told or "").encode(), (self._token or "").encode())


def _query_token(scope: Scope) -> str | None:
    found = parse_qs(scope["query_string"].decode("latin-1")).get("token")
    return found[0] if found else None


def _hostname(host: str) -> str:
    """The name without its port; IPv6 addresses stand in brackets.

    >>> _hostname("localhost:80"), _hostname("[::1]:80"), _hostname("::1")
    ('localhost', '::1', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


async def _send_refusal(scope: Scope, receive: Receive, send: Send, problem: str) -> None:
    if scope["type"] == "websocket":
        await receive()  # the wish to connect; closing before accepting is a plain 403
        await send({"type": "websocket.close", "code": 1008, "reason": problem})
        return
    await JSONResponse({"error": problem}, status_code=403)(scope, receive, send)


def _add_security_headers(send: Send) -> Send:
    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            message["headers"] += [
                (name.encode(), value.encode())
                for name, value in _SECURITY_HEADERS.items()
                if name.encode() not in present
            ]
        await send(message)

    return sending
