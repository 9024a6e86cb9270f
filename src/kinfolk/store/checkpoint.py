"""Snapshots on disk: safetensors, with notes as JSON in its header. Nothing is unpickled."""

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
_COUNT_FIELDS = ("step", "events", "event_bytes")  # of the header


def save_snapshot(path: Path, snapshot: Snapshot, n_events: int, event_bytes: int) -> None:
    """Write a snapshot and how much of the event file came before it."""
    about = {
        "format": FORMAT_VERSION,
        "step": snapshot.step,
        "events": n_events,
        "event_bytes": event_bytes,
        "notes": dict(snapshot.notes),
    }
    arrays = {name: np.ascontiguousarray(array) for name, array in snapshot.arrays.items()}
    write_atomic(path, save(arrays, metadata={"kinfolk": json.dumps(about, sort_keys=True)}))


def load_snapshot(path: Path) -> tuple[Snapshot, dict[str, Any]]:
    """Read a snapshot and what was written beside it.

    Raises:
        DamagedRunError: It is cut short, damaged or of another version.
    """
    try:
        with (
            as_store_error(f"{path} could not be read"),
            safe_open(path, framework="numpy") as file,
        ):
            about = dict(parse_json((file.metadata() or {})["kinfolk"]))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, not a dict
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise DamagedRunError(f"The checkpoint {path} is cut short or damaged: {error}.") from None
    if about.get("format") != FORMAT_VERSION:
        raise DamagedRunError(
            f"The checkpoint {path} has format {about.get('format')}; this kinfolk reads {FORMAT_VERSION}."
        )
    wrong = [name for name in _COUNT_FIELDS if not _is_count(about.get(name))]
    wrong += [] if isinstance(about.get("notes"), dict) else ["notes"]
    if wrong:
        raise DamagedRunError(f"The checkpoint {path} is damaged: its header lacks {wrong[0]}.")
    return Snapshot(step=about["step"], arrays=arrays, notes=about["notes"]), about


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
