"""Shared memory between the host and its workers: protocol, buffers, and all buffers as one array.

A fixed header holds the ids of the current request and of the last reply; rows, observations and
actions follow it. Nothing is pickled in either direction.

A worker is woken by a byte on a pipe. After sending, the host first spins, yielding its core; then it
sets a flag in the header and sleeps until a byte arrives on the worker's pipe.

Each worker has its own shared memory, which no other worker can map. The host maps all of them one
behind the other, so that a batch is written and read in a few array operations.
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

TEXT_BYTES = 8192  # capacity for error messages

# Commands.
CMD_RESET, CMD_ACT, CMD_EXPORT_MEMORY, CMD_EXIT = 1, 2, 3, 4

# Status of a reply.
STATUS_OK, STATUS_RAISED, STATUS_INVALID_ACTION = 1, 2, 3

# Fields of the header, int64 each.
REQUEST_ID, COMMAND, N_ROWS, REPLY_ID, STATUS = range(5)
MEMORY_BYTES = 5
# In another cache line than the ids, which the host reads while it spins.
REPLY_NS = 8
HOST_WAITING = 9  # whether the worker must wake the host when it replies
ROWS_VERSION = 10  # changes when more of the rows than their keys has changed

HEADER_FIELDS = 16  # size of the header; the last fields are unused

# Columns of a row: key, memory index, world, row, uid, group, member, uids of the two parents, memory
# indices of the two parents.
ROW_COLUMNS = 11
AGENT_INDEX_COLUMN, WORLD_COLUMN, UID_COLUMN, PARENT_INDEX_COLUMNS = 1, 2, 4, slice(9, 11)

_HAS_STRONG_ORDERING = platform.machine() in ("x86_64", "AMD64", "i686")

_F_ADD_SEALS, _F_SEAL_SEAL, _F_SEAL_SHRINK, _F_SEAL_GROW, _F_SEAL_WRITE = 1033, 1, 2, 4, 8
_SIZE_SEALS = _F_SEAL_SHRINK | _F_SEAL_GROW | _F_SEAL_SEAL


@dataclass(frozen=True)
class BufferLayout:
    """Sizes of a shared buffer, equal in host and worker."""

    capacity: int  # largest number of agents in a request
    row_bytes: int  # of an observation
    n_heads: int  # of an action

    @property
    def part_sizes(self) -> list[int]:
        """Bytes of header, rows, actions, observations and text, in this order."""
        n = self.capacity
        rows, actions = 8 * n * ROW_COLUMNS, 8 * n * self.n_heads
        return [8 * HEADER_FIELDS, rows, actions, n * self.row_bytes, TEXT_BYTES]


def create_anonymous_memory(n_bytes: int) -> int:
    """Return a descriptor of shared memory without a name, which vanishes even after a kill.

    Its size is sealed: if a policy could truncate it, the host would crash when it reads it.
    """
    if sys.platform == "linux":
        fd = os.memfd_create("kinfolk", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, max(1, n_bytes))
        fcntl.fcntl(fd, _F_ADD_SEALS, _SIZE_SEALS)
        return fd
    segment: Any = SharedMemory(create=True, size=max(1, n_bytes))
    fd = os.dup(segment._fd)
    segment.unlink()
    segment.close()
    return fd


def create_sealed_memory(data: bytes) -> int:
    """Return a descriptor of shared memory with this content, which no process can change."""
    if sys.platform == "linux":
        fd = os.memfd_create("kinfolk", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        with open(fd, "wb", closefd=False) as file:
            file.write(data)
        fcntl.fcntl(fd, _F_ADD_SEALS, _F_SEAL_WRITE | _SIZE_SEALS)
        return fd
    fd = create_anonymous_memory(len(data))
    with map_memory(fd, len(data)) as memory:
        memory[: len(data)] = data
    return fd


def map_memory(fd: int, n_bytes: int) -> mmap.mmap:
    """Map the shared memory of a descriptor into this process."""
    return mmap.mmap(fd, max(1, n_bytes))


class SharedBuffer:
    """Views of one worker's shared memory, the same in host and worker.

    Args:
        layout: Sizes of its parts.
        fd: Descriptor of the memory.

    Attributes:
        header: Memoryview of int64; see the constants of this module.
        rows: `[capacity, ROW_COLUMNS]`, agents of the request, as `pack_rows` returns them.
        observations: `[capacity, row_bytes]`, their observations.
        actions: `[capacity, n_heads]`, written by the worker.
    """

    def __init__(self, layout: BufferLayout, fd: int) -> None:
        starts = np.cumsum([0, *layout.part_sizes]).tolist()
        self._map = map_memory(fd, starts[-1])
        n = layout.capacity
        # A memoryview, because it is read and written for every agent and step: for a handful of
        # numbers NumPy takes twice as long.
        view = memoryview(self._map)
        self.header = view[: starts[1]].cast("q")
        self._cached_version = -1  # ROWS_VERSION of the cached request
        self._cached_request: tuple[AgentBatch, Ints, Bytes, Ints] | None = None
        self.rows: Ints = np.ndarray((n, ROW_COLUMNS), np.int64, self._map, starts[1])
        self.actions: Ints = np.ndarray((n, layout.n_heads), np.int64, self._map, starts[2])
        self.observations: Bytes = np.ndarray((n, layout.row_bytes), np.uint8, self._map, starts[3])
        self._text = view[starts[4] : starts[5]]

    def read_request(self) -> tuple[AgentBatch, Ints, Bytes, Ints]:
        """Return the current request: agents, random keys, observations, and array for actions.

        The agents are copies; the other arrays may be views that the next request overwrites.
        """
        header = self.header
        if header[N_ROWS] == 1:
            # A single agent stays the same from step to step except for its key, and building
            # these arrays takes as long as most policies compute.
            if self._cached_request is None or header[ROWS_VERSION] != self._cached_version:
                self._cached_version = header[ROWS_VERSION]
                self._cached_request = self._unpack_rows(1)
            return self._cached_request
        return self._unpack_rows(header[N_ROWS])

    def _unpack_rows(self, count: int) -> tuple[AgentBatch, Ints, Bytes, Ints]:
        """Build the request from the first `count` rows of the buffer."""
        columns = self.rows[:count].T.copy()
        index, world, row, uid, group, member = columns[1:7]
        parents, parent_index = (np.ascontiguousarray(columns[i : i + 2].T) for i in (7, 9))
        batch = AgentBatch(index, world, row, uid, group, member, parents, parent_index)
        keys = self.rows[:1, 0] if count == 1 else columns[0]
        return batch, keys, self.observations[:count], self.actions[:count]

    def write_text(self, text: str) -> None:
        """Write a message, truncated to the capacity of the buffer."""
        data = text.encode("utf-8", "replace")[: TEXT_BYTES - 1]
        self._text[: len(data) + 1] = data + b"\0"

    def read_message(self) -> str:
        """Return the message; invalid UTF-8 is replaced."""
        return bytes(self._text).split(b"\0", 1)[0].decode("utf-8", "replace")

    def close(self) -> None:
        """Release the views and unmap the memory, unless other views of it exist."""
        del self.rows, self.actions, self.observations, self._cached_request
        self.header.release()
        self._text.release()
        with suppress(BufferError):  # unmapped with the last view of it
            self._map.close()


def memory_fence() -> None:
    """Order memory accesses before the call before those after it.

    x86 processors keep the order of stores and of loads. Elsewhere a system call serves as barrier.
    """
    if not _HAS_STRONG_ORDERING:
        os.sched_yield()


row_versions = count(1)  # new values for `ROWS_VERSION`, unique in this process


def fingerprint_rows(batch: AgentBatch) -> bytes:
    """Return all of what `pack_rows` writes except keys, as bytes: faster to build and compare."""
    parts = (np.array(batch[:6]), batch.parents, batch.parent_memory_index)
    return b"".join([part.tobytes() for part in parts])


def pack_rows(batch: AgentBatch, keys: Ints) -> AnyArray:
    """Return agents and their keys as one block, `[n, ROW_COLUMNS]`."""
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
    """The buffers of several workers, mapped one behind the other as arrays with a worker axis.

    Args:
        layout: Sizes of each buffer.
        n_buffers: Number of buffers; their indices are free until `attach`.

    Attributes:
        header: `[n_buffers, HEADER_FIELDS]`.
        rows: `[n_buffers, capacity, ROW_COLUMNS]`.
        actions: `[n_buffers, capacity, n_heads]`.
        observations: `[n_buffers, capacity, row_bytes]`.
    """

    def __init__(self, layout: BufferLayout, n_buffers: int) -> None:
        starts = np.cumsum([0, *layout.part_sizes]).tolist()
        self._size = starts[4]  # without the text
        page = mmap.ALLOCATIONGRANULARITY
        self._stride = -(-self._size // page) * page
        # Reserves address space; untouched pages cost nothing.
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._region = mmap.mmap(-1, n_buffers * self._stride, flags=flags)
        n, heads = layout.capacity, layout.n_heads
        self.header: Ints = self._view((n_buffers, HEADER_FIELDS), np.int64, starts[0])
        self.rows: Ints = self._view((n_buffers, n, ROW_COLUMNS), np.int64, starts[1])
        self.actions: Ints = self._view((n_buffers, n, heads), np.int64, starts[2])
        self.observations: Bytes = self._view((n_buffers, n, layout.row_bytes), np.uint8, starts[3])

    def attach(self, index: int, fd: int) -> None:
        """Map a worker's memory at an index, replacing what was mapped there.

        Args:
            index: Index of the buffer.
            fd: Descriptor of the worker's memory.

        Raises:
            OSError: The system refused, such as for an invalid descriptor.
        """
        assert 0 <= index < len(self.header)  # it would overwrite other memory of this process
        libc: Any = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        address = self.header.ctypes.data + index * self._stride
        flags = mmap.MAP_SHARED | _MAP_FIXED
        if libc.mmap(address, self._size, _READ_AND_WRITE, flags, fd, 0) == _MAP_FAILED:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def close(self) -> None:
        """Unmap all buffers, unless other views of them exist; may be called twice."""
        for name in ("header", "rows", "actions", "observations"):
            self.__dict__.pop(name, None)
        with suppress(BufferError):  # unmapped with the last view of it
            self._region.close()

    def _view(self, shape: tuple[int, ...], dtype: type, start: int) -> AnyArray:
        """Return an array over one part of all buffers.

        Args:
            shape: Shape, with the buffers as first axis.
            dtype: Type of the items.
            start: Offset of the part in each buffer, in bytes.
        """
        inner_strides = np.empty(shape[1:], dtype).strides
        return np.ndarray(shape, dtype, self._region, start, (self._stride, *inner_strides))
