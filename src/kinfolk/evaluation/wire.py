"""What crosses between a policy's process and its host: numbers, in shared memory.

A fixed header says which question is asked and which was answered; rows, observations and actions
lie behind it. Nothing is pickled, in either direction.

A guest is woken by a byte on a pipe. Its host stays awake for a moment after it has asked, looks at
the headers and lets the guests have its core; only when it has gone to sleep it says so in the
header, and is woken by a byte on a pipe as well.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import platform
import sys
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
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
HOST_ASLEEP = 9  # whether the host wants to be woken
VERSION = 10  # of the rows: another number when more of them has changed than their keys
# For how long the host stays awake: some times what sixteen quick policies take. When that was in
# vain, policies think for long or others want the cores, and it sleeps at once for some rounds.
AWAKE_NS, NAPS = 400_000, 8
HEADER = 16  # places in it
# Columns of a row: key, place, world, row, uid, group, member, parents, parents' places.
COLUMNS = 11
ROW_BYTES = 8 * COLUMNS
_IN_ORDER = platform.machine() in ("x86_64", "AMD64", "i686")
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
        return [8 * HEADER, 8 * n * COLUMNS, 8 * n * self.heads, n * self.row_bytes, TEXT_BYTES]


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
        self._known = -1  # version of what is kept in `_again`
        self._again: tuple[Rows, Ints, Bytes, Ints] | None = None
        self.rows: Ints = np.ndarray((n, COLUMNS), np.int64, self._map, starts[1])
        self.actions: Ints = np.ndarray((n, shape.heads), np.int64, self._map, starts[2])
        self.observations: Bytes = np.ndarray((n, shape.row_bytes), np.uint8, self._map, starts[3])
        self._text = view[starts[4] : starts[5]]

    def asked(self) -> tuple[Rows, Ints, Bytes, Ints]:
        """Who is asked, their keys, what they see, and where their actions go.

        Only the first is a copy; the others are written over with the next question.
        """
        header = self.header
        if header[ROWS] == 1:
            # One agent, as in most processes, stays the same from step to step but for its key.
            # To make these again takes as long as most policies think.
            if self._again is None or header[VERSION] != self._known:
                self._known, self._again = header[VERSION], self._asked(1)
            return self._again
        return self._asked(header[ROWS])

    def _asked(self, count: int) -> tuple[Rows, Ints, Bytes, Ints]:
        laid = self.rows[:count].T.copy()
        parents, places = np.ascontiguousarray(laid[7:9].T), np.ascontiguousarray(laid[9:11].T)
        place, world, row, uid, group, member = laid[1:7]
        rows = Rows(place, world, row, uid, group, member, parents, places)
        keys = self.rows[:1, 0] if count == 1 else laid[0]
        return rows, keys, self.observations[:count], self.actions[:count]

    def put_text(self, text: str) -> None:
        """Lay a message down, cut to the room there is."""
        data = text.encode("utf-8", "replace")[: TEXT_BYTES - 1]
        self._text[: len(data) + 1] = data + b"\0"

    def get_text(self) -> str:
        """The message, whatever bytes were put there."""
        return bytes(self._text).split(b"\0", 1)[0].decode("utf-8", "replace")

    def close(self) -> None:
        """Let go of the memory; what still looks at it keeps it."""
        del self.rows, self.actions, self.observations, self._again
        for view in (self.header, self.row_bytes, self.action_bytes,
                     self.seen_bytes, self._text):  # fmt: skip
            view.release()
        with suppress(BufferError):  # a view is alive somewhere; it goes with the last of them
            self._map.close()


def fence() -> None:
    """What was written before is seen before what is written after, and read so.

    These processors keep that order by themselves. Elsewhere a call of the system does it: the
    kernel's own barrier for what writes, its entry for what reads.
    """
    if not _IN_ORDER:
        os.sched_yield()


def raw(array: AnyArray) -> memoryview:
    """The bytes of an array that lies in one piece."""
    return np.ascontiguousarray(array).data.cast("B")


_versions = count(1)


def new_version() -> int:
    """A number for rows that no guest of this process has seen."""
    return next(_versions)


def mark_of(rows: Rows) -> bytes:
    """What `lay_rows` lays but for the keys, as bytes: quicker to make, and to compare."""
    parts = (np.array(rows[:6]), rows.parents, rows.parent_places)
    return b"".join([part.tobytes() for part in parts])


def lay_rows(rows: Rows, keys: Ints) -> AnyArray:
    """Rows and keys as one block, `[n, COLUMNS]`."""
    block = np.empty((len(keys), COLUMNS), dtype=np.int64)
    block[:, 0] = keys
    for column, values in enumerate(rows[:6], 1):
        block[:, column] = values
    block[:, 7:9], block[:, 9:11] = rows.parents, rows.parent_places
    return block
