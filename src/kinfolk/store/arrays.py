"""Read and write arrays as safetensors, and read npz. Nothing is unpickled."""

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
from kinfolk.core.errors import UsageError
from kinfolk.store.files import as_store_error, read_bytes, write_atomic
from kinfolk.store.json_files import parse_json

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
