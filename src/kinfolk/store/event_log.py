"""Event logs: one JSON object per line, plain while a run is active, compressed when it is done; timings beside them."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from kinfolk.core.errors import DamagedRunError
from kinfolk.store.compression import verify_gzip
from kinfolk.store.files import as_store_error
from kinfolk.store.json_files import parse_json

EVENTS_FILE, COMPRESSED_EVENTS_FILE = "events.jsonl", "events.jsonl.gz"

MAX_LINE_BYTES = 16 * 2**20  # bytes of one event


def read_events(folder: Path) -> Iterator[dict[str, Any]]:
    """All events of a run, a line at a time. A last line that is still being written is left out.

    Raises:
        DamagedRunError: A whole line is not an event, the file is cut short, or it unpacks to more
            than a run can have written.
    """
    plain, packed = folder / EVENTS_FILE, folder / COMPRESSED_EVENTS_FILE
    with as_store_error(f"The events of {folder} could not be read"):
        if packed.exists():
            verify_gzip(packed)  # all of it, before the first event is believed
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


def get_events_size(folder: Path) -> int:
    """How many bytes of events there are: it changes whenever there are more."""
    for path in (folder / COMPRESSED_EVENTS_FILE, folder / EVENTS_FILE):
        if path.exists():
            return path.stat().st_size
    return 0


def follow_events(
    folder: Path, is_over: Callable[[], bool], poll_seconds: float = 0.05
) -> Iterator[dict[str, Any]]:
    """Events as they are written, until `over()` says that no more will come.

    A run that is resumed cuts its file back; what was cut comes again.
    """
    path, at, line = folder / EVENTS_FILE, 0, 1
    while True:
        last_look = is_over()
        if not path.exists():
            if (folder / COMPRESSED_EVENTS_FILE).exists():
                everything = list(read_events(folder))
                yield from everything[line - 1 :]
                return
        else:
            with (
                as_store_error(f"The events of {folder} could not be read"),
                path.open("rb") as file,
            ):
                if path.stat().st_size < at:
                    at, line = 0, 1
                file.seek(at)
                data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            yield from _parse_lines(whole, path, line)
            at, line = at + len(whole), line + whole.count(b"\n")
        if last_look:
            return
        time.sleep(poll_seconds)


def _read_lines(file: BinaryIO | gzip.GzipFile, path: Path) -> Iterator[dict[str, Any]]:
    number = 1
    while (line := file.readline(MAX_LINE_BYTES)).endswith(b"\n"):
        yield _parse_event(line, path, number)
        number += 1
    if len(line) == MAX_LINE_BYTES:
        raise DamagedRunError(
            f"{path} is damaged: line {number} is longer than {MAX_LINE_BYTES >> 20} MiB."
        )


def _parse_lines(data: bytes, path: Path, first: int) -> Iterator[dict[str, Any]]:
    lines = data.split(b"\n")[:-1]  # what follows the last newline is not whole yet
    for number, text in enumerate(lines, first):
        yield _parse_event(text, path, number)


def _parse_event(text: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        event = parse_json(text)
    except ValueError:
        event = None
    if isinstance(event, dict) and isinstance(event.get("kind"), str):
        step = event.get("step")
        if isinstance(step, int) and not isinstance(step, bool):
            return event
    raise DamagedRunError(f"{path} is damaged: line {number} is not an event.")


TIMINGS_FILE = "timings.jsonl"


class TimingLog(NamedTuple):
    """The lines that could be read, and how many could not.

    No result depends on timings, so a damaged line costs that line and nothing more.
    """

    lines: list[dict[str, Any]]
    n_damaged: int


def read_timings(path: Path) -> TimingLog:
    """Read a file of timings; without one there are none. A last line that is not whole is left out."""
    if not path.exists():
        return TimingLog([], 0)
    with as_store_error(f"{path} could not be read"):
        found = path.read_bytes().split(b"\n")[:-1]
    lines = [line for text in found if (line := _parse_timing(text)) is not None]
    return TimingLog(lines, len(found) - len(lines))


def _parse_timing(text: bytes) -> dict[str, Any] | None:
    try:
        found = parse_json(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
