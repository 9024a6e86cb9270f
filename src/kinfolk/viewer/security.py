"""Request checks: only this machine's own browser, and only from the viewer's own page.

Covered: other sites that call the server from a visitor's browser, by the Origin header; names of
other sites that resolve to this machine (DNS rebinding), by the Host header; other machines on the
network, by a token. Not covered: other users of this machine while the server listens on loopback.
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
    """ASGI middleware that refuses requests that do not come from the viewer's page.

    Args:
        app: Application behind it.
        hosts: Names and addresses that are accepted in the Host header.
        token: Secret that a request must carry in its query or cookie; None if it needs none.
    """

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...], token: str | None) -> None:
        self._app, self._hosts, self._token = app, hosts, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the application, or answer with status 403 and the reason."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        problem = self._find_problem(scope, headers)
        if problem:
            await _send_refusal(scope, receive, send, problem)
        elif self._token is not None and scope["type"] == "http" and _get_query_token(scope):
            # The token moves from the address bar to a cookie that is sent to this server only.
            response = RedirectResponse(scope["path"], status_code=303)
            response.set_cookie(TOKEN_COOKIE, self._token, httponly=True, samesite="strict")
            await response(scope, receive, send)
        else:
            await self._app(scope, receive, _add_security_headers(send))

    def _find_problem(self, scope: Scope, headers: Headers) -> str | None:
        """Return why a request is refused; None if it is accepted."""
        host = headers.get("host", "")
        if _parse_hostname(host) not in self._hosts:
            return f"The viewer does not serve the host '{_parse_hostname(host)}'."
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            return f"The viewer refuses requests from pages of '{origin}'."
        if origin is None and scope["type"] == "websocket":
            own_only = "The viewer accepts WebSockets from its own page only"
            return f"{own_only}; there was no Origin header."
        if self._token is not None and not self._has_token(scope, headers):
            return "The viewer needs its token: open the address that `kinfolk view` printed."
        return None

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        """Return whether a request carries the token in its cookie or its query."""
        cookies = SimpleCookie(headers.get("cookie", ""))
        token = cookies[TOKEN_COOKIE].value if TOKEN_COOKIE in cookies else _get_query_token(scope)
        return hmac.compare_digest((token or "").encode(), (self._token or "").encode())


def _get_query_token(scope: Scope) -> str | None:
    """Return the parameter `token` of the query; None if there is none."""
    tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token")
    return tokens[0] if tokens else None


def _parse_hostname(host: str) -> str:
    """Return the host name of a Host header: without the port, and without brackets for IPv6.

    >>> _parse_hostname("localhost:80"), _parse_hostname("[::1]:80"), _parse_hostname("::1")
    ('localhost', '::1', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


async def _send_refusal(scope: Scope, receive: Receive, send: Send, problem: str) -> None:
    """Answer a refused request with status 403.

    Args:
        scope: ASGI scope of the request.
        receive: ASGI receiver.
        send: ASGI sender.
        problem: Why it is refused.
    """
    if scope["type"] == "websocket":
        await receive()  # the connect message; closing before accepting answers with 403
        await send({"type": "websocket.close", "code": 1008, "reason": problem})
        return
    await JSONResponse({"error": problem}, status_code=403)(scope, receive, send)


def _add_security_headers(send: Send) -> Send:
    """Return a sender that adds the security headers which a response does not set itself."""

    async def send_with_headers(message: Any) -> None:
        """Send a message, with the missing security headers if it starts a response."""
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            wanted = [(name.encode(), value.encode()) for name, value in _SECURITY_HEADERS.items()]
            message["headers"] += [header for header in wanted if header[0] not in present]
        await send(message)

    return send_with_headers
