"""Binary format of a replay.

A replay is a file of records that can be read while it is still being written:

    magic line
    HEAD  what was played, and what the numbers mean
    SERI  series of some frames: lines of charts, event marks, births and deaths
    FRAM  the same frames: cells, agents, events, explanations
    ...   further pairs of SERI and FRAM
    DONE  the episode's result; a replay without it is still being written, or was cut short

A record is a header (kind, bytes, first frame, number of frames, SHA-256 of the payload, SHA-256 of
the header before it) and a deflated payload. To find a frame, only the headers are read. HEAD and DONE hold JSON; SERI and FRAM hold named arrays.
Agents' columns are delta-encoded: the first frame, then the difference from each frame to the next,
so that a value that does not change costs almost nothing.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import DamagedRunError
from kinfolk.store.event_log import decompress_zlib
from kinfolk.store.files import parse_json

FORMAT_VERSION = 5  # raised whenever the rules of a world change
MAGIC_PREFIX = b"kinfolk replay "
MAGIC = MAGIC_PREFIX + b"%d\n" % FORMAT_VERSION
_HEADER_FIELDS = struct.Struct("<4sIII32s")
HEADER_BYTES = _HEADER_FIELDS.size + sha256().digest_size
HEADER, SERIES, FRAMES, DONE = b"HEAD", b"SERI", b"FRAM", b"DONE"
RECORD_KINDS = (HEADER, SERIES, FRAMES, DONE)
FIRST_SUFFIX, DELTA_SUFFIX = "/first", "/deltas"  # of the names of a column's two arrays
MAX_FRAMES = 128  # of one record
# Bytes of one record's payload, and of its cells once they are expanded to all frames: a frame of two
# million agents on sixteen million cells fits.
MAX_PAYLOAD_BYTES = 128 * 2**20
# Types that the page can read too, as typed arrays.
_ARRAY_TYPES = ("int8", "uint8", "int16", "uint16", "int32", "float32")
_ALIGNMENT = 8  # bytes; typed arrays of the page must start at a multiple of their item size
_COMPRESSION_LEVEL = 6  # of zlib; higher levels take twice the time for a few per cent


class RecordHeader(NamedTuple):
    """Fixed-size header in front of every payload, in the order in which it is packed."""

    kind: bytes  # one of RECORD_KINDS
    length: int  # of the compressed payload, in bytes
    first: int  # number of the record's first frame
    frames: int  # how many frames the record holds; 0 for HEAD and DONE
    checksum: bytes  # SHA-256 of the compressed payload

    def to_bytes(self) -> bytes:
        """Return the header as it is written: its fields and their SHA-256."""
        fields = _HEADER_FIELDS.pack(*self)
        return fields + sha256(fields).digest()

    @classmethod
    def from_bytes(cls, data: bytes) -> RecordHeader:
        """Return the header that `to_bytes` wrote.

        Raises:
            ValueError: Its checksum is wrong.
        """
        fields, checksum = data[: _HEADER_FIELDS.size], data[_HEADER_FIELDS.size :]
        if sha256(fields).digest() != checksum:
            raise ValueError("the checksum of a record's header is wrong")
        return cls(*_HEADER_FIELDS.unpack(fields))


def encode_record(kind: bytes, payload: bytes, first_frame: int = 0, n_frames: int = 0) -> bytes:
    """Compress a payload and put its header in front of it.

    Args:
        kind: One of `RECORD_KINDS`.
        payload: Uncompressed bytes.
        first_frame: Number of the record's first frame; 0 for records without frames.
        n_frames: How many frames the record holds, at most `MAX_FRAMES`.

    Returns:
        The record as it is appended to the file.
    """
    compressed = zlib.compress(payload, _COMPRESSION_LEVEL)
    checksum = sha256(compressed).digest()
    header = RecordHeader(kind, len(compressed), first_frame, n_frames, checksum)
    return header.to_bytes() + compressed


def encode_json_record(kind: bytes, values: Mapping[str, Any]) -> bytes:
    """Encode plain values as a JSON record without frames."""
    return encode_record(kind, json.dumps(values, sort_keys=True, allow_nan=False).encode())


def decode_payload(header: RecordHeader, compressed: bytes, source: str) -> bytes:
    """Check a record against its header and decompress its payload.

    Args:
        header: The record's header.
        compressed: Payload as it was read from the file.
        source: Path of the file, for the error message.

    Returns:
        The uncompressed payload.

    Raises:
        DamagedRunError: Length or checksum differ, or it does not decompress.
    """
    if len(compressed) == header.length and sha256(compressed).digest() == header.checksum:
        try:
            return decompress_zlib(compressed, MAX_PAYLOAD_BYTES)
        except zlib.error:
            pass
    name = header.kind.decode(errors="replace")
    raise DamagedRunError(
        f"{source} is damaged: the {name} record of frame {header.first} is not what was written."
    )


def encode_arrays(arrays: Mapping[str, AnyArray], notes: Mapping[str, Any]) -> bytes:
    """Serialise named arrays: length and text of a JSON table of contents, then the aligned data.

    Args:
        arrays: Arrays by name, of the types in `_ARRAY_TYPES`.
        notes: Plain values that are stored in the table of contents, such as names of codes.

    Returns:
        An uncompressed payload, for `encode_record`.
    """
    table, chunks, offset = {}, [], 0
    for name, array in arrays.items():
        values = np.ascontiguousarray(array)
        data = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        table[name] = [values.dtype.name, list(values.shape), offset]
        padded = data + b"\0" * (-len(data) % _ALIGNMENT)
        chunks.append(padded)
        offset += len(padded)
    contents = json.dumps({"arrays": table, "notes": dict(notes)}, sort_keys=True).encode()
    contents += b" " * (-(len(contents) + 4) % _ALIGNMENT)
    return struct.pack("<I", len(contents)) + contents + b"".join(chunks)


def decode_arrays(payload: bytes) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Return the arrays and notes of a payload that `encode_arrays` wrote.

    Raises:
        ValueError: The table of contents is damaged, or names arrays beyond the payload's end.
    """
    if len(payload) < 4:
        raise ValueError("it has no table of contents")
    (length,) = struct.unpack_from("<I", payload)
    contents = parse_json(payload[4 : 4 + length])
    try:
        table, notes = contents["arrays"].items(), dict(contents["notes"])
        arrays = {name: _decode_array(payload, 4 + length, *entry) for name, entry in table}
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"its table of contents is damaged: {error}") from None
    return arrays, notes


