"""The memory of many guests side by side, so that all are asked and heard in a few operations.

Each guest has shared memory of its own, which no other can reach; only the host sees them together,
one behind the other in its own address space.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from contextlib import suppress
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.evaluation.wire import COLUMNS, HEADER, WireShape

_READ_AND_WRITE = mmap.PROT_READ | mmap.PROT_WRITE
_MAP_FIXED = 0x10  # on Linux, macOS and the BSDs alike
_FAILED = ctypes.c_void_p(-1).value


class Table:
    """Seats, each over the memory of the guest that sits there; arrays go by seat first."""

    def __init__(self, shape: WireShape, seats: int) -> None:
        starts = np.cumsum([0, *shape.parts]).tolist()
        self._size = starts[4]  # without the text
        page = mmap.ALLOCATIONGRANULARITY
        self._stride = -(-self._size // page) * page
        # Address space to put them in; a page that nobody touches costs nothing.
        self._region = mmap.mmap(
            -1, seats * self._stride, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        )
        n, heads = shape.capacity, shape.heads
        self.header: Ints = self._over((seats, HEADER), np.int64, starts[0])
        self.rows: Ints = self._over((seats, n, COLUMNS), np.int64, starts[1])
        self.actions: Ints = self._over((seats, n, heads), np.int64, starts[2])
        self.seen: Bytes = self._over((seats, n, shape.row_bytes), np.uint8, starts[3])

    def sit(self, seat: int, handle: int) -> None:
        """Lay a guest's memory at a seat, over whatever was there.

        Raises:
            OSError: The system would not.
        """
        libc: Any = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        where = self.header.ctypes.data + seat * self._stride
        found = libc.mmap(
            where, self._size, _READ_AND_WRITE, mmap.MAP_SHARED | _MAP_FIXED, handle, 0
        )
        if found == _FAILED:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def close(self) -> None:
        """Let go of all of them; what still looks at it keeps it. May be called twice."""
        for name in ("header", "rows", "actions", "seen"):
            self.__dict__.pop(name, None)
        with suppress(BufferError):  # a view is alive somewhere; it goes with the last of them
            self._region.close()

    def _over(self, shape: tuple[int, ...], dtype: type, start: int) -> AnyArray:
        inner = np.empty(shape[1:], dtype).strides
        return np.ndarray(shape, dtype, self._region, start, (self._stride, *inner))
