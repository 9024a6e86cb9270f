"""Replays on disk: found, followed while they are written, read a record at a time."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import DamagedRunError, UsageError, suggestion
from kinfolk.store.files import saying
from kinfolk.store.replay_form import (
    DONE,
    FORMAT,
    FRAMES,
    HEAD,
    KINDS,
    MAGIC,
    NUMBERS,
    PREFIX,
    Prefix,
    from_changes,
    from_steps,
    read_block,
    unpacked,
)

FOLDER, SUFFIX = "replays", ".replay"


class Part(NamedTuple):
    """Where a record lies; `at` is the offset of its payload."""

    prefix: Prefix
    at: int


class Replay:
    """One replay. Only prefixes are read until a record is asked for.

    Raises:
        UsageError: There is no such file.
        DamagedRunError: It is no replay, or of another format, or not whole where it should be.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._at = 0
        self.parts: dict[bytes, list[Part]] = {kind: [] for kind in KINDS}
        if not path.is_file():
            raise UsageError(f"There is no replay {path}.")
        self.refresh()

    def refresh(self) -> bool:
        """Look for records written since; whether there were any."""
        found = False
        with saying(f"{self.path} could not be read"), self.path.open("rb") as file:
            size = file.seek(0, 2)
            if size < self._at:  # it was begun again
                self._at, self.parts = 0, {kind: [] for kind in KINDS}
            file.seek(self._at)
            if self._at == 0:
                self._check_magic(file.read(len(MAGIC)), size)
                if size < len(MAGIC):
                    return False
                self._at = len(MAGIC)
            while self._at + PREFIX.size <= size:
                file.seek(self._at)
                prefix = Prefix(*PREFIX.unpack(file.read(PREFIX.size)))
                if prefix.kind not in KINDS:
                    raise DamagedRunError(f"{self.path} is damaged at byte {self._at}.")
                after = self._at + PREFIX.size + prefix.length
                if after > size:
                    break  # still being written
                self.parts[prefix.kind].append(Part(prefix, self._at + PREFIX.size))
                self._at, found = after, True
        return found

    def _check_magic(self, start: bytes, size: int) -> None:
        if start == MAGIC or (size < len(MAGIC) and MAGIC.startswith(start)):
            return
        if start.startswith(b"kinfolk replay "):
            theirs = start[15:].split(b"\n")[0].decode(errors="replace")
            raise DamagedRunError(f"{self.path} has format {theirs}; this kinfolk reads {FORMAT}.")
        raise DamagedRunError(f"{self.path} is not a replay of kinfolk.")

    @property
    def is_whole(self) -> bool:
        """Whether it was written to its end."""
        return bool(self.parts[DONE])

    @property
    def frames(self) -> int:
        """How many frames can be read now."""
        found = self.parts[FRAMES]
        return found[-1].prefix.first + found[-1].prefix.frames if found else 0

    @property
    def ticks(self) -> int:
        """The tick of the last frame that can be read now."""
        if not self.parts[NUMBERS]:
            raise DamagedRunError(f"{self.path} is cut short: it has no frames.")
        return int(self.numbers(-1)[0]["ticks"][-1])

    def packed(self, part: Part) -> bytes:
        """A record as it was written, checked."""
        with saying(f"{self.path} could not be read"), self.path.open("rb") as file:
            file.seek(part.at)
            packed = file.read(part.prefix.length)
        unpacked(part.prefix, packed, str(self.path))
        return packed

    def head(self) -> dict[str, Any]:
        """What was played, and what the numbers mean."""
        if not self.parts[HEAD]:
            raise DamagedRunError(f"{self.path} is cut short: it has no head.")
        return self._values(self.parts[HEAD][0])

    def result(self) -> dict[str, Any] | None:
        """How it ended, None if it has not."""
        return self._values(self.parts[DONE][0]) if self.is_whole else None

    def numbers(self, index: int) -> tuple[dict[str, AnyArray], dict[str, Any]]:
        """The arrays and notes of a NUMB record."""
        return self._block(self.parts[NUMBERS][index])

    def columns(self, index: int) -> dict[str, AnyArray]:
        """Every frame of a FRAM record: `cells` `[frames, places]` and columns `[frames, rows]`."""
        part = self.parts[FRAMES][index]
        arrays, _ = self._block(part)
        names = [name.rpartition("/")[0] for name in arrays if name.endswith("/first")]
        found = {name: from_steps(name, arrays) for name in names}
        return found | {"cells": from_changes(arrays, part.prefix.frames)}

    def events(self, index: int) -> list[dict[str, Any]]:
        """What took place in the frames of a FRAM record."""
        arrays, notes = self._block(self.parts[FRAMES][index])
        columns = [arrays[f"event_{name}"].tolist() for name in EVENT_FIELDS]
        return [
            dict(zip(EVENT_FIELDS, (t, notes["kinds"][k], u, o, v, notes["notes"][n]), strict=True))
            for t, k, u, o, v, n in zip(*columns, strict=True)
        ]

    def _block(self, part: Part) -> tuple[dict[str, AnyArray], dict[str, Any]]:
        return read_block(unpacked(part.prefix, self.packed(part), str(self.path)))

    def _values(self, part: Part) -> dict[str, Any]:
        values: dict[str, Any] = json.loads(
            unpacked(part.prefix, self.packed(part), str(self.path))
        )
        return values


EVENT_FIELDS = ("tick", "kind", "uid", "other", "value", "note")


def replays_of(folder: Path) -> list[Path]:
    """The replays of a run, by name."""
    with saying(f"{folder} could not be read"):
        return sorted((folder / FOLDER).glob(f"*{SUFFIX}"))


def find_replay(folder: Path, name: str | None) -> Path:
    """A replay of a run, the first if no name is given.

    Raises:
        UsageError: There is none of that name, or none at all.
    """
    known = [path.name.removesuffix(SUFFIX) for path in replays_of(folder)]
    if not known:
        raise UsageError(
            f"The run {folder} has no replays. Record one: kinfolk view {shlex.quote(str(folder))} "
            f"--episode 0"
        )
    if name is not None and name not in known:
        raise UsageError(f"The run {folder} has no replay '{name}'.{suggestion(name, known)}")
    return folder / FOLDER / f"{name or known[0]}{SUFFIX}"
