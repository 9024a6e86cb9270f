"""The viewer's server: its page, and a read-only API for the runs of one folder."""

from __future__ import annotations

import errno
import json
import math
import re
import secrets
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from html import escape
from pathlib import Path
from pkgutil import get_data
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp

from kinfolk.core.errors import KinfolkError, UsageError
from kinfolk.core.settings import shorten_repr
from kinfolk.replay.codec import FRAMES, SERIES
from kinfolk.replay.reader import Replay
from kinfolk.viewer.connections import TimedHTTPProtocol
from kinfolk.viewer.live import stream_updates
from kinfolk.viewer.run_index import RunIndex
from kinfolk.viewer.security import LOOPBACK, RequestGuard

_PAGE_FILES = {"": "index.html", "app.js": "app.js", "app.css": "app.css"}
_MEDIA_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
_BINARY_MEDIA_TYPE = "application/octet-stream"
# A page of a run may hold what others wrote: it gets no access to this server, and loads nothing.
_FOREIGN_PAGE_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; frame-src blob: data: 'self'; "
    "style-src 'unsafe-inline'; img-src data: blob:"
)
_MAX_PATH_SHOWN = 100  # characters of a path in an error message

Endpoint = Callable[[Request], Response]
Handler = Callable[[RunIndex, Request], Response]


class FiniteJSONResponse(JSONResponse):
    """JSON response that also takes values of damaged files: lone surrogates, NaN and infinity."""

    def render(self, content: Any) -> bytes:
        """Encode the content; numbers that are not finite become null."""
        try:
            return json.dumps(content, allow_nan=False).encode()
        except ValueError:
            return json.dumps(_replace_nonfinite(content), allow_nan=False).encode()


