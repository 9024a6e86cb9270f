"""Replays on disk: found, followed while they are written, read a record at a time."""

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
    FORMAT_VERSION,
    FRAMES,
    HEADER,
    MAGIC,
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


class RecordRef(NamedTuple):
    """Where a record lies; `at` is the offset of its payload."""

    header: RecordHeader
    offset: int


class Replay:
    """One replay. Only prefixes are read until a record is asked for.

    Raises:
        UsageError: There is no such file.
        DamagedRunError: It is no replay, or of another format, or not whole where it should be.
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
        """Look for records written since; whether there were any."""
        found = False
        with as_store_error(f"{self.path} could not be read"), self.path.open("rb") as file:
            size = file.seek(0, 2)
            if size < self._offset:  # it was begun again
                self._offset, self.records = 0, {kind: [] for kind in RECORD_KINDS}
            file.seek(self._offset)
            if self._offset == 0:
                self._check_magic(file.read(len(MAGIC)), size)
                if size < len(MAGIC):
                    return False
                self._offset = len(MAGIC)
            while self._offset + RECORD_HEADER.size <= size:
                file.seek(self._offset)
                prefix = RecordHeader(*RECORD_HEADER.unpack(file.read(RECORD_HEADER.size)))
                if prefix.kind not in RECORD_KINDS or not self._is_next_record(prefix):
                    raise DamagedRunError(f"{self.path} is damaged at byte {self._offset}.")
                after = self._offset + RECORD_HEADER.size + prefix.length
                if after > size:
                    break  # still being written
                self.records[prefix.kind].append(
                    RecordRef(prefix, self._offset + RECORD_HEADER.size)
                )
                self._offset, found = after, True
        return found

    def _is_next_record(self, header: RecordHeader) -> bool:
        """Whether the frames of a record follow on those before. No checksum covers a prefix."""
        if header.kind not in (SERIES, FRAMES):
            return True
        before = self.records[header.kind][-1:]
        first = before[0].header.first + before[0].header.frames if before else 0
        return header.first == first and 1 <= header.frames <= MAX_FRAMES

    def _check_magic(self, start: bytes, size: int) -> None:
        if start == MAGIC or (size < len(MAGIC) and MAGIC.startswith(start)):
            return
        if start.startswith(b"kinfolk replay "):
            theirs = start[15:].split(b"\n")[0].decode(errors="replace")
            raise DamagedRunError(
                f"{self.path} has format {theirs}; this kinfolk reads {FORMAT_VERSION}."
            )
        raise DamagedRunError(f"{self.path} is not a replay of kinfolk.")

    @property
    def is_complete(self) -> bool:
        """Whether it was written to its end."""
        return bool(self.records[DONE])

    @property
    def frames(self) -> int:
        """How many frames can be read now."""
        found = self.records[FRAMES]
        return found[-1].header.first + found[-1].header.frames if found else 0

    @property
    def ticks(self) -> int:
        """The tick of the last frame that can be read now."""
        if not self.records[SERIES]:
            raise DamagedRunError(f"{self.path} is cut short: it has no frames.")
        with self._describing_damage(self.records[SERIES][-1]):
            return int(self.series(-1)[0]["ticks"][-1])

    def read_compressed(self, record: RecordRef) -> bytes:
        """A record as it was written, checked."""
        packed = self._read(record)
        decode_payload(record.header, packed, str(self.path))
        return packed

    def _read(self, record: RecordRef) -> bytes:
        with as_store_error(f"{self.path} could not be read"), self.path.open("rb") as file:
            file.seek(record.offset)
            return file.read(record.header.length)  # no more than the file has: `refresh` looked

    def head(self) -> dict[str, Any]:
        """What was played, and what the numbers mean."""
        if not self.records[HEADER]:
            raise DamagedRunError(f"{self.path} is cut short: it has no head.")
        return self._read_json(self.records[HEADER][0])

    def result(self) -> dict[str, Any] | None:
        """How it ended, None if it has not."""
        return self._read_json(self.records[DONE][0]) if self.is_complete else None

    def series(self, index: int) -> tuple[dict[str, AnyArray], dict[str, Any]]:
        """The arrays and notes of a NUMB record."""
        return self._read_arrays(self.records[SERIES][index])

    def columns(self, index: int) -> dict[str, AnyArray]:
        """Every frame of a FRAM record: `cells` `[frames, places]` and columns `[frames, rows]`."""
        part = self.records[FRAMES][index]
        arrays, _ = self._read_arrays(part)
        names = [name.rpartition("/")[0] for name in arrays if name.endswith("/first")]
        with self._describing_damage(part):
            found = {name: delta_decode(name, arrays) for name in names}
            return found | {"cells": decode_cell_changes(arrays, part.header.frames)}

    def events(self, index: int) -> list[dict[str, Any]]:
        """What took place in the frames of a FRAM record."""
        part = self.records[FRAMES][index]
        arrays, notes = self._read_arrays(part)
        with self._describing_damage(part):
            columns = [arrays[f"event_{name}"].tolist() for name in EVENT_FIELDS]
            told = [
                (t, notes["kinds"][k], u, o, v, notes["notes"][n])
                for t, k, u, o, v, n in zip(*columns, strict=True)
            ]
        return [dict(zip(EVENT_FIELDS, values, strict=True)) for values in told]

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
        """Say which record is damaged if something it needs is missing or does not fit."""
        try:
            yield
        except (IndexError, KeyError, TypeError, ValueError) as error:
            name = record.header.kind.decode(errors="replace")
            reason = f"{type(error).__name__}: {error}"
            raise DamagedRunError(
                f"{self.path} is damaged: the {name} record of frame {record.header.first} "
                f"cannot be read ({reason})."
            ) from None


EVENT_FIELDS = ("tick", "kind", "uid", "other", "value", "note")


def list_replays(folder: Path) -> list[Path]:
    """The replays of a run, by name."""
    with as_store_error(f"{folder} could not be read"):
        return sorted((folder / REPLAY_FOLDER).glob(f"*{REPLAY_SUFFIX}"))


def find_replay(folder: Path, name: str | None) -> Path:
    """A replay of a run, the first if no name is given.

    Raises:
        UsageError: There is none of that name, or none at all.
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
