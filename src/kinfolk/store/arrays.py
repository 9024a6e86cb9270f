"""Files of arrays and policies in the safetensors format, and reading of npz.

Nothing is unpickled. Files that kinfolk writes have a checksum (`kinfolk.store.integrity`).
"""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from kinfolk.core.arrays import AnyArray, Arrays
from kinfolk.core.errors import KinfolkError, StoreError, UsageError
from kinfolk.core.events import FileChunk
from kinfolk.store.files import MAX_FILE_BYTES, parse_json, read_bytes, write_atomic
from kinfolk.store.integrity import (
    BLANK_CHECKSUM,
    CHECKSUM_FIELD,
    advising,
    has_checksum,
    seal,
    verify,
)

# What the libraries raise for a file that is cut short or damaged.
_DAMAGE_ERRORS = (SafetensorError, zipfile.BadZipFile, zlib.error, ValueError, EOFError, KeyError,
                  TypeError, NotImplementedError)  # fmt: skip
_MAX_RATIO = 1032  # deflate compresses no better than this
_LENGTH_BYTES = 8  # of the length of a safetensors header, and the alignment of the data
_MAX_HEADER_BYTES = 100_000_000  # as in the safetensors library
# The entry of the header tells what a file of kinfolk holds.
CHECKPOINT, POLICY, NETS, POPULATION = "checkpoint", "policy", "nets", "population"
_OWN_ENTRIES = frozenset(
    (CHECKPOINT, POLICY, NETS, POPULATION, "kinfolk")
)  # the last of earlier checkpoints
POLICY_FOLDER = "policies"


def read_arrays(path: Path) -> dict[str, AnyArray]:
    """Read all arrays of a `.safetensors` or `.npz` file, by name.

    A file of kinfolk is checked against its checksum; files of other programs have none.

    Raises:
        UsageError: There is no such file, it has another format, or it is damaged.
        DamagedRunError: It is a damaged file of kinfolk, or too large.
    """
    if path.suffix == ".safetensors":
        return _read_safetensors(path)[0]
    if path.suffix != ".npz":
        raise UsageError(f"Weights are read from .safetensors or .npz files, not from {path}.")
    data = read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.filelist
            size = sum(member.file_size for member in members)
            if size > min(MAX_FILE_BYTES, len(data) * _MAX_RATIO):
                raise ValueError(f"it cannot unpack to {size:,} bytes")
            return {
                member.filename.removesuffix(".npy"): _read_npz_member(archive, member)
                for member in members
            }
    except _DAMAGE_ERRORS as error:
        raise UsageError(f"{path} is cut short or damaged: {error}.") from None


@contextmanager
def temporary_arrays_file(arrays: Arrays) -> Iterator[Path]:
    """Yield the path of a safetensors file with some arrays, which is removed at the end."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "weights.safetensors"
        path.write_bytes(save({name: np.ascontiguousarray(a) for name, a in arrays.items()}))
        yield path


def _read_safetensors(path: Path) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Return the arrays and the metadata of a safetensors file, after checking its checksum.

    Raises:
        UsageError: There is no such file, or it is a damaged one of another program.
        DamagedRunError: It is a damaged file of kinfolk, or too large.
    """
    data = read_bytes(path)
    is_sealed = has_checksum(data)
    if is_sealed:
        with advising(lambda: _advise_other_versions(path)):
            verify(data, str(path))
    try:
        metadata = parse_json(_split_header(data)[0]).get("__metadata__", {})
        if not is_sealed and not _OWN_ENTRIES.isdisjoint(metadata):
            with advising(lambda: _advise_other_versions(path)):
                verify(data, str(path))  # raises, as there is no checksum
        return dict(load(data)), metadata
    except (*_DAMAGE_ERRORS, AttributeError) as error:
        raise UsageError(f"{path} is cut short or damaged: {error}.") from None


def _split_header(data: bytes) -> tuple[bytes, memoryview]:
    """Split a safetensors file into the text of its header and its data.

    Raises:
        ValueError: The header is longer than the file, or than the library allows.
    """
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    end = _LENGTH_BYTES + length
    if len(data) < end or length > _MAX_HEADER_BYTES:
        raise ValueError(f"a header of {length:,} bytes does not fit into {len(data):,}")
    return data[_LENGTH_BYTES:end], memoryview(data)[end:]


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


def write_arrays(path: Path, arrays: Arrays, entry: str, value: Any) -> None:
    """Write arrays to a safetensors file with a checksum.

    Args:
        path: The file; it is replaced as a whole.
        arrays: Arrays by name.
        entry: Name of an entry of the header: `CHECKPOINT`, `POLICY` or `NETS`.
        value: JSON value of the entry.

    Raises:
        StoreError: The file could not be written, or would be too large to be read.
    """
    write_atomic(path, *_serialize_arrays(arrays, entry, value))


