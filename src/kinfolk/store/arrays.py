"""Files of arrays and checkpoints in the safetensors format, and reading of npz.

Nothing is unpickled.
"""

from __future__ import annotations

import json
import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load, save

from kinfolk.core.arrays import AnyArray, Arrays
from kinfolk.core.errors import DamagedRunError, UsageError
from kinfolk.core.events import Snapshot
from kinfolk.store.files import as_store_error, parse_json, read_bytes, write_atomic

# What the libraries raise for a file that is cut short or damaged.
_DAMAGE_ERRORS = (SafetensorError, zipfile.BadZipFile, zlib.error, ValueError, EOFError, KeyError,
                  TypeError, NotImplementedError)  # fmt: skip
_MAX_RATIO = 1032  # deflate compresses no better than this


def read_arrays(path: Path) -> dict[str, AnyArray]:
    """Read all arrays of a `.safetensors` or `.npz` file, by name.

    Raises:
        UsageError: There is no such file, it has another format, or it is damaged.
    """
    try:
        if path.suffix == ".safetensors":
            return dict(load(read_bytes(path)))
        if path.suffix == ".npz":
            if not path.exists():
                raise UsageError(f"There is no file {path}.")
            with as_store_error(f"{path} could not be read"), zipfile.ZipFile(path) as archive:
                return {
                    member.filename.removesuffix(".npy"): _read_npz_member(archive, member)
                    for member in archive.filelist
                }
    except _DAMAGE_ERRORS as error:
        raise UsageError(f"{path} is cut short or damaged: {error}.") from None
    raise UsageError(f"Weights are read from .safetensors or .npz files, not from {path}.")


def _read_npz_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> AnyArray:
    """Read one array of an npz file, checking its header before memory is allocated.

    Raises:
        ValueError: It is not an array, or its header claims a size that it cannot have.
    """
    if member.file_size > max(1, member.compress_size) * _MAX_RATIO:
        raise ValueError(f"{member.filename} cannot unpack to {member.file_size:,} bytes")
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        readers = {(1, 0): np.lib.format.read_array_header_1_0,
                   (2, 0): np.lib.format.read_array_header_2_0}  # fmt: skip
        if version not in readers:
            raise ValueError(f"{member.filename} has the unknown npy version {version}")
        shape, fortran, dtype = readers[version](file)
        if dtype.hasobject:
            raise ValueError(f"{member.filename} holds Python objects, which are not unpickled")
        size = math.prod(shape) * dtype.itemsize
        if size != member.file_size - file.tell():
            raise ValueError(f"the header of {member.filename} claims {size:,} bytes")
        array = np.frombuffer(file.read(), dtype)
    return array.reshape(shape, order="F" if fortran else "C").copy()


def write_arrays(path: Path, arrays: Arrays, metadata: Mapping[str, Any]) -> None:
    """Write arrays to a safetensors file.

    Args:
        path: The file; it is replaced as a whole.
        arrays: Arrays by name.
        metadata: JSON values by name, for the header.

    Raises:
        StoreError: The file could not be written.
    """
    write_atomic(path, serialize_arrays(arrays, metadata))


def serialize_arrays(arrays: Arrays, metadata: Mapping[str, Any]) -> bytes:
    """Return the bytes that `write_arrays` writes."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return save(contiguous, metadata={k: json.dumps(v) for k, v in metadata.items()})


def read_arrays_and_metadata(path: Path, metadata_key: str) -> tuple[dict[str, AnyArray], Any]:
    """Read the arrays of a safetensors file and one entry of its metadata.

    Args:
        path: The file.
        metadata_key: Name of the entry.

    Returns:
        Arrays by name, and the JSON value of the entry.

    Raises:
        UsageError: There is no such file, it is damaged, or it has no such entry.
    """
    arrays = read_arrays(path)
    with as_store_error(f"{path} could not be read"), safe_open(path, framework="numpy") as file:
        header = file.metadata() or {}
    if metadata_key not in header:
        raise UsageError(f"{path} is not a file of {metadata_key}: its header has no such entry.")
    try:
        return arrays, parse_json(header[metadata_key])
    except ValueError as error:
        raise UsageError(f"{path} is damaged: its header is not JSON ({error}).") from None


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
        message = f"{path} could not be read"
        with as_store_error(message), safe_open(path, framework="numpy") as file:
            header = dict(parse_json((file.metadata() or {})["kinfolk"]))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, not a dict
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise DamagedRunError(f"The checkpoint {path} is cut short or damaged: {error}.") from None
    if header.get("format") != FORMAT_VERSION:
        versions = f"has format {header.get('format')}; this kinfolk reads {FORMAT_VERSION}"
        raise DamagedRunError(f"The checkpoint {path} {versions}.")
    invalid = [name for name in _COUNT_FIELDS if not _is_count(header.get(name))]
    invalid += [] if isinstance(header.get("notes"), dict) else ["notes"]
    if invalid:
        raise DamagedRunError(f"The checkpoint {path} is damaged: its header lacks {invalid[0]}.")
    return Snapshot(step=header["step"], arrays=arrays, notes=header["notes"]), header


def _is_count(value: Any) -> bool:
    """Return whether a JSON value is an integer of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