def _decode_array(
    payload: bytes, start: int, dtype: str, shape: list[int], offset: int
) -> AnyArray:
    """Return one array as a view into its payload.

    Args:
        payload: Uncompressed payload.
        start: Where its arrays start, behind the table of contents.
        dtype: Name of the array's type.
        shape: Its shape.
        offset: Its first byte, counted from `start`.

    Raises:
        ValueError: The type is not allowed, or the array does not lie within the payload.
    """
    sizes = [*shape, offset]
    if dtype not in _ARRAY_TYPES or not all(isinstance(n, int) and 0 <= n < 2**32 for n in sizes):
        raise ValueError(f"it holds no array of type {dtype!r}, shape {shape} at byte {offset}")
    return np.frombuffer(payload, dtype, math.prod(shape), start + offset).reshape(shape)


def delta_encode(name: str, values: AnyArray) -> dict[str, AnyArray]:
    """Split a column `[frames, rows]` into its first frame and the differences between frames.

    Both are stored in the smallest sufficient type, differences as `[rows, frames - 1]`: the values of
    one agent are more alike than those of all agents at one time, so they compress better.
    """
    deltas = np.ascontiguousarray(np.diff(values.astype(np.int64), axis=0).T)
    return {
        name + FIRST_SUFFIX: _shrink(values[0].astype(np.int64)),
        name + DELTA_SUFFIX: _shrink(deltas),
    }


def _shrink(values: AnyArray) -> AnyArray:
    """Return whole numbers in the smallest sufficient type."""
    largest = int(np.abs(values).max(initial=0))
    dtype = np.int8 if largest < 128 else np.int16 if largest < 32768 else np.int32
    return values.astype(dtype)


def delta_decode(name: str, arrays: Mapping[str, AnyArray]) -> AnyArray:
    """Return the column `[frames, rows]` that `delta_encode` split.

    Raises:
        KeyError: There is no such column.
        ValueError: Its two arrays have different numbers of rows.
    """
    first = arrays[name + FIRST_SUFFIX].astype(np.int64)
    later = first[:, None] + np.cumsum(arrays[name + DELTA_SUFFIX], axis=1, dtype=np.int64)
    return np.concatenate([first[:, None], later], axis=1).T


def encode_cell_changes(cells: AnyArray) -> dict[str, AnyArray]:
    """Encode cells `[frames, cells]` as the first frame and a list of later changes."""
    frame, cell = np.nonzero(cells[1:] != cells[:-1])
    return {
        "cells": cells[0],
        "change_frame": (frame + 1).astype(np.uint16),
        "change_cell_delta": np.diff(cell, prepend=0).astype(np.int32),  # small, so it compresses
        "change_value": cells[1:][frame, cell],
    }


def decode_cell_changes(arrays: Mapping[str, AnyArray], n_frames: int) -> AnyArray:
    """Return the cells `[frames, cells]` that `encode_cell_changes` encoded.

    Raises:
        ValueError: There would be more frames, or more bytes, than a record may have.
        IndexError: A change lies beyond the last cell.
    """
    n_cells = arrays["cells"].size
    if not 1 <= n_frames <= MAX_FRAMES or n_cells * n_frames > MAX_PAYLOAD_BYTES:
        raise ValueError(f"{n_frames} frames of {n_cells} cells are more than a record may have")
    cells = np.repeat(arrays["cells"][None], n_frames, axis=0)
    changed = np.cumsum(arrays["change_cell_delta"], dtype=np.int64)
    ends = np.searchsorted(arrays["change_frame"], np.arange(n_frames), side="right")
    for frame in range(1, n_frames):
        cells[frame] = cells[frame - 1]
        changes = slice(ends[frame - 1], ends[frame])
        cells[frame, changed[changes]] = arrays["change_value"][changes]
    return cells
