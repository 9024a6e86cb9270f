"""Event logs: one JSON object per line, compressed when a run is done; timings in a second log.

Each line has a checksum, which in an event log depends on all lines before it. Files are decompressed within bounds, so that a damaged or hostile one cannot exhaust the memory.
"""

from __future__ import annotations

import gzip
import io
import shlex
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from kinfolk.core.errors import DamagedRunError
from kinfolk.store.checkpoints import (
    NO_INTACT_CHECKPOINT,
    LogPosition,
    list_checkpoints,
    load_snapshot,
)
from kinfolk.store.files import as_store_error, parse_json, read_bytes
from kinfolk.store.integrity import open_line

EVENTS_FILE, COMPRESSED_EVENTS_FILE = "events.jsonl", "events.jsonl.gz"
TIMINGS_FILE = "timings.jsonl"
MAX_LINE_BYTES = 128 * 2**20
MAX_RATIO = 200  # decompressed to compressed; events and traces have 5 to 40, a zip bomb 1,030
MIN_SIZE_LIMIT = 64 * 2**20  # bytes that even the smallest file may decompress to
_CHUNK_BYTES = 2**20


def decompress_zlib(compressed: bytes, max_bytes: int) -> bytes:
    """Decompress a zlib stream of limited size.

    Args:
        compressed: Exactly one stream.
        max_bytes: Maximum size of the result.

    Raises:
        zlib.error: The stream is damaged, cut short, followed by other bytes, or too large.
    """
    stream = zlib.decompressobj()
    data = stream.decompress(compressed, max_bytes)
    if not stream.eof:  # the end of a stream of exactly `max_bytes` is read only now
        data += stream.decompress(stream.unconsumed_tail, 1)
    if not stream.eof or stream.unused_data or len(data) > max_bytes:
        raise zlib.error(f"it is not a whole stream of at most {max_bytes} bytes")
    return data


def decompress_gzip(compressed: bytes, source: str) -> bytes:
    """Decompress the content of a gzip file.

    Args:
        compressed: Content of the file.
        source: Name of the file, for error messages.

    Raises:
        DamagedRunError: It decompresses to more than a file of this size may.
        EOFError: It is cut short.
        gzip.BadGzipFile: It is not a gzip file, or its checksum is wrong.
        zlib.error: It is damaged.
    """
    with gzip.open(io.BytesIO(compressed)) as file:
        return b"".join(_iter_chunks(file, len(compressed), source))


def verify_gzip(path: Path) -> None:
    """Check that a gzip file can be decompressed to its end, in constant memory.

    Raises:
        DamagedRunError: It is cut short or damaged, or decompresses to more than a file of its
            size may.
    """
    with as_store_error(f"{path} could not be read"), path.open("rb") as raw:
        size = path.stat().st_size
        if size == 0:
            raise DamagedRunError(f"{path} is cut short: it is empty.")
        try:
            with gzip.open(raw) as file:
                for _ in _iter_chunks(file, size, str(path)):
                    pass
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DamagedRunError(f"{path} is cut short or damaged: {error}.") from None


def _iter_chunks(file: gzip.GzipFile, compressed_size: int, source: str) -> Iterator[bytes]:
    """Yield the decompressed content of a gzip file chunk by chunk, up to a size limit.

    Args:
        file: The open file.
        compressed_size: Its size on disk, from which the limit follows.
        source: Name of the file, for error messages.

    Raises:
        DamagedRunError: The limit is exceeded.
    """
    limit, n_bytes = max(MIN_SIZE_LIMIT, MAX_RATIO * compressed_size), 0
    while chunk := file.read(_CHUNK_BYTES):
        n_bytes += len(chunk)
        if n_bytes > limit:
            sizes = f"its {compressed_size:,} bytes unpack to more than {limit:,}"
            raise DamagedRunError(f"{source} is damaged: {sizes}.")
        yield chunk


