"""What jobs yield: events (small typed facts) and snapshots (all that is needed to go on)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol

from kinfolk.core.arrays import Arrays


@dataclass(frozen=True, kw_only=True)
class Event:
    """A fact about a run. Subclasses name their `kind` and add fields of plain values.

    Events hold no clock and no path: the same run gives the same bytes.
    """

    kind: ClassVar[str] = "event"
    step: int

    def to_dict(self) -> dict[str, Any]:
        """The event as plain values, with its kind."""
        return {"kind": self.kind} | {f.name: getattr(self, f.name) for f in fields(self)}

    def to_json_line(self) -> str:
        """One line of JSON with sorted keys; numbers keep every digit."""
        return json.dumps(self.to_dict(), sort_keys=True, allow_nan=False)


@dataclass(frozen=True, kw_only=True)
class TimingEvent(Event):
    """A fact that does hold a clock: how long something took. Kept apart from all other events."""

    kind: ClassVar[str] = "timing"


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A moment a run can be resumed from: arrays, and notes of plain values."""

    step: int
    arrays: Arrays
    notes: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class FileChunk:
    """A file that a run keeps beside its events, or the next piece of it.

    `name` is a path within the run, such as `replays/game-00000.replay`. The first piece replaces
    what was there; those with `more` go on where the last one ended, and can be read at once.
    What is replaced is kept as `NAME.1.SUFFIX` and so on, up to `kept` of them. Written before a
    snapshot, it is there whenever a run goes on from that snapshot.
    """

    path: str
    data: bytes
    append: bool = False
    n_backups: int = 0


class Job(Protocol):
    """A job prints nothing and opens no file: it yields what happened.

    Resumed with the last snapshot it yielded, it yields exactly what would have come next.
    """

    def __call__(
        self, settings: Any, engine: Any, resume: Snapshot | None = None
    ) -> Iterator[Event | Snapshot | FileChunk]:
        """Run."""
        ...
