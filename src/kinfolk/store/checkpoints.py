"""Checkpoints: snapshots of jobs, with the position in the event log at which they were taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from kinfolk.core.errors import DamagedRunError, UsageError
from kinfolk.core.events import Snapshot
from kinfolk.store.arrays import CHECKPOINT, read_arrays_and_entry, write_arrays

FORMAT_VERSION = 3
NO_INTACT_CHECKPOINT = (
    "The run has no older checkpoint that is intact: start it again without --resume."
)


class LogPosition(NamedTuple):
    """How far an event log was written when a checkpoint was taken."""

    n_events: int = 0
    n_bytes: int = 0  # resuming truncates the log to this size
    checksum: str = ""  # of the last line, which depends on all lines before it


def list_checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoint files of a run folder, oldest first."""
    return sorted((folder / "checkpoints").glob("*.safetensors"))


def save_snapshot(path: Path, snapshot: Snapshot, position: LogPosition) -> None:
    """Write a snapshot to a checkpoint file.

    Args:
        path: The file.
        snapshot: State of the job.
        position: Position in the event log to which the run returns with this snapshot.

    Raises:
        StoreError: The file could not be written.
    """
    entry = {
        "format": FORMAT_VERSION,
        "step": snapshot.step,
        "position": list(position),
        "notes": dict(snapshot.notes),
    }
    write_arrays(path, snapshot.arrays, CHECKPOINT, entry)


def load_snapshot(path: Path) -> tuple[Snapshot, LogPosition]:
    """Read a snapshot from a checkpoint file.

    Returns:
        The snapshot, and the position in the event log at which it was taken.

    Raises:
        DamagedRunError: It is cut short, damaged or of another format version.
    """
    try:
        arrays, entry = read_arrays_and_entry(path, CHECKPOINT)
    except (DamagedRunError, UsageError) as error:
        raise DamagedRunError(f"The checkpoint {error}") from None
    fields: dict[str, Any] = entry if isinstance(entry, dict) else {}
    if fields.get("format") != FORMAT_VERSION:
        versions = f"has format {fields.get('format')}; this kinfolk reads {FORMAT_VERSION}"
        raise DamagedRunError(f"The checkpoint {path} {versions}.")
    are_valid = {
        "step": _is_count(fields.get("step")),
        "position": _is_position(fields.get("position")),
        "notes": isinstance(fields.get("notes"), dict),
    }
    for name, is_valid in are_valid.items():
        if not is_valid:
            raise DamagedRunError(f"The checkpoint {path} is damaged: its header lacks {name}.")
    snapshot = Snapshot(step=fields["step"], arrays=arrays, notes=fields["notes"])
    return snapshot, LogPosition(*fields["position"])


def _is_position(value: Any) -> bool:
    """Return whether a JSON value has the fields of a `LogPosition`."""
    if not isinstance(value, list) or len(value) != len(LogPosition._fields):
        return False
    return _is_count(value[0]) and _is_count(value[1]) and isinstance(value[2], str)


def _is_count(value: Any) -> bool:
    """Return whether a JSON value is an integer of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
