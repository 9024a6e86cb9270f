"""Reading replays from disk, a record at a time, also while they are being written."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import DamagedRunError, UsageError, format_suggestion
from kinfolk.replay import codec
from kinfolk.store.files import as_store_error, parse_json
from kinfolk.store.integrity import advising
from kinfolk.store.settings_file import FORMER_FORMAT_REASON

REPLAY_FOLDER, REPLAY_SUFFIX = "replays", ".replay"
EVENT_FIELDS = ("tick", "kind", "uid", "other", "value", "note")  # of `Replay.events`


class RecordRef(NamedTuple):
    """Header of a record and where its payload lies in the file."""

    header: codec.RecordHeader
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
        self.records: dict[bytes, list[RecordRef]] = {kind: [] for kind in codec.RECORD_KINDS}
        if not path.exists():
            raise UsageError(f"There is no replay {path}.")
        if not path.is_file():
            raise DamagedRunError(f"{path} is not a file, so it is not a replay of kinfolk.")
        self.refresh()

    def refresh(self) -> bool:
        """Index the records written since the last call; return whether there were new ones."""
        grew = False
        with as_store_error(f"{self.path} could not be read"), self.path.open("rb") as file:
            size = file.seek(0, 2)
            if size < self._offset:  # a resumed run records the episode anew
                self._offset, self.records = 0, {kind: [] for kind in codec.RECORD_KINDS}
            file.seek(self._offset)
            if self._offset == 0:
                self._check_magic(file.read(len(codec.MAGIC)), size)
                if size < len(codec.MAGIC):
                    return False
                self._offset = len(codec.MAGIC)
            while self._offset + codec.HEADER_BYTES <= size:
                file.seek(self._offset)
                header = self._parse_header(file.read(codec.HEADER_BYTES))
                payload = self._offset + codec.HEADER_BYTES
                if payload + header.length > size:
                    break  # still being written
                self.records[header.kind].append(RecordRef(header, payload))
                self._offset, grew = payload + header.length, True
        return grew

    def _parse_header(self, data: bytes) -> codec.RecordHeader:
        """Return the header of the next record.

        Raises:
            DamagedRunError: It is damaged, or does not continue the records before it.
        """
        with advising(lambda: _advise_recording(self.path)):
            try:
                header = codec.RecordHeader.from_bytes(data)
                if not self._is_next_record(header):
                    raise ValueError("a record does not continue those before it")
            except ValueError as error:
                place = f"{self.path} is damaged at byte {self._offset}"
                raise DamagedRunError(f"{place}: {error}.") from None
        return header

    def _is_next_record(self, header: codec.RecordHeader) -> bool:
        """Return whether a record continues those before it: one HEAD, then frames, then DONE."""
        if self.is_complete or (header.kind == codec.HEADER) == bool(self.records[codec.HEADER]):
            return False
        if header.kind not in (codec.SERIES, codec.FRAMES):
            return header.kind in codec.RECORD_KINDS
        previous = self.records[header.kind][-1:]
        first = previous[0].header.first + previous[0].header.frames if previous else 0
        return header.first == first and 1 <= header.frames <= codec.MAX_FRAMES

    def _check_magic(self, start: bytes, size: int) -> None:
        """Check that the file begins as a replay does; it may still be shorter than the first line.

        Args:
            start: First bytes of the file, at most as many as `MAGIC` has.
            size: Size of the file in bytes.

        Raises:
            DamagedRunError: The file is not a replay, or has another format version.
        """
        if start == codec.MAGIC or (size < len(codec.MAGIC) and codec.MAGIC.startswith(start)):
            return
        if start.startswith(codec.MAGIC_PREFIX):
            version = start.removeprefix(codec.MAGIC_PREFIX).split(b"\n")[0]
            actual, expected = version.decode(errors="replace"), codec.FORMAT_VERSION
            is_former = actual.isdigit() and int(actual) < expected
            raise DamagedRunError(
                f"{self.path} has format {actual}; this kinfolk reads {expected}."
                f"{FORMER_FORMAT_REASON if is_former else ''}"
            )
        raise DamagedRunError(f"{self.path} is not a replay of kinfolk.")

    @property
    def is_complete(self) -> bool:
        """Whether the episode was recorded to its end."""
        return bool(self.records[codec.DONE])

    @property
    def frames(self) -> int:
        """Number of frames that can be read now."""
        if not self.records[codec.FRAMES]:
            return 0
        last = self.records[codec.FRAMES][-1].header
        return last.first + last.frames

    @property
    def ticks(self) -> int:
        """Tick of the last frame that can be read now."""
        if not self.records[codec.SERIES]:
            raise DamagedRunError(f"{self.path} is cut short: it has no frames.")
        with self._describing_damage(self.records[codec.SERIES][-1]):
            return int(self.series(-1)[0]["ticks"][-1])

    def require_complete(self) -> None:
        """Check that the replay has its end, which the replays of a run that is done have.

        Raises:
            DamagedRunError: It is cut short.
        """
        if not self.is_complete:
            self.refresh()  # the run may have ended since
        if not self.is_complete:
            with advising(lambda: _advise_recording(self.path)):
                n_frames = self.frames
                raise DamagedRunError(f"{self.path} is cut short: it ends after {n_frames} frames.")

    def read_compressed(self, record: RecordRef) -> bytes:
        """Return a record's compressed payload, after checking its length and checksum."""
        compressed = self._read(record)
        self._decode(record, compressed)
        return compressed

    def _decode(self, record: RecordRef, compressed: bytes) -> bytes:
        """Return the decompressed payload of a record, after checking its length and checksum."""
        with advising(lambda: _advise_recording(self.path)):
            return codec.decode_payload(record.header, compressed, str(self.path))

    def _read(self, record: RecordRef) -> bytes:
        """Return the compressed payload of a record."""
        with as_store_error(f"{self.path} could not be read"), self.path.open("rb") as file:
            file.seek(record.offset)
            return file.read(record.header.length)  # no more than the file has: `refresh` looked

    def head(self) -> dict[str, Any]:
        """Return the HEAD record: what was played, and what the numbers mean."""
        if not self.records[codec.HEADER]:
            raise DamagedRunError(f"{self.path} is cut short: it has no head.")
        return self._read_json(self.records[codec.HEADER][0])

    def result(self) -> dict[str, Any] | None:
        """Return the DONE record with the episode's result; None if the episode has not ended."""
        return self._read_json(self.records[codec.DONE][0]) if self.is_complete else None

    def series(self, index: int) -> tuple[dict[str, AnyArray], dict[str, Any]]:
        """Return the arrays and notes of a SERI record."""
        return self._read_arrays(self.records[codec.SERIES][index])

    def columns(self, index: int) -> dict[str, AnyArray]:
        """Return all frames of a FRAM record.

        Args:
            index: Which FRAM record of the replay.

        Returns:
            Agents' columns `[frames, rows]` by name, and `cells` `[frames, cells]`.
        """
        record = self.records[codec.FRAMES][index]
        arrays, _ = self._read_arrays(record)
        suffix = codec.FIRST_SUFFIX
        names = [name.removesuffix(suffix) for name in arrays if name.endswith(suffix)]
        with self._describing_damage(record):
            columns = {name: codec.delta_decode(name, arrays) for name in names}
            return columns | {"cells": codec.decode_cell_changes(arrays, record.header.frames)}

    def events(self, index: int) -> list[dict[str, Any]]:
        """Return the world's events in the frames of a FRAM record, as `EVENT_FIELDS`."""
        record = self.records[codec.FRAMES][index]
        arrays, notes = self._read_arrays(record)
        with self._describing_damage(record):
            columns = {name: arrays[f"event_{name}"].tolist() for name in EVENT_FIELDS}
            columns["kind"] = [notes["kinds"][code] for code in columns["kind"]]
            columns["note"] = [notes["notes"][code] for code in columns["note"]]
            rows = list(zip(*columns.values(), strict=True))
        return [dict(zip(EVENT_FIELDS, row, strict=True)) for row in rows]

    def _read_arrays(self, record: RecordRef) -> tuple[dict[str, AnyArray], dict[str, Any]]:
        """Return the arrays and notes of a record."""
        with self._describing_damage(record):
            return codec.decode_arrays(self._read_payload(record))

    def _read_json(self, record: RecordRef) -> dict[str, Any]:
        """Return the JSON values of a record."""
        with self._describing_damage(record):
            return dict(parse_json(self._read_payload(record)))

    def _read_payload(self, record: RecordRef) -> bytes:
        """Return the decompressed payload of a record."""
        return self._decode(record, self._read(record))

    @contextmanager
    def _describing_damage(self, record: RecordRef) -> Iterator[None]:
        """Raise `DamagedRunError`, naming the record, if its content cannot be decoded."""
        try:
            yield
        except (IndexError, KeyError, TypeError, ValueError) as error:
            name = record.header.kind.decode(errors="replace")
            reason = f"{type(error).__name__}: {error}"
            raise DamagedRunError(
                f"{self.path} is damaged: the {name} record of frame {record.header.first} "
                f"cannot be read ({reason})."
            ) from None


def _advise_recording(path: Path) -> str:
    """Return how to replace a damaged replay, or which others the run has, as a sentence."""
    folder, name = path.parent.parent, path.name.removesuffix(REPLAY_SUFFIX)
    if path.parent.name != REPLAY_FOLDER:
        return ""
    if episode := re.fullmatch(r"game-(\d+)", name):  # as `record.replay_name` names episodes
        command = f"kinfolk view {shlex.quote(str(folder))} --episode {int(episode[1])}"
        return f"To record it again, remove it and run: {command}"
    others = [other.stem for other in list_replays(folder) if other != path]
    return f"Other replays of the run: {', '.join(others)}." if others else ""


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
        command = f"kinfolk view {shlex.quote(str(folder))} --episode 0"
        raise UsageError(f"The run {folder} has no replays. Record one: {command}")
    if name is not None and name not in known:
        hint = format_suggestion(name, known)
        raise UsageError(f"The run {folder} has no replay '{name}'.{hint}")
    return folder / REPLAY_FOLDER / f"{name or known[0]}{REPLAY_SUFFIX}"
