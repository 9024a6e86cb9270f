"""Live updates over a WebSocket: a message whenever a run has grown."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.websockets import WebSocket, WebSocketDisconnect

from kinfolk.core.errors import KinfolkError
from kinfolk.store.event_log import get_events_size
from kinfolk.viewer.run_index import RunIndex

POLL_INTERVAL = 0.25  # seconds; a poll costs a few system calls


async def stream_updates(run_index: RunIndex, socket: WebSocket) -> None:
    """Tell the page when its run has grown, until the run ends or the page disconnects.

    A message says only that there is more, as `status`, `replays`, `has_new_frames` and
    `events_size` (-1 if unchanged); the page then requests what it shows.

    Args:
        run_index: Where runs are looked up.
        socket: Connection of the page; its query names the `run` and, optionally, its `replay`.
    """
    run, replay = socket.query_params.get("run", ""), socket.query_params.get("replay", "")
    await socket.accept()
    disconnected = asyncio.create_task(_wait_for_disconnect(socket))
    previous: dict[str, Any] = {}
    try:
        while not disconnected.done():
            progress = await run_in_threadpool(_read_progress, run_index, run, replay)
            if progress != previous:
                await socket.send_json(_build_message(progress, previous))
                previous = progress
            if progress["status"] != "running":
                await socket.close(1000)
                return
            await asyncio.wait([disconnected], timeout=POLL_INTERVAL)
    except KinfolkError as error:
        await socket.close(1000, str(error)[:100])
    except (WebSocketDisconnect, RuntimeError):
        pass  # the page disconnected while a message was being sent
    finally:
        disconnected.cancel()


async def _wait_for_disconnect(socket: WebSocket) -> None:
    """Return when the page has closed its end."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        while True:
            await socket.receive_text()


def _read_progress(run_index: RunIndex, name: str, replay: str) -> dict[str, Any]:
    """Return what tells whether a run has grown since the last poll.

    Args:
        run_index: Where the run is looked up.
        name: Name of the run.
        replay: Name of the replay that the page shows, "" if it shows none.

    Returns:
        `status`, `frames` of the replay, size of the `events` in bytes, and `replays`.
    """
    run = run_index.get_run(name)
    return {
        "status": run.status,  # read first: what a run writes before it ends must not be missed
        "frames": run_index.get_replay(name, replay).frames if replay else 0,
        "events": get_events_size(run.folder),
        "replays": run_index.list_replays(run),
    }


def _build_message(progress: dict[str, Any], previous: dict[str, Any]) -> dict[str, Any]:
    """Return what is sent to the page when `progress` differs from the `previous` one."""
    has_new_events = progress["events"] != previous.get("events")
    return {
        "status": progress["status"],
        "replays": progress["replays"],
        "has_new_frames": progress["frames"] != previous.get("frames"),
        "events_size": progress["events"] if has_new_events else -1,
    }
