"""Shared memory between the host and its worker processes: header protocol, one buffer per worker, all of them as one array.

A fixed header says which request is sent and which was answered; rows, observations and actions
follow it. Nothing is pickled, in either direction.

A worker is woken by a byte on a pipe. After sending, the host spins for a moment and yields its core;
only then does it block, says so in the header, and is woken by a byte on a pipe as well.

Each worker has shared memory of its own, which no other can reach; only the host maps all of them,
one behind the other, so that a batch is written and read in a few operations.
"""

from __future__ import annotations

import ctypes
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
from kinfolk.policies.base import AgentBatch

TEXT_BYTES = 8192

# What is asked.
CMD_RESET, CMD_ACT, CMD_EXPORT_MEMORY, CMD_EXIT = 1, 2, 3, 4

# How it went.
STATUS_OK, STATUS_RAISED, STATUS_INVALID_ACTION = 1, 2, 3

# Places in the header.
REQUEST_ID, COMMAND, N_ROWS, REPLY_ID, STATUS, MEMORY_BYTES, PRINTED_CHARS, PEAK_KB, REPLY_NS = (
    range(9)
)

HOST_WAITING = 9  # whether the host wants to be woken

ROWS_VERSION = 10  # of the rows: another number when more of them has changed than their keys

# For how long the host stays awake: some times what sixteen quick policies take. When that was in
# vain, policies think for long or others want the cores, and it sleeps at once for some rounds.
SPIN_NS, SPIN_BACKOFF_CALLS = 400_000, 8

HEADER_FIELDS = 16  # places in it

# Columns of a row: key, place, world, row, uid, group, member, parents, parents' places.
ROW_COLUMNS = 11

ROW_BYTES = 8 * ROW_COLUMNS

_HAS_STRONG_ORDERING = platform.machine() in ("x86_64", "AMD64", "i686")

_F_ADD_SEALS, _F_SEAL_SEAL, _F_SEAL_SHRINK, _F_SEAL_GROW = 1033, 1, 2, 4


@dataclass(frozen=True)
class BufferLayout:
    """Sizes that both ends agree on."""

    capacity: int
    row_bytes: int
    n_heads: int

    @property
    def part_sizes(self) -> list[int]:
        """Bytes of header, rows, actions, observations and text."""
        n = self.capacity
        return [
            8 * HEADER_FIELDS,
            8 * n * ROW_COLUMNS,
            8 * n * self.n_heads,
            n * self.row_bytes,
            TEXT_BYTES,
        ]


