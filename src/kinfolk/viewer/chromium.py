"""Headless Chromium, told what to do over its own protocol: one page, evaluated and photographed.

A whole browser library would be ten times the size of the viewer; this needs four commands.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from kinfolk.core.errors import KinfolkError, UsageError
from kinfolk.store.files import scratch_folder

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = (
    "--headless --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --mute-audio "
    "--remote-debugging-port=0"
)
_PATIENCE = 60.0  # seconds for anything; a busy machine starts a browser slowly
_MOST_MESSAGE = 256 * 2**20


def find_chromium() -> str:
    """Where it is.

    Raises:
        UsageError: It is not installed.
    """
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise UsageError(
            "Pictures are drawn by Chromium, which is not installed. Install it, or write a page "
            "instead: kinfolk view RUN --export FILE.html"
        )
    return found


class Page:
    """A page that is open."""

    def __init__(self, socket: ClientConnection, session: str) -> None:
        self._socket, self._session, self._number = socket, session, 0

    def call(self, method: str, **options: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": options}
        return _answer(self._socket, message | {"sessionId": self._session})

    def evaluate(self, script: str) -> Any:
        """The value of an expression; promises are waited for."""
        found = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in found:
            said = found["exceptionDetails"].get("exception", {}).get("description", "")
            raise KinfolkError(f"The page failed while a picture was drawn: {said[:200]}")
        return found["result"].get("value")

    def wait_for(self, script: str) -> None:
        """Wait until an expression holds."""
        until = time.monotonic() + _PATIENCE
        while not self.evaluate(script):
            if time.monotonic() > until:
                raise KinfolkError(f"The page did not come to '{script}' in {_PATIENCE:.0f} s.")
            time.sleep(0.02)

    def photograph(self, selector: str) -> bytes:
        """A PNG of one element, as it is shown."""
        box = self.evaluate(
            f"(() => {{ const b = document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()"
        )
        x, y, width, height = box
        clip = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
        taken = self.call("Page.captureScreenshot", format="png", clip=clip)
        return b64decode(taken["data"])


@contextmanager
def opened(address: str, width: int, height: int, ratio: float = 1.0) -> Iterator[Page]:
    """A page in a browser of its own, which ends with it."""
    with scratch_folder() as folder:
        process = _start(find_chromium(), folder)
        try:
            with connect(_address_of(process), max_size=_MOST_MESSAGE) as socket:
                target = _answer(
                    socket,
                    {"id": 1, "method": "Target.createTarget", "params": {"url": "about:blank"}},
                )
                asked = {"targetId": target["targetId"], "flatten": True}
                told = _answer(
                    socket, {"id": 2, "method": "Target.attachToTarget", "params": asked}
                )
                page = Page(socket, told["sessionId"])
                page.call(
                    "Emulation.setDeviceMetricsOverride",
                    width=width, height=height, deviceScaleFactor=ratio, mobile=False,
                )  # fmt: skip
                page.call("Page.navigate", url=address)
                page.wait_for("document.body?.dataset.ready === 'yes'")
                yield page
        finally:
            process.kill()
            process.wait()


def _start(path: str, folder: Path) -> subprocess.Popen[str]:
    words = [path, *_FLAGS.split(), f"--user-data-dir={folder / 'browser'}"]
    if os.geteuid() == 0:
        words.append("--no-sandbox")  # Chromium refuses its sandbox to root
    return subprocess.Popen(
        [*words, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def _address_of(process: subprocess.Popen[str]) -> str:
    """Where the browser listens: it says so on stderr."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if "DevTools listening on " in line:
            return line.split("DevTools listening on ")[1].strip()
    raise KinfolkError(f"Chromium did not start: {' '.join(said[-3:]).strip()[:300]}")


def _answer(socket: ClientConnection, message: dict[str, Any]) -> dict[str, Any]:
    """Send a message and wait for the one that answers it; what else is told is passed over."""
    socket.send(json.dumps(message))
    until = time.monotonic() + _PATIENCE
    while True:
        told = json.loads(socket.recv(timeout=max(0.1, until - time.monotonic())))
        if told.get("id") == message["id"] and told.get("sessionId") == message.get("sessionId"):
            if "error" in told:
                raise KinfolkError(f"Chromium refused {message['method']}: {told['error']}.")
            found: dict[str, Any] = told["result"]
            return found
