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
from kinfolk.store.files import read_bytes, scratch_folder, write_atomic
from kinfolk.viewer.chromium import Page, opened
from kinfolk.viewer.export import one_page

PARTS = {"stage": ".stages", "charts": ".charts", "page": "body", "family": ".family"}
_TABS = {"charts": 1, "family": 2}  # which panel has to be shown for a part


class Picture(Settings):
    """What is photographed."""

    part: str = "stage"
    width: int = Field(default=960, ge=200, le=4000)
    height: int = Field(default=720, ge=200, le=4000)
    theme: str = "light"
    tab: int = Field(default=0, ge=0, le=4)
    agent: int | None = None  # who is chosen
    marks: bool = False  # its descendants are marked


@contextmanager
def studio(shown: Sequence[tuple[Path, str | None]], picture: Picture) -> Iterator[Page]:
    """The page of a run, or of two, ready to be photographed.

    Raises:
        UsageError: There is no such part or theme, or no Chromium.
    """
    for name, known in (("part", tuple(PARTS)), ("theme", ("light", "dark"))):
        if getattr(picture, name) not in known:
            raise UsageError(
                f"Picture.{name} must be one of {', '.join(known)}, not '{getattr(picture, name)}'."
            )
    with scratch_folder() as folder:
        file = folder / "page.html"
        write_atomic(file, one_page(shown))
        words = f"#tab={_TABS.get(picture.part, picture.tab)}"
        if picture.agent is not None:
            words += f"&agent={picture.agent}"
        with opened(file.as_uri() + words, picture.width, picture.height) as page:
            part = "" if picture.part == "page" else picture.part
            page.evaluate(
                f"kinfolk.pose('{picture.theme}', '{part}', {str(picture.marks).lower()})"
            )
            yield page


def take(page: Page, picture: Picture, tick: int) -> bytes:
    """A PNG of one tick."""
    page.evaluate(f"kinfolk.show({tick})")
    return page.photograph(PARTS[picture.part])


def as_gif(frames: Sequence[bytes], per_second: float) -> bytes:
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
    first.save(
        out, "GIF", save_all=True, append_images=rest, duration=round(1000 / per_second), loop=0
    )
    return out.getvalue()


def as_mp4(frames: Sequence[bytes], per_second: float) -> bytes:
    """A film in H.264.

    Raises:
        UsageError: ffmpeg is not installed.
    """
    if shutil.which("ffmpeg") is None:
        raise UsageError("An mp4 needs ffmpeg, which is not installed; a gif does not.")
    with scratch_folder() as folder:
        file = folder / "film.mp4"
        words = (
            f"ffmpeg -loglevel error -f image2pipe -framerate {per_second} -c:v png -i - "
            "-vf crop=trunc(iw/2)*2:trunc(ih/2)*2 -c:v libx264 -pix_fmt yuv420p "
            "-movflags +faststart"
        )
        done = subprocess.run(
            [*words.split(), str(file)], input=b"".join(frames), capture_output=True
        )
        if done.returncode:
            raise KinfolkError(f"ffmpeg failed: {done.stderr.decode(errors='replace')[-200:]}")
        return read_bytes(file)
