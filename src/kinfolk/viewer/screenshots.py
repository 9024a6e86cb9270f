"""Screenshots and videos of a run: the viewer's page, rendered by a headless browser."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from pydantic import Field

from kinfolk.core.errors import KinfolkError, UsageError
from kinfolk.core.settings import Settings
from kinfolk.replay.reader import find_replay
from kinfolk.store.files import (
    read_bytes,
    temporary_directory,
)
from kinfolk.store.run import Run, open_run
from kinfolk.viewer.browser import BrowserPage, open_browser_page
from kinfolk.viewer.export import check_replay, make_still_row, title_runs
from kinfolk.viewer.run_index import ADDRESS_KEYS, RunIndex
from kinfolk.viewer.server import make_app, serve_in_thread

PART_SELECTORS = {"map": ".maps", "charts": ".charts", "page": "body", "lineage": ".lineage"}
_AGENTS = "kinfolk.player.main.replay.agents"  # in the page
TAB_NAMES = ("agent", "charts", "lineage", "roles", "run")  # in the order of their keys, 1 to 5


class Screenshot(Settings):
    """Settings of a screenshot: what it shows, its size and theme."""

    part: str = "map"  # one of PART_SELECTORS
    width: int = Field(default=960, ge=200, le=4000)  # of the viewport, in pixels
    height: int = Field(default=720, ge=200, le=4000)
    theme: str = "light"  # or dark
    tab: str = "agent"  # one of TAB_NAMES: the panel that is open, if the part is the whole page
    selected_uid: int | None = None  # agent that is selected
    mark_descendants: bool = False  # whether its descendants are marked


def parse_tab(text: str) -> str:
    """Return the panel that a name, or the number of its key in the page, means.

    >>> parse_tab("Lineage"), parse_tab("3")
    ('lineage', 'lineage')

    Raises:
        UsageError: There is no such panel.
    """
    names = {str(number): name for number, name in enumerate(TAB_NAMES, 1)}
    name = names.get(text, text.lower())
    if name not in TAB_NAMES:
        known = f"{', '.join(TAB_NAMES[:-1])} or {TAB_NAMES[-1]}"
        raise UsageError(f"--tab is {known}, or its number from 1 to 5, not '{text}'.")
    return name


class _ShownRuns(RunIndex):
    """Serves the runs that a page shows, which may lie in different folders.

    Chromium asks for the ticks it draws only, so that replays of any length can be shown.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = title_runs(folders)
        super().__init__(folders[0].resolve().parent)

    def list_runs(self) -> list[dict[str, Any]]:
        """Return the rows of the runs."""
        return [self.get_info(title) for title in self._folders]

    def get_run(self, name: str) -> Run:
        """Return a run by its title."""
        return open_run(self._folders[name])

    def get_info(self, name: str) -> dict[str, Any]:
        """Return the row of a run and its settings."""
        run = self.get_run(name)
        return {**make_still_row(run), "name": name, "settings": run.config["settings"]}

    def find_title(self, folder: Path) -> str:
        """Return the title of the run in a folder."""
        return next(title for title, path in self._folders.items() if path == folder.resolve())


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
        UsageError: There is no such part, theme, replay or agent, or Chromium is not installed.
    """
    _check_screenshot(screenshot, replays)
    runs = _ShownRuns([run for run, _ in replays])
    tab = screenshot.part if screenshot.part in TAB_NAMES else screenshot.tab
    address: dict[str, Any] = {"tab": TAB_NAMES.index(tab)}
    for (run, name), (run_key, replay_key) in zip(replays, ADDRESS_KEYS, strict=False):
        path = find_replay(run, name)
        check_replay(open_run(run), path)
        address[run_key] = runs.find_title(run)
        address[replay_key] = path.stem
    if screenshot.selected_uid is not None:
        address["agent"] = screenshot.selected_uid
    marks = str(screenshot.mark_descendants).lower()
    arguments = f"'{screenshot.theme}', '{screenshot.part}', {marks}"
    with serve_in_thread(make_app(runs)) as root:
        url = f"{root}#{urlencode(address)}"
        with open_browser_page(url, screenshot.width, screenshot.height) as page:
            uid = screenshot.selected_uid
            if uid is not None and not page.evaluate(f"!!{_AGENTS}.get({uid})"):
                n_agents = page.evaluate(f"{_AGENTS}.agents.size")
                raise UsageError(f"The game has no agent {uid} among its {n_agents:,} agents.")
            page.evaluate(f"kinfolk.prepareScreenshot({arguments})")
            yield page


def _check_screenshot(screenshot: Screenshot, replays: Sequence[tuple[Path, str | None]]) -> None:
    """Check that everything that is to be shown exists.

    Raises:
        UsageError: There is no such part, theme, panel or replay.
    """
    allowed = {"part": tuple(PART_SELECTORS), "theme": ("light", "dark"), "tab": TAB_NAMES}
    for name, known in allowed.items():
        value = getattr(screenshot, name)
        if value not in known:
            raise UsageError(f"Screenshot.{name} must be one of {', '.join(known)}, not '{value}'.")
    for run, replay in replays:
        find_replay(run, replay)  # raises if there is none: a tick of it is shown
    run = replays[0][0]
    if screenshot.tab == "roles" and not make_still_row(open_run(run))["roles"]:
        raise UsageError(
            f"The run {run} has no roles, so its page has no panel of roles. "
            "Choose --tab agent, charts, lineage or run."
        )


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
