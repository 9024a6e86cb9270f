"""Running the viewer's HTTP server until it is interrupted."""

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
    """Return a listening socket; port 0 takes any port that is free.

    Raises:
        UsageError: The port is in use, or the address is not one of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(64)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"Port {port} of {host} is in use. Choose another with --port, or any with --port 0."
            ) from None
        raise UsageError(f"The viewer cannot listen on {host} port {port}: {error}.") from None
    return listener


def serve(root: Path, host: str, port: int, on_ready: Callable[[str], None]) -> None:
    """Serve the runs in a folder until the process is interrupted.

    Args:
        root: Folder that holds the runs.
        host: Address to listen on. If other machines can reach it, requests need a random token,
            which is part of the URL.
        port: Port to listen on; 0 takes any that is free.
        on_ready: Called with the URL to open, once the server accepts connections.

    Raises:
        UsageError: The port is in use, or the address is not one of this machine.
    """
    listener = open_socket(host, port)
    port = listener.getsockname()[1]
    is_local = host in LOOPBACK
    token = None if is_local else secrets.token_urlsafe(18)
    hosts = (
        LOOPBACK if is_local else (*LOOPBACK, host, socket.gethostname(), *_local_addresses(host))
    )
    app = make_app(RunIndex(root), hosts, token)
    name = f"[{host}]" if ":" in host else host
    on_ready(f"http://{name}:{port}/" + (f"?token={token}" if token else ""))
    uvicorn.Server(make_uvicorn_config(app)).run(sockets=[listener])


def make_uvicorn_config(app: ASGIApp) -> uvicorn.Config:
    """Return the server's configuration: few log lines, and a shutdown within a second."""
    return uvicorn.Config(
        app, log_level="warning", lifespan="off", ws="websockets-sansio", server_header=False,
        timeout_graceful_shutdown=1,
    )  # fmt: skip


def _local_addresses(host: str) -> list[str]:
    """Return the addresses of this machine if `host` stands for all of them, else none."""
    if host not in ("0.0.0.0", "::"):
        return []
    infos = socket.getaddrinfo(socket.gethostname(), None)
    return sorted({str(info[4][0]) for info in infos})
