"""What jobs yield: typed events, snapshots to resume from, and chunks of files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol

from kinfolk.core.arrays import Arrays


@dataclass(frozen=True, kw_only=True)
class Event:
    """One line of a run's event log. Subclasses set `kind` and add fields of JSON values.

    Events contain no wall-clock time and no file path, so that the same run gives the same bytes.

    Attributes:
        kind: Name of the event type in the log.
        step: Position in the job (episode, generation or update) at which it happened.
    """

    kind: ClassVar[str] = "event"
    step: int  # position in the job: episode, generation or update

    def to_dict(self) -> dict[str, Any]:
        """Return the event as JSON values, with its kind."""
        return {"kind": self.kind} | {f.name: getattr(self, f.name) for f in fields(self)}

    def to_json_line(self) -> str:
        """Return one line of JSON with sorted keys; floats keep every digit."""
        return json.dumps(self.to_dict(), sort_keys=True, allow_nan=False)


@dataclass(frozen=True, kw_only=True)
class TimingEvent(Event):
    """A measurement of wall-clock time, which the store writes to a log of its own."""

    kind: ClassVar[str] = "timing"


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The complete state of a job, from which it can be resumed.

    Attributes:
        step: Position in the job; it names the checkpoint file.
        arrays: State that is stored as arrays, by name.
        notes: The rest of the state, as JSON values.
    """

    step: int
    arrays: Arrays
    notes: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class FileChunk:
    """A file that a job wants in its run folder, or the next part of one.

    A chunk that is yielded before a snapshot is on disk whenever the run resumes from it.

    Attributes:
        path: Path in the run folder, such as `replays/game-00000.replay`.
        data: The bytes to write.
        append: Whether they go to the end of the file; otherwise they replace what it held.
        n_backups: How many replaced versions are kept, as `NAME.1.SUFFIX`, `NAME.2.SUFFIX`, ...
    """

    path: str
    data: bytes
    append: bool = False
    n_backups: int = 0


class Job(Protocol):
    """A generator function that does the work of a command, without printing or opening files.

    Resumed from the last snapshot it yielded, it yields exactly what would have come next.
    """

    def __call__(
        self, settings: Any, engine: Any, resume: Snapshot | None = None
    ) -> Iterator[Event | Snapshot | FileChunk]:
        """Run the job from its start, or from a snapshot.

        Args:
            settings: Settings model of the job.
            engine: Engine that runs the tasks of the job (`kinfolk.engines.base.Engine`).
            resume: A snapshot that the job yielded earlier, with the same settings.
        """
        ...
