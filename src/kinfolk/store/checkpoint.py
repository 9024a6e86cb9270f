"""Checkpoint files: safetensors with JSON notes in the header. Nothing is unpickled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from kinfolk.core.errors import DamagedRunError
from kinfolk.core.events import Snapshot
from kinfolk.store.files import as_store_error, write_atomic
from kinfolk.store.json_files import parse_json

FORMAT_VERSION = 1
_COUNT_FIELDS = ("step", "events", "event_bytes")  # header fields that are integers >= 0


def save_snapshot(path: Path, snapshot: Snapshot, n_events: int, event_bytes: int) -> None:
    """Write a snapshot to a checkpoint file.

    Args:
        path: The file.
        snapshot: State of the job.
        n_events: How many events were logged before the snapshot.
        event_bytes: Size of the event log at that moment; resuming truncates the log to it.

    Raises:
        StoreError: The file could not be written.
    """
    header = {
        "format": FORMAT_VERSION,
        "step": snapshot.step,
        "events": n_events,
        "event_bytes": event_bytes,
        "notes": dict(snapshot.notes),
    }
    arrays = {name: np.ascontiguousarray(array) for name, array in snapshot.arrays.items()}
    write_atomic(path, save(arrays, metadata={"kinfolk": json.dumps(header, sort_keys=True)}))


def load_snapshot(path: Path) -> tuple[Snapshot, dict[str, Any]]:
    """Read a snapshot from a checkpoint file.

    Returns:
        The snapshot, and the header of the file with `events` and `event_bytes`.

    Raises:
        DamagedRunError: It is cut short, damaged or of another format version.
    """
    try:
        with (
            as_store_error(f"{path} could not be read"),
            safe_open(path, framework="numpy") as file,
        ):
            header = dict(parse_json((file.metadata() or {})["kinfolk"]))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, not a dict
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise DamagedRunError(f"The checkpoint {path} is cut short or damaged: {error}.") from None
    if header.get("format") != FORMAT_VERSION:
        raise DamagedRunError(
            f"The checkpoint {path} has format {header.get('format')}; "
            f"this kinfolk reads {FORMAT_VERSION}."
        )
    invalid = [name for name in _COUNT_FIELDS if not _is_count(header.get(name))]
    invalid += [] if isinstance(header.get("notes"), dict) else ["notes"]
    if invalid:
        raise DamagedRunError(f"The checkpoint {path} is damaged: its header lacks {invalid[0]}.")
    return Snapshot(step=header["step"], arrays=arrays, notes=header["notes"]), header


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
