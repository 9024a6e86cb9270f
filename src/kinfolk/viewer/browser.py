"""A headless Chromium page, controlled through the Chrome DevTools Protocol.

Screenshots need four commands of the protocol; a browser automation library would be ten times the
size of the viewer.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from kinfolk.core.errors import KinfolkError, UsageError
from kinfolk.store.files import temporary_directory

EXECUTABLE_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_COMMAND_FLAGS = (
    "--headless --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --mute-audio "
    "--remote-debugging-port=0"
)
_TIMEOUT = 60.0  # seconds for any one command; a busy machine starts a browser slowly
_MARGIN = 48  # pixels below an element, for the padding of what holds it
_MAX_MESSAGE_BYTES = 256 * 2**20  # of one message, which may hold a screenshot


def find_chromium() -> str:
    """Return the path of the Chromium executable.

    Raises:
        UsageError: Chromium is not installed.
    """
    path = next((path for name in EXECUTABLE_NAMES if (path := shutil.which(name))), None)
    if path is None:
        raise UsageError(
            "Screenshots need Chromium, which is not installed. Install it, or write a page "
            "instead: kinfolk view RUN --export FILE.html"
        )
    return path


class BrowserPage:
    """A page that is opened in a running browser.

    Args:
        socket: Connection to the browser's DevTools endpoint.
        width: Width of the viewport, in CSS pixels.
        height: Height of the viewport, in CSS pixels.
        pixel_ratio: Device pixels per CSS pixel.
    """

    def __init__(
        self, socket: ClientConnection, width: int, height: int, pixel_ratio: float
    ) -> None:
        self._socket, self._last_id = socket, 0
        self._width, self._height, self._pixel_ratio = width, height, pixel_ratio
        self._session: dict[str, Any] = {}  # names the page's DevTools session, once there is one
        target = self.send_command("Target.createTarget", url="about:blank")
        attached = self.send_command(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        self._session = {"sessionId": attached["sessionId"]}
        self._set_viewport(height)

    def _set_viewport(self, height: int) -> None:
        """Set the height of the viewport."""
        self._height = height
        self.send_command(
            "Emulation.setDeviceMetricsOverride", width=self._width, height=height,
            deviceScaleFactor=self._pixel_ratio, mobile=False,
        )  # fmt: skip

    def send_command(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a DevTools command and return its result; other messages are ignored.

        Raises:
            KinfolkError: The browser refused the command, did not answer in time or has ended.
        """
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": params, **self._session}
        deadline = time.monotonic() + _TIMEOUT
        try:
            self._socket.send(json.dumps(message))
            return self._wait_for_reply(message, deadline)
        except TimeoutError:
            raise _make_timeout_error() from None
        except ConnectionClosed:
            raise KinfolkError(
                "Chromium ended before the picture was taken: it may have had too little memory."
            ) from None

    def _wait_for_reply(self, message: dict[str, Any], deadline: float) -> dict[str, Any]:
        """Return the result of a command, from the reply with its number."""
        while True:
            reply = json.loads(self._socket.recv(timeout=max(0.1, deadline - time.monotonic())))
            if all(reply.get(name) == message.get(name) for name in ("id", "sessionId")):
                if "error" in reply:
                    raise KinfolkError(f"Chromium refused {message['method']}: {reply['error']}.")
                result: dict[str, Any] = reply["result"]
                return result

    def evaluate(self, script: str) -> Any:
        """Return the value of a JavaScript expression; promises are awaited.

        Raises:
            KinfolkError: The expression threw an exception.
        """
        result = self.send_command(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in result:
            reason = result["exceptionDetails"].get("exception", {}).get("description", "")
            raise KinfolkError(f"The page failed while a screenshot was taken: {reason[:200]}")
        return result["result"].get("value")

    def wait_for(self, script: str) -> None:
        """Wait until a JavaScript expression is true.

        Raises:
            KinfolkError: It was not true within the timeout.
        """
        deadline = time.monotonic() + _TIMEOUT
        while not self.evaluate(script):
            if time.monotonic() > deadline:
                raise _make_timeout_error()
            time.sleep(0.02)

    def take_screenshot(self, selector: str) -> bytes:
        """Return a PNG of the first element that matches a CSS selector.

        The viewport grows to the height of the element: Chromium leaves blank what lies below it.
        """
        x, y, width, height = self._measure(selector)
        if y + height > self._height:
            self._set_viewport(math.ceil(y + height) + _MARGIN)
            self.evaluate("new Promise((done) => requestAnimationFrame(() => done()))")
            x, y, width, height = self._measure(selector)
        clip = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
        screenshot = self.send_command("Page.captureScreenshot", format="png", clip=clip)
        return b64decode(screenshot["data"])

    def _measure(self, selector: str) -> tuple[float, float, float, float]:
        """Return x, y, width and height of the first element that matches a CSS selector."""
        x, y, width, height = self.evaluate(
            f"(() => {{ const b = document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()"
        )
        return x, y, width, height


@contextmanager
def open_browser_page(
    url: str, width: int, height: int, pixel_ratio: float = 1.0
) -> Iterator[BrowserPage]:
    """Open a viewer page in a new browser, which is closed at the end of the context.

    Args:
        url: Address of the page; it must set `data-ready` on its body once it is drawn.
        width: Width of the viewport, in CSS pixels.
        height: Height of the viewport, in CSS pixels.
        pixel_ratio: Device pixels per CSS pixel.

    Raises:
        UsageError: Chromium is not installed.
        KinfolkError: The browser did not start, or the page was not ready in time.
    """
    with temporary_directory() as folder:
        process = _start_browser(find_chromium(), folder)
        try:
            with connect(_read_address(process), max_size=_MAX_MESSAGE_BYTES) as socket:
                page = BrowserPage(socket, width, height, pixel_ratio)
                page.send_command("Page.navigate", url=url)
                page.wait_for("document.body?.dataset.ready === 'yes'")
                yield page
        finally:
            process.kill()
            process.wait()


def _make_timeout_error() -> KinfolkError:
    """Return the error that a picture takes too long."""
    return KinfolkError(
        f"Chromium did not draw the page within {_TIMEOUT:.0f} s: the machine is busy, or the world "
        "has more agents than Chromium can draw. Try a smaller --size, or --part map."
    )


def _start_browser(executable: str, folder: Path) -> subprocess.Popen[str]:
    """Start a headless browser whose profile lies in `folder`."""
    arguments = [executable, *_COMMAND_FLAGS.split(), f"--user-data-dir={folder / 'browser'}"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")  # Chromium does not start as root with its sandbox
    return subprocess.Popen(
        [*arguments, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def _read_address(process: subprocess.Popen[str]) -> str:
    """Return the address of the DevTools endpoint, which the browser prints on stderr."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if "DevTools listening on " in line:
            return line.split("DevTools listening on ")[1].strip()
    raise KinfolkError(f"Chromium did not start: {' '.join(lines[-3:]).strip()[:300]}")
