"""Following a run: a message whenever there is more to read."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.websockets import WebSocket, WebSocketDisconnect

from kinfolk.core.errors import KinfolkError
from kinfolk.store.journal import size_of_events
from kinfolk.viewer.library import Library

PAUSE = 0.25  # seconds between two looks; a look costs a few system calls


async def follow(library: Library, socket: WebSocket) -> None:
    """Tell the page what has grown since the last look, until the run is over or it leaves.

    Only that there is more is told; the page asks for what it shows.
    """
    run, replay = socket.query_params.get("run", ""), socket.query_params.get("replay", "")
    await socket.accept()
    leaving = asyncio.create_task(_left(socket))
    last: dict[str, Any] = {}
    try:
        while not leaving.done():
            now = await run_in_threadpool(_look, library, run, replay)
            if now != last:
                grown = now["frames"] != last.get("frames")
                events = now["events"] if now["events"] != last.get("events") else -1
                news = {"status": now["status"], "replays": now["replays"]}
                await socket.send_json(news | {"grown": grown, "events": events})
                last = now
            if now["status"] != "running":
                await socket.close(1000)
                return
            await asyncio.wait([leaving], timeout=PAUSE)
    except KinfolkError as error:
        await socket.close(1000, str(error)[:100])
    except (WebSocketDisconnect, RuntimeError):
        pass  # the page has gone while it was being told
    finally:
        leaving.cancel()


async def _left(socket: WebSocket) -> None:
    """Return when the page has closed its end."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        while True:
            await socket.receive_text()


def _look(library: Library, run: str, replay: str) -> dict[str, Any]:
    kept = library.run(run)
    status = kept.status
    frames = library.replay(run, replay).frames if replay else 0
    events = size_of_events(kept.folder)
    return {"status": status, "replays": library.replays(kept), "frames": frames, "events": events}
