"""The form of a replay: a file of records that can be read while it is still written.

    magic line
    HEAD  what was played, and what the numbers mean
    NUMB  of some frames: series for charts, marks of events, lives that began and ended
    FRAM  of the same frames: cells, agents, events, reasons
    ...   further pairs of NUMB and FRAM
    DONE  how it ended; a replay without it is still written, or was cut short

A record is a prefix (kind, bytes, checksum, first frame, number of frames) and a deflated payload.
To find a frame, only prefixes are read. HEAD and DONE hold JSON; NUMB and FRAM a block of named
arrays. Agents' columns are laid down as their first frame and the steps from each frame to the
next, so that what does not change costs nothing.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import DamagedRunError
from kinfolk.store.compression import decompress_zlib
from kinfolk.store.json_files import parse_json

FORMAT_VERSION = 1
MAGIC = b"kinfolk replay 1\n"
RECORD_HEADER = struct.Struct("<4sIIII")
HEADER, SERIES, FRAMES, DONE = b"HEAD", b"NUMB", b"FRAM", b"DONE"
RECORD_KINDS = (HEADER, SERIES, FRAMES, DONE)
FIRST_SUFFIX, DELTA_SUFFIX = "first", "steps"  # endings of the two arrays of a column
MAX_FRAMES = 128  # of one record
MAX_PAYLOAD_BYTES = (
    64 * 2**20
)  # bytes of the payload of one record, and of its cells laid out by frame
_ARRAY_TYPES = (
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "float32",
)  # what the page can read too
_ALIGNMENT = 8
_COMPRESSION_LEVEL = 6  # of compression; higher ones take twice the time for a few per cent


class RecordHeader(NamedTuple):
    """What stands before a payload."""

    kind: bytes
    length: int
    checksum: int
    first: int
    frames: int


def encode_record(kind: bytes, payload: bytes, first_frame: int = 0, n_frames: int = 0) -> bytes:
    """A record, ready to be written."""
    packed = zlib.compress(payload, _COMPRESSION_LEVEL)
    return RECORD_HEADER.pack(kind, len(packed), zlib.crc32(packed), first_frame, n_frames) + packed


def encode_json_record(kind: bytes, values: Mapping[str, Any]) -> bytes:
    """A record of plain values."""
    return encode_record(kind, json.dumps(values, sort_keys=True, allow_nan=False).encode())


def decode_payload(header: RecordHeader, compressed: bytes, source: str) -> bytes:
    """The payload of a record.

    Raises:
        DamagedRunError: It is not what was written.
    """
    if len(compressed) == header.length and zlib.crc32(compressed) == header.checksum:
        try:
            return decompress_zlib(compressed, MAX_PAYLOAD_BYTES)
        except zlib.error:
            pass
    name = header.kind.decode(errors="replace")
    raise DamagedRunError(
        f"{source} is damaged: the {name} record of frame {header.first} is not what was written."
    )


def encode_arrays(arrays: Mapping[str, AnyArray], notes: Mapping[str, Any]) -> bytes:
    """Named arrays and notes as bytes: a JSON table of contents, then the arrays, aligned."""
    table, parts, at = {}, [], 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array)
        raw = data.astype(data.dtype.newbyteorder("<"), copy=False).tobytes()
        table[name] = [data.dtype.name, list(data.shape), at]
        padded = raw + b"\0" * (-len(raw) % _ALIGNMENT)
        parts.append(padded)
        at += len(padded)
    text = json.dumps({"arrays": table, "notes": dict(notes)}, sort_keys=True).encode()
    text += b" " * (-(len(text) + 4) % _ALIGNMENT)
    return struct.pack("<I", len(text)) + text + b"".join(parts)


def decode_arrays(payload: bytes) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """The arrays and notes that `block` laid down.

    Raises:
        ValueError: It is no such block, or speaks of arrays that do not lie in it.
    """
    if len(payload) < 4:
        raise ValueError("it has no table of contents")
    (length,) = struct.unpack_from("<I", payload)
    about = parse_json(payload[4 : 4 + length])
    try:
        table, notes = about["arrays"].items(), dict(about["notes"])
        arrays = {name: _decode_array(payload, 4 + length, *entry) for name, entry in table}
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"its table of contents is damaged: {error}") from None
    return arrays, notes


def _decode_array(
    payload: bytes, start: int, dtype: str, shape: list[int], offset: int
) -> AnyArray:
    """One array of a block, a view into it; numpy refuses what lies outside."""
    whole = [*shape, offset]
    if dtype not in _ARRAY_TYPES or not all(isinstance(n, int) and 0 <= n < 2**32 for n in whole):
        raise ValueError(f"it holds no array of type {dtype!r}, shape {shape} at byte {offset}")
    return np.frombuffer(payload, dtype, math.prod(shape), start + offset).reshape(shape)


def delta_encode(name: str, values: AnyArray) -> dict[str, AnyArray]:
    """A column `[frames, rows]` as its first frame and its steps, in the smallest type that fits.

    Steps are laid down row by row: what one agent does is more alike than what all do at once.
    """
    steps = np.ascontiguousarray(np.diff(values.astype(np.int64), axis=0).T)
    most = int(np.abs(steps).max(initial=0))
    kind = np.int8 if most < 128 else np.int16 if most < 32768 else np.int32
    return {
        f"{name}/{FIRST_SUFFIX}": values[0].astype(np.int32),
        f"{name}/{DELTA_SUFFIX}": steps.astype(kind),
    }


def delta_decode(name: str, arrays: Mapping[str, AnyArray]) -> AnyArray:
    """The column `[frames, rows]` that `as_steps` laid down.

    Raises:
        ValueError: The two arrays are not of the same rows.
    """
    first = arrays[f"{name}/{FIRST_SUFFIX}"].astype(np.int64)
    later = first[:, None] + np.cumsum(arrays[f"{name}/{DELTA_SUFFIX}"], axis=1, dtype=np.int64)
    return np.concatenate([first[:, None], later], axis=1).T


def encode_cell_changes(cells: AnyArray) -> dict[str, AnyArray]:
    """Cells `[frames, places]` as the first frame and a list of what changed when."""
    when, where = np.nonzero(cells[1:] != cells[:-1])
    return {
        "cells": cells[0],
        "changed_when": (when + 1).astype(np.uint16),
        "changed_where": np.diff(where, prepend=0).astype(np.int32),  # runs of ones are small
        "changed_to": cells[1:][when, where],
    }


def decode_cell_changes(arrays: Mapping[str, AnyArray], n_frames: int) -> AnyArray:
    """The cells `[frames, places]` that `as_changes` laid down.

    Raises:
        ValueError: There are more of them than a record may have.
        IndexError: A change lies beyond the last place.
    """
    places = arrays["cells"].size
    if not 1 <= n_frames <= MAX_FRAMES or places * n_frames > MAX_PAYLOAD_BYTES:
        raise ValueError(f"{n_frames} frames of {places} cells are more than a record may have")
    cells = np.repeat(arrays["cells"][None], n_frames, axis=0)
    where = np.cumsum(arrays["changed_where"], dtype=np.int64)
    ends = np.searchsorted(arrays["changed_when"], np.arange(n_frames), side="right")
    for frame in range(1, n_frames):
        cells[frame] = cells[frame - 1]
        now = slice(ends[frame - 1], ends[frame])
        cells[frame, where[now]] = arrays["changed_to"][now]
    return cells
