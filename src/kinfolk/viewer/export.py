"""Exporting replays as one self-contained HTML page that opens from disk without a network."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

from pydantic import Field

from kinfolk.core.errors import KinfolkError, UsageError
from kinfolk.core.settings import Settings
from kinfolk.replay.reader import Replay, find_replay
from kinfolk.store.files import (
    parse_json_object,
    read_bytes,
    read_text,
    temporary_directory,
    write_atomic,
)
from kinfolk.store.run import open_run
from kinfolk.viewer.browser import BrowserPage, open_browser_page
from kinfolk.viewer.results import collect_metrics
from kinfolk.viewer.run_index import ROLE_HISTORY_FILE
from kinfolk.viewer.server import read_page_file


def export_page(replays: Sequence[tuple[Path, str | None]]) -> bytes:
    """Return an HTML page that shows one replay, or two side by side.

    Args:
        replays: Folder of a run and name of its replay; None means the run's first replay.

    Returns:
        The page, with scripts, styles, metrics, role histories and replays inside.

    Raises:
        UsageError: There is no such run or replay.
        DamagedRunError: A replay is damaged.
    """
    runs: list[dict[str, Any]] = []
    metrics: dict[str, Any] = {}
    roles: dict[str, Any] = {}
    scripts: list[str] = []
    for folder, name in replays:
        run, path = open_run(folder), find_replay(folder, name)
        replay = Replay(path)
        for records in replay.records.values():
            for record in records:
                replay.read_compressed(record)  # raises if it is damaged
        history = folder / ROLE_HISTORY_FILE
        is_taken = any(run.name == other["name"] for other in runs)
        title = f"{run.name} again" if is_taken else run.name
        runs.append(
            {"name": title, "job": run.config["job"], "status": "done", "roles": history.is_file(),
             "problem": "", "world": replay.head()["world"], "settings": run.config["settings"],
             "replays": [{"name": path.stem, "bytes": path.stat().st_size}]}
        )  # fmt: skip
        metrics[title] = collect_metrics(run.events())
        if history.is_file():
            roles[title] = parse_json_object(read_text(history), str(history))
        data = b64encode(read_bytes(path)).decode()
        identifier = escape(f"replay:{title}/{path.stem}", quote=True)
        scripts.append(f'<script type="application/octet-stream" id="{identifier}">{data}</script>')
    text = json.dumps({"runs": runs, "metrics": metrics, "roles": roles})
    text = text.replace("<", "\\u003c")  # so that nothing in it can close the script element
    scripts.append(f'<script type="application/json" id="kinfolk-data">{text}</script>')
    return _fill_template("\n".join(scripts)).encode()


def _fill_template(data: str) -> str:
    """Return the viewer's page with its style sheet and script inlined, and `data` before them."""
    page = read_page_file("index.html").decode()
    style, script = read_page_file("app.css").decode(), read_page_file("app.js").decode()
    script = re.sub(r"</(script)", r"<\\/\1", script, flags=re.I)
    page = page.replace('<link rel="stylesheet" href="app.css">', f"<style>{style}</style>")
    scripts = f"{data}\n<script>{script}</script>"
    return page.replace('<script src="app.js" defer></script>', scripts)


PART_SELECTORS = {"map": ".maps", "charts": ".charts", "page": "body", "lineage": ".lineage"}
_PART_TABS = {"charts": 1, "lineage": 2}  # tab whose panel is the part


class Screenshot(Settings):
    """Settings of a screenshot: what it shows, its size and theme."""

    part: str = "map"  # one of PART_SELECTORS
    width: int = Field(default=960, ge=200, le=4000)  # of the viewport, in pixels
    height: int = Field(default=720, ge=200, le=4000)
    theme: str = "light"  # or dark
    tab: int = Field(default=0, ge=0, le=4)  # panel that is open, if the part is the whole page
    selected_uid: int | None = None  # agent that is selected
    mark_descendants: bool = False  # whether its descendants are marked


@contextmanager
def open_page(
    replays: Sequence[tuple[Path, str | None]], screenshot: Screenshot
) -> Iterator[BrowserPage]:
    """Open the page of one replay, or of two side by side, ready for screenshots.

    Args:
        replays: Folder of a run and name of its replay; None means the run's first replay.
        screenshot: What is shown, and in which size and theme.

    Yields:
        The open page, for `capture`.

    Raises:
        UsageError: There is no such part or theme, or Chromium is not installed.
    """
    for name, known in (("part", tuple(PART_SELECTORS)), ("theme", ("light", "dark"))):
        value = getattr(screenshot, name)
        if value not in known:
            raise UsageError(f"Screenshot.{name} must be one of {', '.join(known)}, not '{value}'.")
    with temporary_directory() as folder:
        file = folder / "page.html"
        write_atomic(file, export_page(replays))
        fragment = f"#tab={_PART_TABS.get(screenshot.part, screenshot.tab)}"
        if screenshot.selected_uid is not None:
            fragment += f"&agent={screenshot.selected_uid}"
        url, marks = file.as_uri() + fragment, str(screenshot.mark_descendants).lower()
        arguments = f"'{screenshot.theme}', '{screenshot.part}', {marks}"
        with open_browser_page(url, screenshot.width, screenshot.height) as page:
            page.evaluate(f"kinfolk.prepareScreenshot({arguments})")
            yield page


def capture(page: BrowserPage, screenshot: Screenshot, tick: int) -> bytes:
    """Return a PNG of one tick.

    Args:
        page: Page that `open_page` opened.
        screenshot: The same as for `open_page`; its part is captured.
        tick: Tick to show; the last recorded one that is not later is drawn.
    """
    page.evaluate(f"kinfolk.showTick({tick})")
    return page.take_screenshot(PART_SELECTORS[screenshot.part])


def encode_gif(frames: Sequence[bytes], fps: float) -> bytes:
    """Encode PNG frames as an animated GIF that repeats for ever; needs Pillow."""
    from PIL import Image

    read = Image.open  # of bytes, not of a file
    images = [read(io.BytesIO(frame)).convert("RGB") for frame in frames]
    # One palette for all, from a frame in the middle: else colours would flicker.
    palette = images[len(images) // 2].quantize(256)
    first, *rest = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    out = io.BytesIO()
    first.save(out, "GIF", save_all=True, append_images=rest, duration=round(1000 / fps), loop=0)
    return out.getvalue()


def encode_mp4(frames: Sequence[bytes], fps: float) -> bytes:
    """Encode PNG frames as an H.264 video in an MP4 file.

    Raises:
        UsageError: ffmpeg is not installed.
        KinfolkError: ffmpeg failed.
    """
    if shutil.which("ffmpeg") is None:
        raise UsageError("An mp4 needs ffmpeg, which is not installed; a gif does not.")
    with temporary_directory() as folder:
        file = folder / "video.mp4"
        # H.264 in yuv420p needs even sizes, so an odd last row or column is cropped.
        command = (
            f"ffmpeg -loglevel error -f image2pipe -framerate {fps} -c:v png -i - "
            "-vf crop=trunc(iw/2)*2:trunc(ih/2)*2 -c:v libx264 -pix_fmt yuv420p "
            "-movflags +faststart"
        )
        arguments, pictures = [*command.split(), str(file)], b"".join(frames)
        process = subprocess.run(arguments, input=pictures, capture_output=True)
        if process.returncode:
            raise KinfolkError(f"ffmpeg failed: {process.stderr.decode(errors='replace')[-200:]}")
        return read_bytes(file)
