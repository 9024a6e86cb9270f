"""Event files: a line of JSON each, plain while a run lives, compressed when it is done."""

from __future__ import annotations

import gzip
import json
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kinfolk.core.errors import DamagedRunError
from kinfolk.store.files import saying

PLAIN, PACKED = "events.jsonl", "events.jsonl.gz"


def read_events(folder: Path) -> Iterator[dict[str, Any]]:
    """All events of a run. A last line that is still being written is left out.

    Raises:
        DamagedRunError: A whole line is not an event, or the file is cut short.
    """
    plain, packed = folder / PLAIN, folder / PACKED
    with saying(f"The events of {folder} could not be read"):
        if packed.exists():
            try:
                data = gzip.decompress(packed.read_bytes())
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise DamagedRunError(f"{packed} is cut short or damaged: {error}.") from None
            yield from _parse_lines(data, packed, 1)
        elif plain.exists():
            yield from _parse_lines(plain.read_bytes(), plain, 1)


def size_of_events(folder: Path) -> int:
    """How many bytes of events there are: it changes whenever there are more."""
    for path in (folder / PACKED, folder / PLAIN):
        if path.exists():
            return path.stat().st_size
    return 0


def follow(folder: Path, over: Callable[[], bool], pause: float = 0.05) -> Iterator[dict[str, Any]]:
    """Events as they are written, until `over()` says that no more will come.

    A run that is resumed cuts its file back; what was cut comes again.
    """
    path, at, line = folder / PLAIN, 0, 1
    while True:
        last_look = over()
        if not path.exists():
            if (folder / PACKED).exists():
                everything = list(read_events(folder))
                yield from everything[line - 1 :]
                return
        else:
            with saying(f"The events of {folder} could not be read"), path.open("rb") as file:
                if path.stat().st_size < at:
                    at, line = 0, 1
                file.seek(at)
                data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            yield from _parse_lines(whole, path, line)
            at, line = at + len(whole), line + whole.count(b"\n")
        if last_look:
            return
        time.sleep(pause)


def _parse_lines(data: bytes, path: Path, first: int) -> Iterator[dict[str, Any]]:
    lines = data.split(b"\n")[:-1]  # what follows the last newline is not whole yet
    for number, text in enumerate(lines, first):
        try:
            event = json.loads(text)
        except ValueError:
            event = None
        if not isinstance(event, dict) or "kind" not in event:
            raise DamagedRunError(f"{path} is damaged: line {number} is not an event.")
        yield event