def create_anonymous_memory(n_bytes: int) -> int:
    """A handle on shared memory that has no name, so that nothing is left even after a kill.

    Its size is fixed: a policy that cut it short would crash the host that reads it.
    """
    if sys.platform == "linux":
        handle = os.memfd_create("kinfolk", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(handle, max(1, n_bytes))
        fcntl.fcntl(handle, _F_ADD_SEALS, _F_SEAL_SHRINK | _F_SEAL_GROW | _F_SEAL_SEAL)
        return handle
    segment: Any = SharedMemory(create=True, size=max(1, n_bytes))
    handle = os.dup(segment._fd)
    segment.unlink()
    segment.close()
    return handle


def map_memory(fd: int, n_bytes: int) -> mmap.mmap:
    """The memory behind a handle."""
    return mmap.mmap(fd, max(1, n_bytes))


class SharedBuffer:
    """Arrays laid over one piece of shared memory, the same at both ends."""

    def __init__(self, layout: BufferLayout, fd: int) -> None:
        starts = np.cumsum([0, *layout.part_sizes]).tolist()
        self._map = map_memory(fd, starts[-1])
        n = layout.capacity
        # Numbers are read and written through memoryviews where it is done for every agent and
        # step: numpy takes twice as long for a handful of them.
        view = memoryview(self._map)
        self.header = view[: starts[1]].cast("q")
        self.row_bytes = view[starts[1] : starts[2]]
        self.action_bytes = view[starts[2] : starts[3]]
        self.observation_bytes = view[starts[3] : starts[4]]
        self._cached_version = -1  # version of what is kept in `_again`
        self._cached_request: tuple[AgentBatch, Ints, Bytes, Ints] | None = None
        self.rows: Ints = np.ndarray((n, ROW_COLUMNS), np.int64, self._map, starts[1])
        self.actions: Ints = np.ndarray((n, layout.n_heads), np.int64, self._map, starts[2])
        self.observations: Bytes = np.ndarray((n, layout.row_bytes), np.uint8, self._map, starts[3])
        self._text = view[starts[4] : starts[5]]

    def read_request(self) -> tuple[AgentBatch, Ints, Bytes, Ints]:
        """Who is asked, their keys, what they see, and where their actions go.

        Only the first is a copy; the others are written over with the next question.
        """
        header = self.header
        if header[N_ROWS] == 1:
            # One agent, as in most processes, stays the same from step to step but for its key.
            # To make these again takes as long as most policies think.
            if self._cached_request is None or header[ROWS_VERSION] != self._cached_version:
                self._cached_version, self._cached_request = (
                    header[ROWS_VERSION],
                    self._unpack_rows(1),
                )
            return self._cached_request
        return self._unpack_rows(header[N_ROWS])

    def _unpack_rows(self, count: int) -> tuple[AgentBatch, Ints, Bytes, Ints]:
        laid = self.rows[:count].T.copy()
        parents, places = np.ascontiguousarray(laid[7:9].T), np.ascontiguousarray(laid[9:11].T)
        place, world, row, uid, group, member = laid[1:7]
        rows = AgentBatch(place, world, row, uid, group, member, parents, places)
        keys = self.rows[:1, 0] if count == 1 else laid[0]
        return rows, keys, self.observations[:count], self.actions[:count]

    def write_text(self, text: str) -> None:
        """Lay a message down, cut to the room there is."""
        data = text.encode("utf-8", "replace")[: TEXT_BYTES - 1]
        self._text[: len(data) + 1] = data + b"\0"

    def read_message(self) -> str:
        """The message, whatever bytes were put there."""
        return bytes(self._text).split(b"\0", 1)[0].decode("utf-8", "replace")

    def close(self) -> None:
        """Let go of the memory; what still looks at it keeps it."""
        del self.rows, self.actions, self.observations, self._cached_request
        for view in (self.header, self.row_bytes, self.action_bytes,
                     self.observation_bytes, self._text):  # fmt: skip
            view.release()
        with suppress(BufferError):  # a view is alive somewhere; it goes with the last of them
            self._map.close()


def memory_fence() -> None:
    """What was written before is seen before what is written after, and read so.

    These processors keep that order by themselves. Elsewhere a call of the system does it: the
    kernel's own barrier for what writes, its entry for what reads.
    """
    if not _HAS_STRONG_ORDERING:
        os.sched_yield()


def as_bytes(array: AnyArray) -> memoryview:
    """The bytes of an array that lies in one piece."""
    return np.ascontiguousarray(array).data.cast("B")


_row_versions = count(1)


def next_rows_version() -> int:
    """A number for rows that no guest of this process has seen."""
    return next(_row_versions)


def fingerprint_rows(batch: AgentBatch) -> bytes:
    """What `lay_rows` lays but for the keys, as bytes: quicker to make, and to compare."""
    parts = (np.array(batch[:6]), batch.parents, batch.parent_memory_index)
    return b"".join([part.tobytes() for part in parts])


def pack_rows(batch: AgentBatch, keys: Ints) -> AnyArray:
    """Rows and keys as one block, `[n, COLUMNS]`."""
    block = np.empty((len(keys), ROW_COLUMNS), dtype=np.int64)
    block[:, 0] = keys
    for column, values in enumerate(batch[:6], 1):
        block[:, column] = values
    block[:, 7:9], block[:, 9:11] = batch.parents, batch.parent_memory_index
    return block


_READ_AND_WRITE = mmap.PROT_READ | mmap.PROT_WRITE

_MAP_FIXED = 0x10  # on Linux, macOS and the BSDs alike

_MAP_FAILED = ctypes.c_void_p(-1).value


class SharedBufferArray:
    """Seats, each over the memory of the guest that sits there; arrays go by seat first."""

    def __init__(self, layout: BufferLayout, n_buffers: int) -> None:
        starts = np.cumsum([0, *layout.part_sizes]).tolist()
        self._size = starts[4]  # without the text
        page = mmap.ALLOCATIONGRANULARITY
        self._stride = -(-self._size // page) * page
        # Address space to put them in; a page that nobody touches costs nothing.
        self._region = mmap.mmap(
            -1, n_buffers * self._stride, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        )
        n, heads = layout.capacity, layout.n_heads
        self.header: Ints = self._view((n_buffers, HEADER_FIELDS), np.int64, starts[0])
        self.rows: Ints = self._view((n_buffers, n, ROW_COLUMNS), np.int64, starts[1])
        self.actions: Ints = self._view((n_buffers, n, heads), np.int64, starts[2])
        self.observations: Bytes = self._view((n_buffers, n, layout.row_bytes), np.uint8, starts[3])

    def attach(self, index: int, fd: int) -> None:
        """Lay a guest's memory at a seat, over whatever was there.

        Raises:
            OSError: The system would not.
        """
        libc: Any = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        where = self.header.ctypes.data + index * self._stride
        found = libc.mmap(where, self._size, _READ_AND_WRITE, mmap.MAP_SHARED | _MAP_FIXED, fd, 0)
        if found == _MAP_FAILED:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def close(self) -> None:
        """Let go of all of them; what still looks at it keeps it. May be called twice."""
        for name in ("header", "rows", "actions", "observations"):
            self.__dict__.pop(name, None)
        with suppress(BufferError):  # a view is alive somewhere; it goes with the last of them
            self._region.close()

    def _view(self, shape: tuple[int, ...], dtype: type, start: int) -> AnyArray:
        inner = np.empty(shape[1:], dtype).strides
        return np.ndarray(shape, dtype, self._region, start, (self._stride, *inner))
