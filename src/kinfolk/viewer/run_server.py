"""Running the server until it is interrupted."""

from __future__ import annotations

import errno
import secrets
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from kinfolk.core.errors import UsageError
from kinfolk.viewer.run_index import RunIndex
from kinfolk.viewer.security import LOOPBACK
from kinfolk.viewer.server import make_app


def open_socket(host: str, port: int) -> socket.socket:
    """A socket that waits for callers; port 0 takes any that is free.

    Raises:
        UsageError: The port is in use, or the address is not one of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(64)
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"Port {port} of {host} is in use. Choose another with --port, or any with --port 0."
            ) from None
        raise UsageError(f"The viewer cannot listen on {host} port {port}: {error}.") from None
    return made


def serve(root: Path, host: str, port: int, on_ready: Callable[[str], None]) -> None:
    """Serve the runs in `root`; `on_ready` gets the address to open.

    On an address that others can reach, the page asks for a token, which is part of that address.
    """
    waiting = open_socket(host, port)
    port = waiting.getsockname()[1]
    is_local = host in LOOPBACK
    token = None if is_local else secrets.token_urlsafe(18)
    hosts = (
        LOOPBACK if is_local else (*LOOPBACK, host, socket.gethostname(), *_local_addresses(host))
    )
    app = make_app(RunIndex(root), hosts, token)
    name = f"[{host}]" if ":" in host else host
    on_ready(f"http://{name}:{port}/" + (f"?token={token}" if token else ""))
    uvicorn.Server(make_uvicorn_config(app)).run(sockets=[waiting])


def make_uvicorn_config(app: ASGIApp) -> uvicorn.Config:
    """How the server runs: quietly, and over soon when it is told to end."""
    return uvicorn.Config(
        app, log_level="warning", lifespan="off", ws="websockets-sansio", server_header=False,
        timeout_graceful_shutdown=1,
    )  # fmt: skip


def _local_addresses(host: str) -> list[str]:
    """Under which addresses this machine may be called if it listens on all of them."""
    if host not in ("0.0.0.0", "::"):
        return []
    found = socket.getaddrinfo(socket.gethostname(), None)
    return sorted({str(entry[4][0]) for entry in found})
