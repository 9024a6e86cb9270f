"""Values sent to worker processes once, through shared memory."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import Any, Generic

from kinfolk.engines.base import Value

_KEPT = 8  # values a worker holds on to; the oldest goes first
_received: dict[str, Any] = {}


@dataclass(frozen=True)
class InMemory(Generic[Value]):
    """A value in a shared segment that its engine made and will remove."""

    name: str
    size: int

    def get(self) -> Value:
        """Unpack it, once per process. The bytes come from our own parent, never from outside."""
        if self.name not in _received:
            segment = SharedMemory(self.name)
            try:
                value = pickle.loads(bytes(segment.buf or b"")[: self.size])
            finally:
                segment.close()
            while len(_received) >= _KEPT:
                _received.pop(next(iter(_received)))
            _received[self.name] = value
        found: Value = _received[self.name]
        return found


class Shelf:
    """The segments that one engine has put up."""

    def __init__(self) -> None:
        self._segments: list[SharedMemory] = []

    def put(self, value: Value) -> InMemory[Value]:
        """Put a value up."""
        data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        segment = SharedMemory(create=True, size=max(1, len(data)))
        assert segment.buf is not None  # only a closed segment has none
        segment.buf[: len(data)] = data
        self._segments.append(segment)
        return InMemory(segment.name, len(data))

    def clear(self) -> None:
        """Take all of them down."""
        for segment in self._segments:
            segment.close()
            segment.unlink()
        self._segments.clear()
