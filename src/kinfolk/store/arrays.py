"""Files of arrays, checkpoints and policies in the safetensors format, and reading of npz.

Nothing is unpickled.
"""

from __future__ import annotations

import json
import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load, save

from kinfolk.core.arrays import AnyArray, Arrays
from kinfolk.core.errors import DamagedRunError, UsageError, format_suggestion
from kinfolk.core.events import FileChunk, Snapshot
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


_HEADER = "policy"
BEST = "best"
RUNS_FOLDER = Path("runs")


class PolicyFile(NamedTuple):
    """Content of a policy file."""

    class_path: str  # import path of the policy's class
    settings: Mapping[str, Any]  # keyword arguments of its constructor
    arrays: Arrays  # weights and other state, by name


def write_policy(path: Path, policy: PolicyFile) -> None:
    """Write a policy file, to be used as `file:PATH`."""
    write_arrays(path, policy.arrays, _make_policy_metadata(policy))


def iter_policy_chunks(
    slot: str, step: int, policy: PolicyFile, is_best: bool = False
) -> Iterator[FileChunk]:
    """Yield the files that a job stores for the policy of a slot.

    Args:
        slot: Id of the slot.
        step: Step of the job at which the policy was saved.
        policy: The policy.
        is_best: Whether it is also the best one so far.
    """
    yield make_policy_chunk(slot, f"{step:08d}", policy)
    if is_best:
        yield make_policy_chunk(slot, BEST, policy)


def make_policy_chunk(slot: str, version: str, policy: PolicyFile) -> FileChunk:
    """Return a policy file of a run as a file chunk.

    Args:
        slot: Id of the slot.
        version: A step in eight digits, or `BEST`.
        policy: The policy.
    """
    data = serialize_arrays(policy.arrays, _make_policy_metadata(policy))
    return FileChunk(path=f"policies/{slot}/{version}.safetensors", data=data)


def _make_policy_metadata(policy: PolicyFile) -> dict[str, Any]:
    """Return the header of a policy file: class path and settings of the policy."""
    return {_HEADER: {"class_path": policy.class_path, "settings": dict(policy.settings)}}


def read_policy(path: Path) -> PolicyFile:
    """Read a policy from its file.

    Raises:
        UsageError: There is no such file, it is damaged, or it holds arrays without a policy.
    """
    arrays, entry = read_arrays_and_metadata(path, _HEADER)
    fields = entry if isinstance(entry, dict) else {}
    class_path, settings = fields.get("class_path"), fields.get("settings")
    if not isinstance(class_path, str) or not isinstance(settings, dict):
        raise UsageError(f"{path} is damaged: its header names no class with its settings.")
    return PolicyFile(class_path, settings, arrays)


def find_policy(reference: str) -> Path:
    """Return the policy file that `RUN[/SLOT][@best|@latest|@STEP]` refers to.

    Without a version it is the best one, or the latest of a run that evaluated none.

    Raises:
        UsageError: There is no such run, slot or version.
    """
    name, _, version = reference.partition("@")
    run, slot = _split_run_and_slot(Path(name))
    folder = run / "policies"
    slots = sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []
    if not slots:
        raise UsageError(f"The run {run} has no policies.")
    if slot is None and len(slots) > 1:
        names = ", ".join(slots)
        raise UsageError(f"The run {run} has several policies: {names}. Write run:{run}/NAME.")
    slot = slot or slots[0]
    if slot not in slots:
        raise UsageError(f"The run {run} has no policy '{slot}'.{format_suggestion(slot, slots)}")
    return _find_version(run, slot, version)


def _find_version(run: Path, slot: str, version: str) -> Path:
    """Return one of the policy files of a slot.

    Args:
        run: The run folder.
        slot: Id of a slot of the run.
        version: `best`, `latest`, a step, or empty for the best.

    Raises:
        UsageError: The slot has no such version.
    """
    files = {path.stem: path for path in (run / "policies" / slot).glob("*.safetensors")}
    steps = {int(stem): path for stem, path in files.items() if stem.isdecimal()}
    if version in ("", BEST) and BEST in files:
        return files[BEST]
    if version in ("", BEST, "latest") and steps:
        return steps[max(steps)]
    if not version.isdecimal() or int(version) not in steps:
        known = ", ".join(f"@{step}" for step in sorted(steps))
        problem = f"Policy '{slot}' of {run} has no version '@{version}'"
        raise UsageError(f"{problem}. It has: @best, @latest, {known}.")
    return steps[int(version)]


def _split_run_and_slot(path: Path) -> tuple[Path, str | None]:
    """Split `RUN[/SLOT]` into the run folder, as given or below `runs`, and the slot, if any."""
    for base in (path, RUNS_FOLDER / path):
        if (base / "settings.json").exists():
            return base, None
        if (base.parent / "settings.json").exists():
            return base.parent, base.name
    known = sorted(p.parent.name for p in RUNS_FOLDER.glob("*/settings.json"))
    raise UsageError(f"There is no run {path}.{format_suggestion(path.name, known)}")
