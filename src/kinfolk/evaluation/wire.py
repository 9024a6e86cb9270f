"""What crosses between an isolated policy and its host: numbers, in shared memory.

A fixed header says which question is asked and which was answered; rows, observations and actions
lie behind it. A wake-up is one byte on a pipe. Nothing is pickled on the way back.
"""

from __future__ import annotations

from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.policies.base import Rows

TEXT_BYTES = 4096
# What is asked.
BEGIN, ASK, LEAVE = 1, 2, 3
# How it went.
READY, RAISED = 1, 2


@dataclass(frozen=True)
class WireShape:
    """Sizes that both ends agree on."""

    capacity: int
    row_bytes: int
    heads: int


class Wire:
    """Arrays laid over one shared segment, the same at both ends."""

    def __init__(self, shape: WireShape, name: str | None = None) -> None:
        n = shape.capacity
        fields: dict[str, tuple[tuple[int, ...], Any]] = {
            "header": ((8,), np.int64),  # question, kind of question, rows, answer, outcome
            "keys": ((n,), np.int64),
            "columns": ((6, n), np.int64),  # place, world, row, uid, group, member
            "parents": ((2, n, 2), np.int64),  # uids, places
            "actions": ((n, shape.heads), np.int64),
            "observations": ((n, shape.row_bytes), np.uint8),
            "text": ((TEXT_BYTES,), np.uint8),
        }
        sizes = {k: int(np.prod(s)) * np.dtype(t).itemsize for k, (s, t) in fields.items()}
        self.segment = SharedMemory(name, create=name is None, size=sum(sizes.values()))
        self._arrays: dict[str, AnyArray] = {}
        at = 0
        for field, (extent, kind) in fields.items():
            self._arrays[field] = np.ndarray(extent, kind, self.segment.buf, at)
            at += sizes[field]

    def __getattr__(self, name: str) -> AnyArray:
        try:
            return self.__dict__["_arrays"][name]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(name) from None

    def put_rows(self, rows: Rows, keys: Ints) -> None:
        """Lay rows and keys down."""
        n = len(keys)
        self.header[2] = n
        self.keys[:n] = keys
        for column, values in zip(self.columns, rows[:6], strict=True):
            column[:n] = values
        self.parents[0, :n], self.parents[1, :n] = rows.parents, rows.parent_places

    def get_rows(self) -> tuple[Rows, Ints]:
        """Copies of what was laid down, so that a policy cannot change it under the host."""
        n = int(self.header[2])
        place, world, row, uid, group, member = (column[:n].copy() for column in self.columns)
        parents, places = self.parents[:, :n].copy()
        rows = Rows(place, world, row, uid, group, member, parents, places)
        return rows, self.keys[:n].copy()

    def put_text(self, text: str) -> None:
        """Lay a message down, cut to the room there is."""
        data = text.encode("utf-8", "replace")[: TEXT_BYTES - 1]
        self.text[: len(data)] = np.frombuffer(data, np.uint8)
        self.text[len(data) :] = 0

    def get_text(self) -> str:
        """The message, whatever bytes were put there."""
        return bytes(self.text).split(b"\0", 1)[0].decode("utf-8", "replace")

    def close(self, remove: bool) -> None:
        """Let go of the segment; its maker also removes it."""
        self._arrays.clear()
        self.segment.close()
        if remove:
            self.segment.unlink()
