"""Pictures and films of a run: the viewer's own page, photographed frame by frame."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import Field

from kinfolk.core.errors import KinfolkError, UsageError
from kinfolk.core.settings import Settings
from kinfolk.store.files import read_bytes, temporary_directory, write_atomic
from kinfolk.viewer.browser import BrowserPage, open_browser_page
from kinfolk.viewer.export import export_page

PART_SELECTORS = {"stage": ".stages", "charts": ".charts", "page": "body", "family": ".family"}
_PART_TABS = {"charts": 1, "family": 2}  # which panel has to be shown for a part


class Screenshot(Settings):
    """What is photographed."""

    part: str = "stage"
    width: int = Field(default=960, ge=200, le=4000)
    height: int = Field(default=720, ge=200, le=4000)
    theme: str = "light"
    tab: int = Field(default=0, ge=0, le=4)
    selected_uid: int | None = None  # who is chosen
    mark_descendants: bool = False  # its descendants are marked


@contextmanager
def open_page(
    replays: Sequence[tuple[Path, str | None]], screenshot: Screenshot
) -> Iterator[BrowserPage]:
    """The page of a run, or of two, ready to be photographed.

    Raises:
        UsageError: There is no such part or theme, or no Chromium.
    """
    for name, known in (("part", tuple(PART_SELECTORS)), ("theme", ("light", "dark"))):
        if getattr(screenshot, name) not in known:
            raise UsageError(
                f"Screenshot.{name} must be one of {', '.join(known)}, not '{getattr(screenshot, name)}'."
            )
    with temporary_directory() as folder:
        file = folder / "page.html"
        write_atomic(file, export_page(replays))
        words = f"#tab={_PART_TABS.get(screenshot.part, screenshot.tab)}"
        if screenshot.selected_uid is not None:
            words += f"&agent={screenshot.selected_uid}"
        with open_browser_page(file.as_uri() + words, screenshot.width, screenshot.height) as page:
            part = "" if screenshot.part == "page" else screenshot.part
            page.evaluate(
                f"kinfolk.prepareScreenshot('{screenshot.theme}', '{part}', {str(screenshot.mark_descendants).lower()})"
            )
            yield page


def capture(page: BrowserPage, screenshot: Screenshot, tick: int) -> bytes:
    """A PNG of one tick."""
    page.evaluate(f"kinfolk.showTick({tick})")
    return page.take_screenshot(PART_SELECTORS[screenshot.part])


def encode_gif(frames: Sequence[bytes], fps: float) -> bytes:
    """A film that plays everywhere; it needs Pillow."""
    from PIL import Image

    read = Image.open  # of bytes, not of a file
    pictures = [read(io.BytesIO(frame)).convert("RGB") for frame in frames]
    # One palette for all, from a frame in the middle: else colours would flicker.
    palette = pictures[len(pictures) // 2].quantize(256)
    first, *rest = [
        picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures
    ]
    out = io.BytesIO()
    first.save(out, "GIF", save_all=True, append_images=rest, duration=round(1000 / fps), loop=0)
    return out.getvalue()


def encode_mp4(frames: Sequence[bytes], fps: float) -> bytes:
    """A film in H.264.

    Raises:
        UsageError: ffmpeg is not installed.
    """
    if shutil.which("ffmpeg") is None:
        raise UsageError("An mp4 needs ffmpeg, which is not installed; a gif does not.")
    with temporary_directory() as folder:
        file = folder / "film.mp4"
        words = (
            f"ffmpeg -loglevel error -f image2pipe -framerate {fps} -c:v png -i - "
            "-vf crop=trunc(iw/2)*2:trunc(ih/2)*2 -c:v libx264 -pix_fmt yuv420p "
            "-movflags +faststart"
        )
        done = subprocess.run(
            [*words.split(), str(file)], input=b"".join(frames), capture_output=True
        )
        if done.returncode:
            raise KinfolkError(f"ffmpeg failed: {done.stderr.decode(errors='replace')[-200:]}")
        return read_bytes(file)
