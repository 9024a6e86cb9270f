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
from kinfolk.store.files import temporary_directory

EXECUTABLE_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_COMMAND_FLAGS = (
    "--headless --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --mute-audio "
    "--remote-debugging-port=0"
)
_TIMEOUT = 60.0  # seconds for anything; a busy machine starts a browser slowly
_MAX_MESSAGE_BYTES = 256 * 2**20


def find_chromium() -> str:
    """Where it is.

    Raises:
        UsageError: It is not installed.
    """
    found = next((path for name in EXECUTABLE_NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise UsageError(
            "Pictures are drawn by Chromium, which is not installed. Install it, or write a page "
            "instead: kinfolk view RUN --export FILE.html"
        )
    return found


class BrowserPage:
    """A page that is open."""

    def __init__(self, socket: ClientConnection, session: str) -> None:
        self._socket, self._session, self._last_id = socket, session, 0

    def send_command(self, method: str, **options: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": options}
        return _send_command(self._socket, message | {"sessionId": self._session})

    def evaluate(self, script: str) -> Any:
        """The value of an expression; promises are waited for."""
        found = self.send_command(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in found:
            said = found["exceptionDetails"].get("exception", {}).get("description", "")
            raise KinfolkError(f"The page failed while a picture was drawn: {said[:200]}")
        return found["result"].get("value")

    def wait_for(self, script: str) -> None:
        """Wait until an expression holds."""
        until = time.monotonic() + _TIMEOUT
        while not self.evaluate(script):
            if time.monotonic() > until:
                raise KinfolkError(f"The page did not come to '{script}' in {_TIMEOUT:.0f} s.")
            time.sleep(0.02)

    def take_screenshot(self, selector: str) -> bytes:
        """A PNG of one element, as it is shown."""
        box = self.evaluate(
            f"(() => {{ const b = document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()"
        )
        x, y, width, height = box
        clip = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
        taken = self.send_command("Page.captureScreenshot", format="png", clip=clip)
        return b64decode(taken["data"])


@contextmanager
def open_browser_page(
    url: str, width: int, height: int, pixel_ratio: float = 1.0
) -> Iterator[BrowserPage]:
    """A page in a browser of its own, which ends with it."""
    with temporary_directory() as folder:
        process = _start_browser(find_chromium(), folder)
        try:
            with connect(_read_address(process), max_size=_MAX_MESSAGE_BYTES) as socket:
                target = _send_command(
                    socket,
                    {"id": 1, "method": "Target.createTarget", "params": {"url": "about:blank"}},
                )
                asked = {"targetId": target["targetId"], "flatten": True}
                told = _send_command(
                    socket, {"id": 2, "method": "Target.attachToTarget", "params": asked}
                )
                page = BrowserPage(socket, told["sessionId"])
                page.send_command(
                    "Emulation.setDeviceMetricsOverride",
                    width=width, height=height, deviceScaleFactor=pixel_ratio, mobile=False,
                )  # fmt: skip
                page.send_command("Page.navigate", url=url)
                page.wait_for("document.body?.dataset.ready === 'yes'")
                yield page
        finally:
            process.kill()
            process.wait()


def _start_browser(path: str, folder: Path) -> subprocess.Popen[str]:
    words = [path, *_COMMAND_FLAGS.split(), f"--user-data-dir={folder / 'browser'}"]
    if os.geteuid() == 0:
        words.append("--no-sandbox")  # Chromium refuses its sandbox to root
    return subprocess.Popen(
        [*words, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def _read_address(process: subprocess.Popen[str]) -> str:
    """Where the browser listens: it says so on stderr."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if "DevTools listening on " in line:
            return line.split("DevTools listening on ")[1].strip()
    raise KinfolkError(f"Chromium did not start: {' '.join(said[-3:]).strip()[:300]}")


def _send_command(socket: ClientConnection, message: dict[str, Any]) -> dict[str, Any]:
    """Send a message and wait for the one that answers it; what else is told is passed over."""
    socket.send(json.dumps(message))
    until = time.monotonic() + _TIMEOUT
    while True:
        told = json.loads(socket.recv(timeout=max(0.1, until - time.monotonic())))
        if told.get("id") == message["id"] and told.get("sessionId") == message.get("sessionId"):
            if "error" in told:
                raise KinfolkError(f"Chromium refused {message['method']}: {told['error']}.")
            found: dict[str, Any] = told["result"]
            return found