def read_events(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield all events of a run. A last line that is still being written is left out.

    Raises:
        DamagedRunError: A complete line is not the event that was written, the file is cut short,
            or it decompresses to more than a run can have written.
    """
    for number, (path, line) in enumerate(_iter_log(folder), 1):
        yield _parse_event(line, path, number)


def read_last_event(folder: Path) -> dict[str, Any] | None:
    """Return the last event of a run, None if it has none; all lines are checked, one is parsed.

    Raises:
        DamagedRunError: As for `read_events`.
    """
    number, last = 0, None
    for number, last in enumerate(_iter_log(folder), 1):  # noqa: B007, the last ones are used
        pass
    return None if last is None else _parse_event(last[1], last[0], number)


def _iter_log(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the lines of a run's log, checked and without their checksums, with the file's path."""
    plain, compressed = folder / EVENTS_FILE, folder / COMPRESSED_EVENTS_FILE
    with as_store_error(f"The events of {folder} could not be read"):
        if compressed.exists():
            verify_gzip(compressed)  # the whole file, before the first line is yielded
            with gzip.open(compressed) as gzip_file:
                for line, _ in _iter_verified_lines(gzip_file, compressed):
                    yield compressed, line
        elif plain.exists():
            try:
                file = plain.open("rb")
            except FileNotFoundError:  # it was compressed a moment ago
                yield from _iter_log(folder)
                return
            with file:
                for line, _ in _iter_verified_lines(file, plain):
                    yield plain, line
        else:  # `create_run` makes one, and `Run.finish` replaces it by the other
            raise DamagedRunError(
                f"{folder} is damaged: it has neither {EVENTS_FILE} nor {COMPRESSED_EVENTS_FILE}. Its "
                f"policies and replays can still be used; its results need a new run."
            )


def _parse_event(line: bytes, path: Path, number: int) -> dict[str, Any]:
    """Return the event on a line of a log.

    Args:
        line: The line without its checksum.
        path: Path of the log, for error messages.
        number: Number of the line, for error messages.

    Raises:
        DamagedRunError: It is not an event.
    """
    event = _parse_object(line) or {}
    if not isinstance(event.get("kind"), str) or type(event.get("step")) is not int:
        raise DamagedRunError(f"{path} is damaged: line {number} is not an event.")
    return event


def get_events_size(folder: Path) -> int:
    """Return the size of the event log in bytes, which changes whenever events are added."""
    paths = (folder / COMPRESSED_EVENTS_FILE, folder / EVENTS_FILE)
    return next((path.stat().st_size for path in paths if path.exists()), 0)


def _iter_verified_lines(
    file: BinaryIO | gzip.GzipFile, path: Path, advise: bool = True
) -> Iterator[tuple[bytes, LogPosition]]:
    """Yield each complete line of an open log without its checksum, and the position after it.

    Args:
        file: The open log.
        path: Its path, for error messages.
        advise: Whether an error says how to go on; a caller that looks for a checkpoint says it itself.

    Raises:
        DamagedRunError: A checksum is missing or wrong, or a line is too long.
    """
    position = LogPosition()
    while (line := file.readline(MAX_LINE_BYTES)).endswith(b"\n"):
        number = position.n_events + 1
        try:
            body, checksum = open_line(line, position.checksum)
        except ValueError as error:
            problem = f"{path} is damaged: line {number} is not what was written ({error})."
            advice = _advise_truncation(path, position) if advise else ""
            raise DamagedRunError(f"{problem} {advice}".rstrip()) from None
        position = LogPosition(number, position.n_bytes + len(line), checksum)
        yield body, position
    if len(line) == MAX_LINE_BYTES:
        size, number = f"{MAX_LINE_BYTES >> 20} MiB", position.n_events + 1
        raise DamagedRunError(f"{path} is damaged: line {number} is longer than {size}.")


def _advise_truncation(path: Path, position: LogPosition) -> str:
    """Return how to go on with a damaged log whose lines up to `position` are intact."""
    if path.name == COMPRESSED_EVENTS_FILE:
        return "The run's policies and replays can still be used; its results need a new run."
    checkpoints = list_checkpoints(path.parent)
    if not checkpoints:
        command = f"truncate --size=0 {shlex.quote(str(path))}"
        return f"The run has no checkpoint; to resume it from its beginning, first remove the damage: {command}"
    usable = [i for i, file in enumerate(checkpoints) if _is_taken_before(file, position)]
    if not usable:
        return NO_INTACT_CHECKPOINT
    command = f"truncate --size={position.n_bytes} {shlex.quote(str(path))}"
    newer = [str(file) for file in checkpoints[usable[-1] + 1 :]]
    command += f" && rm {shlex.join(newer)}" if newer else ""
    name = checkpoints[usable[-1]].name
    return f"To resume the run from its checkpoint {name}, first remove the damage: {command}"


def _is_taken_before(checkpoint: Path, position: LogPosition) -> bool:
    """Return whether a checkpoint is intact, and was taken before a position in the log."""
    try:
        return load_snapshot(checkpoint)[1].n_bytes <= position.n_bytes
    except DamagedRunError:
        return False


def verify_log(path: Path, position: LogPosition) -> None:
    """Check the lines of a log up to a position, in constant memory.

    Raises:
        DamagedRunError: The log is shorter, or other lines were written.
    """
    with as_store_error(f"{path} could not be read"):
        size = path.stat().st_size if path.exists() else 0
        if size < position.n_bytes:
            written = f"its checkpoint was written after {position.n_bytes}"
            raise DamagedRunError(f"{path} is cut short: it has {size} bytes, and {written}.")
        last = LogPosition()
        if position.n_bytes:
            with path.open("rb") as file:
                for _, last in _iter_verified_lines(file, path, advise=False):
                    if last.n_bytes >= position.n_bytes:
                        break
        if last != position:
            problem = "its lines are not those of its checkpoint"
            raise DamagedRunError(f"{path} is damaged: {problem}.")


def _parse_object(text: bytes) -> dict[str, Any] | None:
    """Parse one line of a log; None if it is not a JSON object."""
    try:
        value = parse_json(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


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
    texts = read_bytes(path).split(b"\n")[:-1]
    lines = [line for text in texts if (line := _parse_timing(text)) is not None]
    return TimingLog(lines, len(texts) - len(lines))


def _parse_timing(text: bytes) -> dict[str, Any] | None:
    """Parse one line of timings; None if it is not what was written."""
    try:
        return _parse_object(open_line(text + b"\n")[0])
    except ValueError:
        return None
