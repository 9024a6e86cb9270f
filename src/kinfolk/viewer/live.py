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
from kinfolk.viewer.run_table import list_run_replays

POLL_INTERVAL = 0.25  # seconds between looks for more of a run; each costs a few system calls


# Seconds without a sign of life after which a page is taken for gone. The page sends one every 20
# seconds, but browsers let hidden pages act once a minute only.
MAX_SILENCE = 150.0
_MAX_REASON_BYTES = 120  # of a closing message; the protocol allows 123


async def stream_updates(run_index: RunIndex, websocket: WebSocket) -> None:
    """Tell the page when its run has grown, until the run ends or the page disconnects.

    A message says only that there is more, as `status`, `replays`, `has_new_frames` and
    `events_size` (-1 if unchanged); the page then requests what it shows.

    Args:
        run_index: Where runs are looked up.
        websocket: Connection of the page; its query names the `run` and, optionally, its `replay`.
    """
    # The page may disconnect at any moment, which `accept`, `send_json` and `close` then raise.
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        await websocket.accept()
        disconnected = asyncio.create_task(_wait_for_disconnect(websocket))
        try:
            await _send_updates(run_index, websocket, disconnected)
        except KinfolkError as error:
            reason = str(error).encode()[:_MAX_REASON_BYTES].decode(errors="ignore")
            await websocket.close(1000, reason)
        finally:
            disconnected.cancel()


async def _send_updates(
    run_index: RunIndex, websocket: WebSocket, disconnected: asyncio.Task[None]
) -> None:
    """Send a message whenever the run has grown, and close the connection at its end.

    Args:
        run_index: Where runs are looked up.
        websocket: Connection of the page.
        disconnected: Ends when the page is gone.

    Raises:
        KinfolkError: There is no such run or replay, or it is damaged.
    """
    run = websocket.query_params.get("run", "")
    replay = websocket.query_params.get("replay", "")
    previous: dict[str, Any] = {}
    while not disconnected.done():
        progress = await run_in_threadpool(_read_progress, run_index, run, replay)
        if progress != previous:
            await websocket.send_json(_build_message(progress, previous))
            previous = progress
        if progress["status"] != "running":
            await websocket.close(1000)
            return
        await asyncio.wait([disconnected], timeout=POLL_INTERVAL)
    await websocket.close(1001)  # if it is only silent


async def _wait_for_disconnect(websocket: WebSocket) -> None:
    """Return when the page has closed its end, or has been silent for `MAX_SILENCE` seconds."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError, TimeoutError, KeyError):
        while True:
            await asyncio.wait_for(websocket.receive_text(), MAX_SILENCE)


def _read_progress(run_index: RunIndex, name: str, replay: str) -> dict[str, Any]:
    """Return the size of a run, by which the next poll tells whether it has grown.

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
        "replays": list_run_replays(run),
    }


def _build_message(progress: dict[str, Any], previous: dict[str, Any]) -> dict[str, Any]:
    """Return what is sent to the page when `progress` differs from the `previous` one."""
    message = {name: progress[name] for name in ("status", "replays")}
    message["has_new_frames"] = progress["frames"] != previous.get("frames")
    has_new_events = progress["events"] != previous.get("events")
    return message | {"events_size": progress["events"] if has_new_events else -1}
