"""Event logs: one JSON object per line, compressed when a run is done; timings in a second log."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from kinfolk.core.errors import DamagedRunError
from kinfolk.store.compression import verify_gzip
from kinfolk.store.files import as_store_error
from kinfolk.store.json_files import parse_json

EVENTS_FILE, COMPRESSED_EVENTS_FILE = "events.jsonl", "events.jsonl.gz"

MAX_LINE_BYTES = 16 * 2**20


def read_events(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield all events of a run. A last line that is still being written is left out.

    Raises:
        DamagedRunError: A complete line is not an event, the file is cut short, or it decompresses
            to more than a run can have written.
    """
    plain, compressed = folder / EVENTS_FILE, folder / COMPRESSED_EVENTS_FILE
    with as_store_error(f"The events of {folder} could not be read"):
        if compressed.exists():
            verify_gzip(compressed)  # the whole file, before the first event is yielded
            with gzip.open(compressed) as gzip_file:
                yield from _read_lines(gzip_file, compressed)
        elif plain.exists():
            try:
                file = plain.open("rb")
            except FileNotFoundError:  # it was compressed a moment ago
                yield from read_events(folder)
                return
            with file:
                yield from _read_lines(file, plain)


def get_events_size(folder: Path) -> int:
    """Return the size of the event log in bytes, which changes whenever events are added."""
    for path in (folder / COMPRESSED_EVENTS_FILE, folder / EVENTS_FILE):
        if path.exists():
            return path.stat().st_size
    return 0


def _read_lines(file: BinaryIO | gzip.GzipFile, path: Path) -> Iterator[dict[str, Any]]:
    number = 1
    while (line := file.readline(MAX_LINE_BYTES)).endswith(b"\n"):
        yield _parse_event(line, path, number)
        number += 1
    if len(line) == MAX_LINE_BYTES:
        raise DamagedRunError(
            f"{path} is damaged: line {number} is longer than {MAX_LINE_BYTES >> 20} MiB."
        )


def _parse_event(text: bytes, path: Path, number: int) -> dict[str, Any]:
    """Parse one line of an event log.

    Args:
        text: The line.
        path: The file, for error messages.
        number: Number of the line in the file, from 1.

    Raises:
        DamagedRunError: It is not a JSON object with `kind` and `step`.
    """
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
    """Content of a file of timings.

    No result depends on timings, so a damaged line is skipped instead of raising an error.
    """

    lines: list[dict[str, Any]]  # timing events
    n_damaged: int  # lines that could not be parsed


def read_timings(path: Path) -> TimingLog:
    """Read a file of timings, which may be missing. An incomplete last line is left out."""
    if not path.exists():
        return TimingLog([], 0)
    with as_store_error(f"{path} could not be read"):
        texts = path.read_bytes().split(b"\n")[:-1]
    lines = [line for text in texts if (line := _parse_timing(text)) is not None]
    return TimingLog(lines, len(texts) - len(lines))


def _parse_timing(text: bytes) -> dict[str, Any] | None:
    try:
        timing = parse_json(text)
    except ValueError:
        return None
    return timing if isinstance(timing, dict) else None
