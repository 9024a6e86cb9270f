"""Connections that end: a client that sends no request, or has gone without a word, is dropped."""

from __future__ import annotations

import asyncio
import socket

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_TIMEOUT = 20.0  # seconds in which a connection must have sent a whole request
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}  # seconds, and probes


class TimedHTTPProtocol(H11Protocol):
    """HTTP connection of uvicorn that is closed unless requests arrive in time.

    uvicorn closes a connection that is idle after an answer, but waits for ever for a first request
    and for the rest of one.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, and wait for its first request."""
        super().connection_made(transport)
        _enable_keepalive(transport.get_extra_info("socket"))
        self._start_deadline()

    def data_received(self, data: bytes) -> None:
        """Read what the client sent; a request that is complete ends the waiting."""
        super().data_received(data)
        if self.transport.get_protocol() is not self or not self._awaits_request():
            self._cancel_deadline()
        elif self._deadline is None:
            self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting, and forget the connection."""
        self._cancel_deadline()
        super().connection_lost(exc)

    def _awaits_request(self) -> bool:
        """Return whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _start_deadline(self) -> None:
        """Close the connection unless a request is complete in time."""
        self._deadline = self.loop.call_later(REQUEST_TIMEOUT, self._close_late)

    def _cancel_deadline(self) -> None:
        """Stop waiting for a request."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close_late(self) -> None:
        """Close the connection if it is still waiting for a request."""
        self._deadline = None
        if self._awaits_request() and not self.transport.is_closing():
            self.transport.abort()


def _enable_keepalive(connection: socket.socket | None) -> None:
    """Let the system find out that the other end has vanished, such as a laptop that was closed."""
    if connection is None:
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):  # not on every system
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
