"""Following a run: a message whenever there is more to read."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.websockets import WebSocket, WebSocketDisconnect

from kinfolk.core.errors import KinfolkError
from kinfolk.store.event_log import get_events_size
from kinfolk.viewer.run_index import RunIndex

POLL_INTERVAL = 0.25  # seconds between two looks; a look costs a few system calls


async def stream_updates(run_index: RunIndex, socket: WebSocket) -> None:
    """Tell the page what has grown since the last look, until the run is over or it leaves.

    Only that there is more is told; the page asks for what it shows.
    """
    run, replay = socket.query_params.get("run", ""), socket.query_params.get("replay", "")
    await socket.accept()
    leaving = asyncio.create_task(_wait_for_disconnect(socket))
    last: dict[str, Any] = {}
    try:
        while not leaving.done():
            now = await run_in_threadpool(_read_progress, run_index, run, replay)
            if now != last:
                grown = now["frames"] != last.get("frames")
                events = now["events"] if now["events"] != last.get("events") else -1
                news = {"status": now["status"], "replays": now["replays"]}
                await socket.send_json(news | {"has_new_frames": grown, "events_size": events})
                last = now
            if now["status"] != "running":
                await socket.close(1000)
                return
            await asyncio.wait([leaving], timeout=POLL_INTERVAL)
    except KinfolkError as error:
        await socket.close(1000, str(error)[:100])
    except (WebSocketDisconnect, RuntimeError):
        pass  # the page has gone while it was being told
    finally:
        leaving.cancel()


async def _wait_for_disconnect(socket: WebSocket) -> None:
    """Return when the page has closed its end."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        while True:
            await socket.receive_text()


def _read_progress(run_index: RunIndex, run: str, replay: str) -> dict[str, Any]:
    kept = run_index.get_run(run)
    status = kept.status
    frames = run_index.get_replay(run, replay).frames if replay else 0
    events = get_events_size(kept.folder)
    return {
        "status": status,
        "replays": run_index.list_replays(kept),
        "frames": frames,
        "events": events,
    }
