"""What crosses between a policy's process and its host: numbers, in shared memory.

A fixed header says which question is asked and which was answered; rows, observations and actions
lie behind it. A wake-up is one byte on a socket. Nothing is pickled, in either direction.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.policies.base import Rows

TEXT_BYTES = 8192
# What is asked.
BEGIN, ASK, EXPORT, LEAVE = 1, 2, 3, 4
# How it went.
READY, RAISED, NONSENSE = 1, 2, 3
# Places in the header.
QUESTION, KIND, ROWS, ANSWERED, OUTCOME, PLACE_BYTES, PRINTED, PEAK_KB, ANSWERED_NS = range(9)
_HEADER = 16
# Columns of a row: key, place, world, row, uid, group, member, parents, parents' places.
COLUMNS = 11
ROW_BYTES = 8 * COLUMNS
_F_ADD_SEALS, _F_SEAL_SEAL, _F_SEAL_SHRINK, _F_SEAL_GROW = 1033, 1, 2, 4


@dataclass(frozen=True)
class WireShape:
    """Sizes that both ends agree on."""

    capacity: int
    row_bytes: int
    heads: int

    @property
    def parts(self) -> list[int]:
        """Bytes of header, rows, actions, observations and text."""
        n = self.capacity
        return [8 * _HEADER, 8 * n * COLUMNS, 8 * n * self.heads, n * self.row_bytes, TEXT_BYTES]


def anonymous_memory(size: int) -> int:
    """A handle on shared memory that has no name, so that nothing is left even after a kill.

    Its size is fixed: a policy that cut it short would crash the host that reads it.
    """
    if sys.platform == "linux":
        handle = os.memfd_create("kinfolk", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(handle, max(1, size))
        fcntl.fcntl(handle, _F_ADD_SEALS, _F_SEAL_SHRINK | _F_SEAL_GROW | _F_SEAL_SEAL)
        return handle
    segment: Any = SharedMemory(create=True, size=max(1, size))
    handle = os.dup(segment._fd)
    segment.unlink()
    segment.close()
    return handle


def mapped(handle: int, size: int) -> mmap.mmap:
    """The memory behind a handle."""
    return mmap.mmap(handle, max(1, size))


class Wire:
    """Arrays laid over one piece of shared memory, the same at both ends."""

    def __init__(self, shape: WireShape, handle: int) -> None:
        starts = np.cumsum([0, *shape.parts]).tolist()
        self._map = mapped(handle, starts[-1])
        n = shape.capacity
        # Numbers are read and written through memoryviews where it is done for every agent and
        # step: numpy takes twice as long for a handful of them.
        view = memoryview(self._map)
        self.header = view[: starts[1]].cast("q")
        self.row_bytes = view[starts[1] : starts[2]]
        self.action_bytes = view[starts[2] : starts[3]]
        self.seen_bytes = view[starts[3] : starts[4]]
        self._known: tuple[bytes, Rows] | None = None
        self.rows: Ints = np.ndarray((n, COLUMNS), np.int64, self._map, starts[1])
        self.actions: Ints = np.ndarray((n, shape.heads), np.int64, self._map, starts[2])
        self.observations: Bytes = np.ndarray((n, shape.row_bytes), np.uint8, self._map, starts[3])
        self._text = view[starts[4] : starts[5]]
        # Of the first row alone: most processes hold one agent, and slicing takes as long as most
        # policies think.
        self._others, self._key = self.row_bytes[8:ROW_BYTES], self.rows[:1, 0]
        self._first = self.observations[:1], self.actions[:1]

    def get_rows(self) -> tuple[Rows, Ints]:
        """Who is asked, copied: what lies here is written over with the next question."""
        count = self.header[ROWS]
        if count == 1:  # one agent, which stays the same from step to step but for its key
            others = self._others.tobytes()
            if self._known is not None and self._known[0] == others:
                return self._known[1], self._key.copy()
        laid = self.rows[:count].T.copy()
        key, place, world, row, uid, group, member = laid[:7]
        parents, places = np.ascontiguousarray(laid[7:9].T), np.ascontiguousarray(laid[9:11].T)
        rows = Rows(place, world, row, uid, group, member, parents, places)
        self._known = (others, rows) if count == 1 else None
        return rows, key

    def of_rows(self, count: int) -> tuple[Bytes, Ints]:
        """What the first `count` rows see, and where their actions go."""
        return self._first if count == 1 else (self.observations[:count], self.actions[:count])

    def put_text(self, text: str) -> None:
        """Lay a message down, cut to the room there is."""
        data = text.encode("utf-8", "replace")[: TEXT_BYTES - 1]
        self._text[: len(data) + 1] = data + b"\0"

    def get_text(self) -> str:
        """The message, whatever bytes were put there."""
        return bytes(self._text).split(b"\0", 1)[0].decode("utf-8", "replace")

    def close(self) -> None:
        """Let go of the memory; what still looks at it keeps it."""
        del self.rows, self.actions, self.observations, self._key, self._first
        for view in (self._others, self.header, self.row_bytes, self.action_bytes,
                     self.seen_bytes, self._text):  # fmt: skip
            view.release()
        with suppress(BufferError):  # a view is alive somewhere; it goes with the last of them
            self._map.close()


def raw(array: AnyArray) -> memoryview:
    """The bytes of an array that lies in one piece."""
    return np.ascontiguousarray(array).data.cast("B")


def lay_rows(rows: Rows, keys: Ints) -> AnyArray:
    """Rows and keys as one block, `[n, COLUMNS]`."""
    block = np.empty((len(keys), COLUMNS), dtype=np.int64)
    block[:, 0] = keys
    for column, values in enumerate(rows[:6], 1):
        block[:, column] = values
    block[:, 7:9], block[:, 9:11] = rows.parents, rows.parent_places
    return block
