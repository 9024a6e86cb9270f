"""Values sent to worker processes once, through shared memory."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import Any, Generic

from kinfolk.engines.base import Value

_MAX_CACHED = 8  # values a worker holds on to; the oldest goes first
_cache: dict[str, Any] = {}


@dataclass(frozen=True)
class SharedMemoryRef(Generic[Value]):
    """A value in a shared segment that its engine made and will remove."""

    name: str
    n_bytes: int

    def get(self) -> Value:
        """Unpack it, once per process. The bytes come from our own parent, never from outside."""
        if self.name not in _cache:
            segment = SharedMemory(self.name)
            try:
                value = pickle.loads(bytes(segment.buf or b"")[: self.n_bytes])
            finally:
                segment.close()
            while len(_cache) >= _MAX_CACHED:
                _cache.pop(next(iter(_cache)))
            _cache[self.name] = value
        found: Value = _cache[self.name]
        return found


class SharedMemoryStore:
    """The segments that one engine has put up."""

    def __init__(self) -> None:
        self._segments: list[SharedMemory] = []

    def put(self, value: Value) -> SharedMemoryRef[Value]:
        """Put a value up."""
        data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        segment = SharedMemory(create=True, size=max(1, len(data)))
        assert segment.buf is not None  # only a closed segment has none
        segment.buf[: len(data)] = data
        self._segments.append(segment)
        return SharedMemoryRef(segment.name, len(data))

    def clear(self) -> None:
        """Take all of them down."""
        for segment in self._segments:
            segment.close()
            segment.unlink()
        self._segments.clear()