def _replace_nonfinite(value: Any) -> Any:
    """Return a JSON value with None in place of numbers that are not finite."""
    if isinstance(value, Mapping):
        return {key: _replace_nonfinite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_nonfinite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def make_app(
    run_index: RunIndex, hosts: tuple[str, ...] = LOOPBACK, token: str | None = None
) -> ASGIApp:
    """Build the viewer's ASGI application.

    Args:
        run_index: The runs to serve.
        hosts: Names and addresses that are accepted in a request's Host header.
        token: Secret that requests must carry; None if they need none.
    """
    replay = "/api/runs/{run}/replays/{replay}"
    handlers: dict[str, Handler] = {
        "/api/runs": lambda index, _: FiniteJSONResponse(index.list_runs()),
        "/api/runs/{run}": _serve_json(RunIndex.get_info),
        "/api/runs/{run}/metrics": _serve_json(RunIndex.get_metrics),
        "/api/runs/{run}/report": _serve_json(RunIndex.get_report),
        "/api/runs/{run}/roles": _serve_json(RunIndex.get_role_history),
        "/api/runs/{run}/pages/{page}": _serve_page,
        replay: _serve_replay,
        f"{replay}/series": _serve_series,
        f"{replay}/frames/{{chunk}}": _serve_frames,
    }
    routes: list[Any] = [
        Route(path, _handle_errors(run_index, handler)) for path, handler in handlers.items()
    ]
    routes += [Route(f"/{path}", _serve_file(name)) for path, name in _PAGE_FILES.items()]
    routes.append(WebSocketRoute("/api/updates", lambda socket: stream_updates(run_index, socket)))
    app = Starlette(routes=routes, exception_handlers={HTTPException: _handle_not_found})
    return RequestGuard(app, hosts, token)


def _handle_errors(run_index: RunIndex, handler: Handler) -> Endpoint:
    """Return an endpoint that answers kinfolk's errors with status 400, 404 or 422 and their message.

    It is not a coroutine, so that starlette runs it, and the file access in it, in a thread.
    """

    @wraps(handler)
    def endpoint(request: Request) -> Response:
        """Call the handler; answer an error with its message."""
        try:
            return handler(run_index, request)
        except KinfolkError as error:
            status = 404 if isinstance(error, UsageError) else 422
            if isinstance(error, _BadNumberError):
                status = 400
            return FiniteJSONResponse({"error": str(error)}, status_code=status)

    return endpoint


def read_page_file(name: str) -> bytes:
    """Return the content of a file of the page, which is bundled in the package."""
    data = get_data("kinfolk.viewer", f"page/{name}")
    assert data is not None
    return data


def _serve_file(name: str) -> Endpoint:
    """Return an endpoint that answers with a file of the page."""
    data, media_type = read_page_file(name), _MEDIA_TYPES[name.rpartition(".")[2]]
    return lambda _: Response(data, media_type=media_type)


async def _handle_not_found(request: Request, error: Exception) -> Response:
    """Answer a request for an unknown path, with a page for browsers and JSON otherwise."""
    assert isinstance(error, HTTPException)
    path = request.url.path
    shown = path if len(path) <= _MAX_PATH_SHOWN else path[:_MAX_PATH_SHOWN] + "..."
    message = f"There is nothing at {shown}."
    if "text/html" in request.headers.get("accept", ""):
        body = f'<p>{escape(message)}</p><p><a href="/">All runs</a></p>'
        page = f"<!doctype html><title>kinfolk</title>{body}"
        return HTMLResponse(page, status_code=error.status_code)
    return FiniteJSONResponse({"error": message}, status_code=error.status_code)


def _serve_json(read: Callable[[RunIndex, str], Any]) -> Handler:
    """Return a handler that answers with what a method of the index returns for the run."""
    return lambda index, request: FiniteJSONResponse(read(index, request.path_params["run"]))


def _serve_page(run_index: RunIndex, request: Request) -> Response:
    """Answer with a page that a run holds; it runs as a page of another site would."""
    page = run_index.get_page(request.path_params["run"], request.path_params["page"])
    headers = {"content-security-policy": _FOREIGN_PAGE_POLICY}
    return HTMLResponse(page, headers=headers)


def _get_replay(run_index: RunIndex, request: Request) -> Replay:
    """Return the replay that the path of a request names."""
    return run_index.get_replay(request.path_params["run"], request.path_params["replay"])


def _serve_replay(run_index: RunIndex, request: Request) -> Response:
    """Answer with a replay's head, the frames of its chunks, its result and whether it grows."""
    replay = _get_replay(run_index, request)
    headers = [record.header for record in replay.records[FRAMES]]
    chunks = [{"first": header.first, "count": header.frames} for header in headers]
    run = request.path_params["run"]
    is_live = not replay.is_complete and run_index.get_run(run).status == "running"
    answer = {"head": replay.head(), "chunks": chunks, "result": replay.result(), "live": is_live}
    return FiniteJSONResponse(answer)


class _BadNumberError(UsageError):
    """A request names a chunk by what is not a number."""


def _parse_chunk_number(text: str) -> int:
    """Return the number of a chunk in a request.

    Raises:
        _BadNumberError: It is not a number of at most nine digits.
    """
    if not re.fullmatch("[0-9]{1,9}", text):
        problem = f"not {shorten_repr(text)}"
        raise _BadNumberError(f"A chunk has a number of at most nine digits, {problem}.")
    return int(text)


def _serve_series(run_index: RunIndex, request: Request) -> Response:
    """Answer with the SERI records from chunk `from` on, each after its length as uint32."""
    replay = _get_replay(run_index, request)
    first = _parse_chunk_number(request.query_params.get("from", "0"))
    payloads = [replay.read_compressed(record) for record in replay.records[SERIES][first:]]
    data = b"".join(struct.pack("<I", len(payload)) + payload for payload in payloads)
    return Response(data, media_type=_BINARY_MEDIA_TYPE)


def _serve_frames(run_index: RunIndex, request: Request) -> Response:
    """Answer with the FRAM record of one chunk."""
    replay = _get_replay(run_index, request)
    chunk = _parse_chunk_number(request.path_params["chunk"])
    records = replay.records[FRAMES]
    if chunk >= len(records):
        raise UsageError(f"{replay.path} has {len(records)} chunks of frames, not {chunk + 1}.")
    return Response(replay.read_compressed(records[chunk]), media_type=_BINARY_MEDIA_TYPE)


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
        problem = f"The viewer cannot listen on {host} port {port}: {error}."
        if error.errno == errno.EADDRINUSE:
            problem = f"Port {port} of {host} is in use. Choose another with --port, or any with --port 0."
        raise UsageError(problem) from None
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
    names = () if is_local else (host, socket.gethostname(), *_local_addresses(host))
    app = make_app(RunIndex(root), (*LOOPBACK, *names), token)
    name = f"[{host}]" if ":" in host else host
    on_ready(f"http://{name}:{port}/" + (f"?token={token}" if token else ""))
    uvicorn.Server(make_uvicorn_config(app)).run(sockets=[listener])


@contextmanager
def serve_in_thread(app: ASGIApp, port: int = 0) -> Iterator[str]:
    """Serve an application on this machine from a thread, and yield its URL."""
    listener = open_socket("127.0.0.1", port)
    server = uvicorn.Server(make_uvicorn_config(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join(10)


def make_uvicorn_config(app: ASGIApp) -> uvicorn.Config:
    """Return the server's configuration: few log lines, a shutdown within a second, timeouts."""
    return uvicorn.Config(
        app, log_level="warning", lifespan="off", http=TimedHTTPProtocol, ws="websockets-sansio",
        ws_ping_interval=20.0, ws_ping_timeout=20.0, server_header=False, timeout_graceful_shutdown=1,
    )  # fmt: skip


def _local_addresses(host: str) -> list[str]:
    """Return the addresses of this machine if `host` means all of them, else an empty list."""
    if host not in ("0.0.0.0", "::"):
        return []
    infos = socket.getaddrinfo(socket.gethostname(), None)
    return sorted({str(info[4][0]) for info in infos})
