"""The server: what is asked for by name, and nothing more than is shown."""

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

_MAX_PATH_SHOWN = 100  # characters of a path in a message

Endpoint = Callable[[Request], Response]


class FiniteJSONResponse(JSONResponse):
    """Plain values, also those of damaged files: lone surrogates, and numbers JSON has no word for."""

    def render(self, content: Any) -> bytes:
        """The values as bytes; null for a number that is not finite."""
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
    """The viewer of a library as an ASGI application."""
    served = "/api/runs/{run}/replays/{replay}"
    paths: dict[str, Callable[[RunIndex, Request], Response]] = {
        "/api/runs": _runs,
        "/api/runs/{run}/metrics": _metrics,
        "/api/runs/{run}/results": _results,
        "/api/runs/{run}/roles": _roles,
        served: _replay,
        f"{served}/numbers": _numbers,
        f"{served}/frames/{{chunk:int}}": _frames,
    }
    routes: list[Any] = [
        Route(path, _handle_errors(run_index, call)) for path, call in paths.items()
    ]
    routes += [Route(f"/{path}", _serve_file(name)) for path, name in _PAGE_FILES.items()]
    routes.append(WebSocketRoute("/api/follow", lambda socket: stream_updates(run_index, socket)))
    app = Starlette(routes=routes, exception_handlers={HTTPException: _handle_not_found})
    return RequestGuard(app, hosts, token)


def _handle_errors(run_index: RunIndex, call: Callable[[RunIndex, Request], Response]) -> Endpoint:
    """An endpoint whose errors are sentences. Not async: it reads files, in a thread of its own."""

    @wraps(call)
    def answer(request: Request) -> Response:
        try:
            return call(run_index, request)
        except KinfolkError as error:
            status = 404 if isinstance(error, UsageError) else 422
            return FiniteJSONResponse({"error": str(error)}, status_code=status)

    return answer


def read_page_file(name: str) -> bytes:
    """A file of the page, as it was bundled into the package."""
    data = get_data("kinfolk.viewer", f"page/{name}")
    assert data is not None
    return data


def _serve_file(name: str) -> Endpoint:
    data, kind = read_page_file(name), _MEDIA_TYPES[name.rpartition(".")[2]]
    return lambda _: Response(data, media_type=kind)


async def _handle_not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.url.path
    said = f"There is nothing at {path if len(path) <= _MAX_PATH_SHOWN else path[:_MAX_PATH_SHOWN] + '...'}."
    if "text/html" in request.headers.get("accept", ""):
        page = f'<!doctype html><title>kinfolk</title><p>{escape(said)}</p><p><a href="/">All runs</a></p>'
        return HTMLResponse(page, status_code=error.status_code)
    return FiniteJSONResponse({"error": said}, status_code=error.status_code)


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
    """What was played and which frames there are."""
    replay = _get_replay(run_index, request)
    chunks = [{"first": p.header.first, "count": p.header.frames} for p in replay.records[FRAMES]]
    live = (
        not replay.is_complete and run_index.get_run(request.path_params["run"]).status == "running"
    )
    said = {"head": replay.head(), "chunks": chunks, "result": replay.result(), "live": live}
    return FiniteJSONResponse(said)


def _numbers(run_index: RunIndex, request: Request) -> Response:
    """The numbers of all frames from a chunk on: each record as written, after its length."""
    replay = _get_replay(run_index, request)
    first = request.query_params.get("from", "0")
    if not first.isdecimal():
        raise UsageError(f"Numbers are asked for from a chunk on, not from '{first}'.")
    packed = [replay.read_compressed(part) for part in replay.records[SERIES][int(first) :]]
    return Response(
        b"".join(struct.pack("<I", len(p)) + p for p in packed), media_type=_BINARY_MEDIA_TYPE
    )


def _frames(run_index: RunIndex, request: Request) -> Response:
    """The frames of one chunk, as written."""
    replay, chunk = _get_replay(run_index, request), request.path_params["chunk"]
    parts = replay.records[FRAMES]
    if chunk >= len(parts):
        raise UsageError(f"{replay.path} has {len(parts)} chunks of frames, not {chunk + 1}.")
    return Response(replay.read_compressed(parts[chunk]), media_type=_BINARY_MEDIA_TYPE)
