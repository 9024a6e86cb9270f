"""The viewer's HTTP server: its page, and a read-only API for the runs of one folder."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from functools import wraps
from html import escape
from pkgutil import get_data
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp

from kinfolk.core.errors import KinfolkError, UsageError
from kinfolk.replay.format import FRAMES, SERIES
from kinfolk.replay.reader import Replay
from kinfolk.viewer.live import stream_updates
from kinfolk.viewer.run_index import RunIndex
from kinfolk.viewer.security import LOOPBACK, RequestGuard

_PAGE_FILES = {"": "index.html", "app.js": "app.js", "app.css": "app.css"}
_MEDIA_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
_BINARY_MEDIA_TYPE = "application/octet-stream"
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
        hosts: Names and addresses that may stand in a request's Host header.
        token: Secret that requests must carry; None if they need none.
    """
    replay = "/api/runs/{run}/replays/{replay}"
    handlers: dict[str, Handler] = {
        "/api/runs": _runs,
        "/api/runs/{run}/metrics": _metrics,
        "/api/runs/{run}/results": _results,
        "/api/runs/{run}/roles": _roles,
        replay: _replay,
        f"{replay}/series": _series,
        f"{replay}/frames/{{chunk:int}}": _frames,
    }
    routes: list[Any] = [
        Route(path, _handle_errors(run_index, handler)) for path, handler in handlers.items()
    ]
    routes += [Route(f"/{path}", _serve_file(name)) for path, name in _PAGE_FILES.items()]
    routes.append(WebSocketRoute("/api/updates", lambda socket: stream_updates(run_index, socket)))
    app = Starlette(routes=routes, exception_handlers={HTTPException: _handle_not_found})
    return RequestGuard(app, hosts, token)


def _handle_errors(run_index: RunIndex, handler: Handler) -> Endpoint:
    """Return an endpoint that answers kinfolk's errors with status 404 or 422 and their message.

    It is not a coroutine, so that starlette runs it, and the file access in it, in a thread.
    """

    @wraps(handler)
    def endpoint(request: Request) -> Response:
        try:
            return handler(run_index, request)
        except KinfolkError as error:
            status = 404 if isinstance(error, UsageError) else 422
            return FiniteJSONResponse({"error": str(error)}, status_code=status)

    return endpoint


def read_page_file(name: str) -> bytes:
    """Return a file of the page, as it was bundled into the package."""
    data = get_data("kinfolk.viewer", f"page/{name}")
    assert data is not None
    return data


def _serve_file(name: str) -> Endpoint:
    data, media_type = read_page_file(name), _MEDIA_TYPES[name.rpartition(".")[2]]
    return lambda _: Response(data, media_type=media_type)


async def _handle_not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.url.path
    shown = path if len(path) <= _MAX_PATH_SHOWN else path[:_MAX_PATH_SHOWN] + "..."
    message = f"There is nothing at {shown}."
    if "text/html" in request.headers.get("accept", ""):
        page = f'<!doctype html><title>kinfolk</title><p>{escape(message)}</p><p><a href="/">All runs</a></p>'
        return HTMLResponse(page, status_code=error.status_code)
    return FiniteJSONResponse({"error": message}, status_code=error.status_code)


def _runs(run_index: RunIndex, request: Request) -> Response:
    del request
    return FiniteJSONResponse(run_index.list_runs())


def _metrics(run_index: RunIndex, request: Request) -> Response:
    return FiniteJSONResponse(run_index.get_metrics(request.path_params["run"]))


def _results(run_index: RunIndex, request: Request) -> Response:
    return FiniteJSONResponse(run_index.get_results(request.path_params["run"]))


def _roles(run_index: RunIndex, request: Request) -> Response:
    return FiniteJSONResponse(run_index.get_role_history(request.path_params["run"]))


def _get_replay(run_index: RunIndex, request: Request) -> Replay:
    return run_index.get_replay(request.path_params["run"], request.path_params["replay"])


def _replay(run_index: RunIndex, request: Request) -> Response:
    """Answer with a replay's head, the frames of its chunks, its result and whether it grows."""
    replay = _get_replay(run_index, request)
    headers = [record.header for record in replay.records[FRAMES]]
    chunks = [{"first": header.first, "count": header.frames} for header in headers]
    is_live = (
        not replay.is_complete and run_index.get_run(request.path_params["run"]).status == "running"
    )
    return FiniteJSONResponse(
        {"head": replay.head(), "chunks": chunks, "result": replay.result(), "live": is_live}
    )


def _series(run_index: RunIndex, request: Request) -> Response:
    """Answer with the SERI records from chunk `from` on, each after its length as uint32."""
    replay = _get_replay(run_index, request)
    first = request.query_params.get("from", "0")
    if not first.isdecimal():
        raise UsageError(f"The parameter 'from' must be the number of a chunk, not '{first}'.")
    payloads = [replay.read_compressed(record) for record in replay.records[SERIES][int(first) :]]
    return Response(
        b"".join(struct.pack("<I", len(payload)) + payload for payload in payloads),
        media_type=_BINARY_MEDIA_TYPE,
    )


def _frames(run_index: RunIndex, request: Request) -> Response:
    """Answer with the FRAM record of one chunk."""
    replay, chunk = _get_replay(run_index, request), request.path_params["chunk"]
    records = replay.records[FRAMES]
    if chunk >= len(records):
        raise UsageError(f"{replay.path} has {len(records)} chunks of frames, not {chunk + 1}.")
    return Response(replay.read_compressed(records[chunk]), media_type=_BINARY_MEDIA_TYPE)
