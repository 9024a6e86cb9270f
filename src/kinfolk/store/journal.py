"""Event files: a line of JSON each, plain while a run lives, compressed when it is done."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from kinfolk.core.errors import DamagedRunError
from kinfolk.store.documents import parse_json
from kinfolk.store.files import saying
from kinfolk.store.packed import check_packed

PLAIN, PACKED = "events.jsonl", "events.jsonl.gz"
MOST_LINE = 16 * 2**20  # bytes of one event


def read_events(folder: Path) -> Iterator[dict[str, Any]]:
    """All events of a run, a line at a time. A last line that is still being written is left out.

    Raises:
        DamagedRunError: A whole line is not an event, the file is cut short, or it unpacks to more
            than a run can have written.
    """
    plain, packed = folder / PLAIN, folder / PACKED
    with saying(f"The events of {folder} could not be read"):
        if packed.exists():
            check_packed(packed)  # all of it, before the first event is believed
            with gzip.open(packed) as unpacked:
                yield from _read_lines(unpacked, packed)
        elif plain.exists():
            try:
                file = plain.open("rb")
            except FileNotFoundError:  # it was packed a moment ago
                yield from read_events(folder)
                return
            with file:
                yield from _read_lines(file, plain)


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


def _read_lines(file: BinaryIO | gzip.GzipFile, path: Path) -> Iterator[dict[str, Any]]:
    number = 1
    while (line := file.readline(MOST_LINE)).endswith(b"\n"):
        yield _event(line, path, number)
        number += 1
    if len(line) == MOST_LINE:
        raise DamagedRunError(
            f"{path} is damaged: line {number} is longer than {MOST_LINE >> 20} MiB."
        )


def _parse_lines(data: bytes, path: Path, first: int) -> Iterator[dict[str, Any]]:
    lines = data.split(b"\n")[:-1]  # what follows the last newline is not whole yet
    for number, text in enumerate(lines, first):
        yield _event(text, path, number)


def _event(text: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        event = parse_json(text)
    except ValueError:
        event = None
    if isinstance(event, dict) and isinstance(event.get("kind"), str):
        step = event.get("step")
        if isinstance(step, int) and not isinstance(step, bool):
            return event
    raise DamagedRunError(f"{path} is damaged: line {number} is not an event.")
