"""Share values with worker processes through shared memory, so that each is sent only once."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import Any, Generic

from kinfolk.engines.base import Value

_MAX_CACHED = 8  # unpickled values per process; the oldest is dropped first
_cache: dict[str, Any] = {}


@dataclass(frozen=True)
class SharedMemoryRef(Generic[Value]):
    """A reference to a pickled value in a shared-memory segment, which its engine will unlink.

    Attributes:
        name: Name of the segment.
        n_bytes: Size of the pickled value; the segment may be larger.
    """

    name: str
    n_bytes: int

    def get(self) -> Value:
        """Unpickle the value, once per process.

        The segment was written by this process or its parent, so unpickling it is safe.
        """
        if self.name not in _cache:
            segment = SharedMemory(self.name)
            try:
                value = pickle.loads(bytes(segment.buf or b"")[: self.n_bytes])
            finally:
                segment.close()
            while len(_cache) >= _MAX_CACHED:
                _cache.pop(next(iter(_cache)))
            _cache[self.name] = value
        cached: Value = _cache[self.name]
        return cached


class SharedMemoryStore:
    """The shared-memory segments of one engine."""

    def __init__(self) -> None:
        self._segments: list[SharedMemory] = []

    def put(self, value: Value) -> SharedMemoryRef[Value]:
        """Copy a value into a new segment and return a reference to it."""
        data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        segment = SharedMemory(create=True, size=max(1, len(data)))
        assert segment.buf is not None  # it is None only after `close`
        segment.buf[: len(data)] = data
        self._segments.append(segment)
        return SharedMemoryRef(segment.name, len(data))

    def clear(self) -> None:
        """Unlink all segments; references to them become invalid."""
        for segment in self._segments:
            segment.close()
            segment.unlink()
        self._segments.clear()
