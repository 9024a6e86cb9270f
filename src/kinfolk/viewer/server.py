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
from kinfolk.store.replay import Replay
from kinfolk.store.replay_form import FRAMES, NUMBERS
from kinfolk.viewer.follow import follow
from kinfolk.viewer.guard import LOOPBACK, Guard
from kinfolk.viewer.library import Library

_FILES = {"": "index.html", "app.js": "app.js", "app.css": "app.css"}
_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
_BYTES = "application/octet-stream"

_LONGEST_SHOWN = 100  # characters of a path in a message

Endpoint = Callable[[Request], Response]


class Json(JSONResponse):
    """Plain values, also those of damaged files: lone surrogates, and numbers JSON has no word for."""

    def render(self, content: Any) -> bytes:
        """The values as bytes; null for a number that is not finite."""
        try:
            return json.dumps(content, allow_nan=False).encode()
        except ValueError:
            return json.dumps(_finite(content), allow_nan=False).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def make_app(
    library: Library, hosts: tuple[str, ...] = LOOPBACK, token: str | None = None
) -> ASGIApp:
    """The viewer of a library as an ASGI application."""
    served = "/api/runs/{run}/replays/{replay}"
    paths: dict[str, Callable[[Library, Request], Response]] = {
        "/api/runs": _runs,
        "/api/runs/{run}/metrics": _metrics,
        "/api/runs/{run}/results": _results,
        "/api/runs/{run}/roles": _roles,
        served: _replay,
        f"{served}/numbers": _numbers,
        f"{served}/frames/{{chunk:int}}": _frames,
    }
    routes: list[Any] = [Route(path, _told(library, call)) for path, call in paths.items()]
    routes += [Route(f"/{path}", _file(name)) for path, name in _FILES.items()]
    routes.append(WebSocketRoute("/api/follow", lambda socket: follow(library, socket)))
    app = Starlette(routes=routes, exception_handlers={HTTPException: _not_there})
    return Guard(app, hosts, token)


def _told(library: Library, call: Callable[[Library, Request], Response]) -> Endpoint:
    """An endpoint whose errors are sentences. Not async: it reads files, in a thread of its own."""

    @wraps(call)
    def answer(request: Request) -> Response:
        try:
            return call(library, request)
        except KinfolkError as error:
            status = 404 if isinstance(error, UsageError) else 422
            return Json({"error": str(error)}, status_code=status)

    return answer


def page_file(name: str) -> bytes:
    """A file of the page, as it was bundled into the package."""
    data = get_data("kinfolk.viewer", f"page/{name}")
    assert data is not None
    return data


def _file(name: str) -> Endpoint:
    data, kind = page_file(name), _TYPES[name.rpartition(".")[2]]
    return lambda _: Response(data, media_type=kind)


async def _not_there(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.url.path
    said = f"There is nothing at {path if len(path) <= _LONGEST_SHOWN else path[:_LONGEST_SHOWN] + '...'}."
    if "text/html" in request.headers.get("accept", ""):
        page = f'<!doctype html><title>kinfolk</title><p>{escape(said)}</p><p><a href="/">All runs</a></p>'
        return HTMLResponse(page, status_code=error.status_code)
    return Json({"error": said}, status_code=error.status_code)


def _runs(library: Library, request: Request) -> Response:
    del request
    return Json(library.runs())


def _metrics(library: Library, request: Request) -> Response:
    return Json(library.metrics(request.path_params["run"]))


def _results(library: Library, request: Request) -> Response:
    return Json(library.results(request.path_params["run"]))


def _roles(library: Library, request: Request) -> Response:
    return Json(library.roles(request.path_params["run"]))


def _asked(library: Library, request: Request) -> Replay:
    return library.replay(request.path_params["run"], request.path_params["replay"])


def _replay(library: Library, request: Request) -> Response:
    """What was played and which frames there are."""
    replay = _asked(library, request)
    chunks = [{"first": p.prefix.first, "count": p.prefix.frames} for p in replay.parts[FRAMES]]
    live = not replay.is_whole and library.run(request.path_params["run"]).status == "running"
    said = {"head": replay.head(), "chunks": chunks, "result": replay.result(), "live": live}
    return Json(said)


def _numbers(library: Library, request: Request) -> Response:
    """The numbers of all frames from a chunk on: each record as written, after its length."""
    replay = _asked(library, request)
    first = request.query_params.get("from", "0")
    if not first.isdecimal():
        raise UsageError(f"Numbers are asked for from a chunk on, not from '{first}'.")
    packed = [replay.packed(part) for part in replay.parts[NUMBERS][int(first) :]]
    return Response(b"".join(struct.pack("<I", len(p)) + p for p in packed), media_type=_BYTES)


def _frames(library: Library, request: Request) -> Response:
    """The frames of one chunk, as written."""
    replay, chunk = _asked(library, request), request.path_params["chunk"]
    parts = replay.parts[FRAMES]
    if chunk >= len(parts):
        raise UsageError(f"{replay.path} has {len(parts)} chunks of frames, not {chunk + 1}.")
    return Response(replay.packed(parts[chunk]), media_type=_BYTES)
