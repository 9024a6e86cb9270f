"""Reading replays from disk, a record at a time, also while they are being written."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import DamagedRunError, UsageError, format_suggestion
from kinfolk.replay.format import (
    DONE,
    FIRST_SUFFIX,
    FORMAT_VERSION,
    FRAMES,
    HEADER,
    MAGIC,
    MAGIC_PREFIX,
    MAX_FRAMES,
    RECORD_HEADER,
    RECORD_KINDS,
    SERIES,
    RecordHeader,
    decode_arrays,
    decode_cell_changes,
    decode_payload,
    delta_decode,
)
from kinfolk.store.files import as_store_error
from kinfolk.store.json_files import parse_json

REPLAY_FOLDER, REPLAY_SUFFIX = "replays", ".replay"
EVENT_FIELDS = ("tick", "kind", "uid", "other", "value", "note")  # of `Replay.events`


class RecordRef(NamedTuple):
    """Header of a record and where its payload lies in the file."""

    header: RecordHeader
    offset: int  # of the payload's first byte


class Replay:
    """One replay file, of which only record headers are read until a record is needed.

    Args:
        path: File of the replay.

    Attributes:
        path: File of the replay.
        records: The records that can be read now, by kind, in the order of their frames.

    Raises:
        UsageError: There is no such file.
        DamagedRunError: It is not a replay, has another format, or its record headers are damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self.records: dict[bytes, list[RecordRef]] = {kind: [] for kind in RECORD_KINDS}
        if not path.exists():
            raise UsageError(f"There is no replay {path}.")
        if not path.is_file():
            raise DamagedRunError(f"{path} is not a file, so it is not a replay of kinfolk.")
        self.refresh()

    def refresh(self) -> bool:
        """Index the records written since the last look; return whether there were any."""
        grew = False
        with as_store_error(f"{self.path} could not be read"), self.path.open("rb") as file:
            size = file.seek(0, 2)
            if size < self._offset:  # a resumed run records the episode anew
                self._offset, self.records = 0, {kind: [] for kind in RECORD_KINDS}
            file.seek(self._offset)
            if self._offset == 0:
                self._check_magic(file.read(len(MAGIC)), size)
                if size < len(MAGIC):
                    return False
                self._offset = len(MAGIC)
            while self._offset + RECORD_HEADER.size <= size:
                file.seek(self._offset)
                header = RecordHeader(*RECORD_HEADER.unpack(file.read(RECORD_HEADER.size)))
                if header.kind not in RECORD_KINDS or not self._is_next_record(header):
                    raise DamagedRunError(f"{self.path} is damaged at byte {self._offset}.")
                payload = self._offset + RECORD_HEADER.size
                if payload + header.length > size:
                    break  # still being written
                self.records[header.kind].append(RecordRef(header, payload))
                self._offset, grew = payload + header.length, True
        return grew

    def _is_next_record(self, header: RecordHeader) -> bool:
        """Return whether a record continues the frames before it; headers have no checksum."""
        if header.kind not in (SERIES, FRAMES):
            return True
        previous = self.records[header.kind][-1:]
        first = previous[0].header.first + previous[0].header.frames if previous else 0
        return header.first == first and 1 <= header.frames <= MAX_FRAMES

    def _check_magic(self, start: bytes, size: int) -> None:
        if start == MAGIC or (size < len(MAGIC) and MAGIC.startswith(start)):
            return
        if start.startswith(MAGIC_PREFIX):
            version = start.removeprefix(MAGIC_PREFIX).split(b"\n")[0].decode(errors="replace")
            raise DamagedRunError(
                f"{self.path} has format {version}; this kinfolk reads {FORMAT_VERSION}."
            )
        raise DamagedRunError(f"{self.path} is not a replay of kinfolk.")

    @property
    def is_complete(self) -> bool:
        """Whether the episode was recorded to its end."""
        return bool(self.records[DONE])

    @property
    def frames(self) -> int:
        """Number of frames that can be read now."""
        if not self.records[FRAMES]:
            return 0
        last = self.records[FRAMES][-1].header
        return last.first + last.frames

    @property
    def ticks(self) -> int:
        """Tick of the last frame that can be read now."""
        if not self.records[SERIES]:
            raise DamagedRunError(f"{self.path} is cut short: it has no frames.")
        with self._describing_damage(self.records[SERIES][-1]):
            return int(self.series(-1)[0]["ticks"][-1])

    def read_compressed(self, record: RecordRef) -> bytes:
        """Return a record's payload as it lies in the file, after checking that it is whole."""
        compressed = self._read(record)
        decode_payload(record.header, compressed, str(self.path))
        return compressed

    def _read(self, record: RecordRef) -> bytes:
        with as_store_error(f"{self.path} could not be read"), self.path.open("rb") as file:
            file.seek(record.offset)
            return file.read(record.header.length)  # no more than the file has: `refresh` looked

    def head(self) -> dict[str, Any]:
        """Return the HEAD record: what was played, and what the numbers mean."""
        if not self.records[HEADER]:
            raise DamagedRunError(f"{self.path} is cut short: it has no head.")
        return self._read_json(self.records[HEADER][0])

    def result(self) -> dict[str, Any] | None:
        """Return the DONE record with the episode's result, None if it has not ended."""
        return self._read_json(self.records[DONE][0]) if self.is_complete else None

    def series(self, index: int) -> tuple[dict[str, AnyArray], dict[str, Any]]:
        """Return the arrays and notes of a SERI record."""
        return self._read_arrays(self.records[SERIES][index])

    def columns(self, index: int) -> dict[str, AnyArray]:
        """Return all frames of a FRAM record.

        Args:
            index: Which FRAM record of the replay.

        Returns:
            Agents' columns `[frames, rows]` by name, and `cells` `[frames, cells]`.
        """
        record = self.records[FRAMES][index]
        arrays, _ = self._read_arrays(record)
        names = [name.removesuffix(FIRST_SUFFIX) for name in arrays if name.endswith(FIRST_SUFFIX)]
        with self._describing_damage(record):
            columns = {name: delta_decode(name, arrays) for name in names}
            return columns | {"cells": decode_cell_changes(arrays, record.header.frames)}

    def events(self, index: int) -> list[dict[str, Any]]:
        """Return the world's events in the frames of a FRAM record, as `EVENT_FIELDS`."""
        record = self.records[FRAMES][index]
        arrays, notes = self._read_arrays(record)
        with self._describing_damage(record):
            columns = {name: arrays[f"event_{name}"].tolist() for name in EVENT_FIELDS}
            columns["kind"] = [notes["kinds"][code] for code in columns["kind"]]
            columns["note"] = [notes["notes"][code] for code in columns["note"]]
            rows = list(zip(*columns.values(), strict=True))
        return [dict(zip(EVENT_FIELDS, row, strict=True)) for row in rows]

    def _read_arrays(self, record: RecordRef) -> tuple[dict[str, AnyArray], dict[str, Any]]:
        with self._describing_damage(record):
            return decode_arrays(self._read_payload(record))

    def _read_json(self, record: RecordRef) -> dict[str, Any]:
        with self._describing_damage(record):
            return dict(parse_json(self._read_payload(record)))

    def _read_payload(self, record: RecordRef) -> bytes:
        return decode_payload(record.header, self._read(record), str(self.path))

    @contextmanager
    def _describing_damage(self, record: RecordRef) -> Iterator[None]:
        """Name the damaged record if something it needs is missing or does not fit."""
        try:
            yield
        except (IndexError, KeyError, TypeError, ValueError) as error:
            name = record.header.kind.decode(errors="replace")
            reason = f"{type(error).__name__}: {error}"
            raise DamagedRunError(
                f"{self.path} is damaged: the {name} record of frame {record.header.first} "
                f"cannot be read ({reason})."
            ) from None


def list_replays(folder: Path) -> list[Path]:
    """Return the paths of a run's replays, sorted by name."""
    with as_store_error(f"{folder} could not be read"):
        return sorted((folder / REPLAY_FOLDER).glob(f"*{REPLAY_SUFFIX}"))


def find_replay(folder: Path, name: str | None) -> Path:
    """Return the path of a run's replay, the first one if no name is given.

    Raises:
        UsageError: The run has no replay of that name, or none at all.
    """
    known = [path.name.removesuffix(REPLAY_SUFFIX) for path in list_replays(folder)]
    if not known:
        raise UsageError(
            f"The run {folder} has no replays. Record one: kinfolk view {shlex.quote(str(folder))} "
            f"--episode 0"
        )
    if name is not None and name not in known:
        raise UsageError(
            f"The run {folder} has no replay '{name}'.{format_suggestion(name, known)}"
        )
    return folder / REPLAY_FOLDER / f"{name or known[0]}{REPLAY_SUFFIX}"