def _serialize_arrays(arrays: Arrays, entry: str, value: Any) -> tuple[bytes, memoryview]:
    """Return the two parts of a safetensors file: the header with its length, and the data.

    Args:
        arrays: Arrays by name.
        entry: Name of an entry of the header.
        value: JSON value of the entry.

    Raises:
        StoreError: The file would be too large to be read.
    """
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    size = sum(array.nbytes for array in contiguous.values())
    if size > MAX_FILE_BYTES - _MAX_HEADER_BYTES:
        raise StoreError(f"Arrays of {size:,} bytes are more than a file of kinfolk may hold.")
    header, data = _split_header(save(contiguous, metadata={entry: json.dumps(value)}))
    # The library orders several entries at random, so the checksum is inserted into its header.
    start = b'{"__metadata__":{'
    field = f'"{CHECKSUM_FIELD}":"{BLANK_CHECKSUM}",'.encode()
    header = start + field + header.removeprefix(start).rstrip(b" ")
    header += b" " * (-len(header) % _LENGTH_BYTES)  # the data stays aligned
    head = seal(len(header).to_bytes(_LENGTH_BYTES, "little") + header, data)
    return head, data


def read_arrays_and_entry(path: Path, *entries: str) -> tuple[dict[str, AnyArray], Any]:
    """Read the arrays of a safetensors file of kinfolk, and the entry of its header.

    Args:
        path: The file.
        entries: Names of the entries that it may have.

    Returns:
        Arrays by name, and the JSON value of the first of the entries that it has.

    Raises:
        UsageError: There is no such file, or it has no such entry.
        DamagedRunError: Its checksum is missing or wrong.
    """
    arrays, metadata = _read_safetensors(path)
    found = [entry for entry in entries if entry in metadata]
    if not found:
        raise UsageError(f"{path} is not a file of {entries[0]}: its header has no such entry.")
    try:
        return arrays, parse_json(metadata[found[0]])
    except (TypeError, ValueError) as error:
        raise UsageError(f"{path} is damaged: its header is not JSON ({error}).") from None


BEST = "best"
RUNS_FOLDER = Path("runs")


class PolicyFile(NamedTuple):
    """Content of a policy file."""

    class_path: str  # import path of the policy's class
    settings: Mapping[str, Any]  # keyword arguments of its constructor
    arrays: Arrays  # weights and other state, by name


def write_policy(path: Path, policy: PolicyFile) -> None:
    """Write a policy file, to be used as `file:PATH`."""
    write_arrays(path, policy.arrays, POLICY, _make_policy_entry(policy))


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
    data = b"".join(_serialize_arrays(policy.arrays, POLICY, _make_policy_entry(policy)))
    return FileChunk(path=f"{POLICY_FOLDER}/{slot}/{version}.safetensors", data=data)


def _make_policy_entry(policy: PolicyFile) -> dict[str, Any]:
    """Return the header's entry of a policy file: class path and settings of the policy."""
    return {"class_path": policy.class_path, "settings": dict(policy.settings)}


def read_policy(path: Path) -> PolicyFile:
    """Read a policy from its file.

    Raises:
        UsageError: There is no such file, or it holds arrays without a policy.
        DamagedRunError: It is damaged; the message names other versions that are not.
    """
    arrays, entry = read_arrays_and_entry(path, POLICY)
    fields = entry if isinstance(entry, dict) else {}
    class_path, settings = fields.get("class_path"), fields.get("settings")
    if not isinstance(class_path, str) or not isinstance(settings, dict):
        raise UsageError(f"{path} is damaged: its header names no class with its settings.")
    return PolicyFile(class_path, settings, arrays)


def _advise_other_versions(path: Path) -> str:
    """Return which other versions of a run's policy are intact, newest first, as a sentence."""
    if path.parent.parent.name != POLICY_FOLDER:
        return ""
    others = sorted(path.parent.glob("*.safetensors"), reverse=True)
    names = [str(other) for other in others if other != path and _is_intact(other)]
    if not names:
        return "No other version of this policy is intact."
    return f"Intact versions of this policy: {', '.join(f'file:{name}' for name in names)}."


def _is_intact(path: Path) -> bool:
    """Return whether a file of kinfolk can be read and has the right checksum."""
    try:
        verify(read_bytes(path), str(path))
    except KinfolkError:
        return False
    return True
