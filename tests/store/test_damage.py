"""Damaged files allocate no memory they do not need, and a full disk is reported as such."""

import io
import json
import os
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pytest

from kinfolk.core.errors import DamagedRunError, UsageError
from kinfolk.replay.codec import (
    DONE,
    FRAMES,
    HEADER,
    HEADER_BYTES,
    MAGIC,
    MAX_PAYLOAD_BYTES,
    SERIES,
    RecordHeader,
    encode_arrays,
    encode_json_record,
    encode_record,
)
from kinfolk.replay.reader import Replay
from kinfolk.store.arrays import read_arrays
from kinfolk.store.event_log import decompress_zlib
from kinfolk.store.integrity import seal_line
from kinfolk.store.run import create_run


def write_replay(tmp_path, series, frames, count=2):
    path = tmp_path / "one.replay"
    path.write_bytes(
        MAGIC + encode_json_record(HEADER, {}) + encode_record(SERIES, series, 0, count)
        + encode_record(FRAMES, frames, 0, count) + encode_json_record(DONE, {})
    )  # fmt: skip
    return path


def encode_frames(frames=2, places=4, rows=3):
    return encode_arrays(
        {
            "cells": np.zeros(places, np.uint8), "change_frame": np.zeros(0, np.uint16),
            "change_cell_delta": np.zeros(0, np.int32), "change_value": np.zeros(0, np.uint8),
            "uid/first": np.zeros(rows, np.int32), "uid/deltas": np.zeros((rows, frames - 1), np.int8),
        },
        {"kinds": [], "notes": []},
    )  # fmt: skip


SERIES_PAYLOAD = encode_arrays({"ticks": np.arange(2, dtype=np.int32)}, {})


@pytest.mark.parametrize(
    ("field", "value"), [("first", 7), ("frames", 0), ("frames", 2**32 - 1), ("frames", 129)]
)
def test_frame_counts_of_a_record_header_are_checked_before_memory_is_allocated(
    tmp_path, field, value
):
    path = write_replay(tmp_path, SERIES_PAYLOAD, encode_frames())
    part = Replay(path).records[FRAMES][0]
    data = bytearray(path.read_bytes())
    at = part.offset - HEADER_BYTES
    header = RecordHeader.from_bytes(bytes(data[at : part.offset]))
    data[at : part.offset] = header._replace(**{field: value}).to_bytes()
    path.write_bytes(bytes(data))
    with pytest.raises(DamagedRunError) as refused:
        Replay(path).columns(0)
    reason = "a record does not continue those before it"
    assert str(refused.value) == f"{path} is damaged at byte {at}: {reason}."


def test_a_record_that_decompresses_to_too_much_raises_an_error(tmp_path):
    path = write_replay(tmp_path, bytes(MAX_PAYLOAD_BYTES + 1), encode_frames())
    assert path.stat().st_size < 2 * 10**5
    with pytest.raises(DamagedRunError) as refused:
        _ = Replay(path).ticks
    assert str(refused.value) == (
        f"{path} is damaged: the SERI record of frame 0 is not what was written."
    )


def test_too_many_frames_of_a_large_map_raise_an_error(tmp_path):
    path = write_replay(tmp_path, SERIES_PAYLOAD, encode_frames(frames=128, places=2**21), 128)
    with pytest.raises(DamagedRunError) as refused:
        Replay(path).columns(0)
    assert str(refused.value) == (
        f"{path} is damaged: the FRAM record of frame 0 cannot be read "
        "(ValueError: 128 frames of 2097152 cells are more than a record may have)."
    )


@pytest.mark.parametrize(
    "table",
    [
        {"arrays": {"ticks": ["int32", [2**40], 0]}, "notes": {}},
        {"arrays": {"ticks": ["int32", [-1], 0]}, "notes": {}},
        {"arrays": {"ticks": ["int32", [1], 10**9]}, "notes": {}},
        {"arrays": {"ticks": ["object", [1], 0]}, "notes": {}},
        {"arrays": {"ticks": ["int32", 7, 0]}, "notes": {}},
        {"arrays": {"ticks": ["int32", [0], 0]}, "notes": {}},
        {"arrays": {"ticks": 3}, "notes": {}},
        {"arrays": [], "notes": {}},
        {"notes": {}},
        [],
    ],
)
def test_a_wrong_table_of_arrays_raises_an_error(tmp_path, table):
    text = json.dumps(table).encode()
    path = write_replay(tmp_path, struct.pack("<I", len(text)) + text + bytes(8), encode_frames())
    with pytest.raises(DamagedRunError) as refused:
        _ = Replay(path).ticks
    message = f"{path} is damaged: the SERI record of frame 0 cannot be read ("
    assert str(refused.value).startswith(message)


def test_a_zlib_stream_is_decompressed_up_to_its_limit():
    packed = zlib.compress(bytes(1000))
    assert decompress_zlib(packed, 1000) == bytes(1000)
    for wrong, most in ((packed, 999), (packed[:-1], 1000), (packed + b"x", 1000), (b"", 1000)):
        with pytest.raises(zlib.error):
            decompress_zlib(wrong, most)


def npz_with(tmp_path, header, data=b"", method=zipfile.ZIP_DEFLATED):
    path = tmp_path / "weights.npz"
    raw = io.BytesIO()
    np.lib.format.write_array_header_1_0(raw, header)
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("x.npy", raw.getvalue() + data)
    return path


def test_an_npz_whose_header_claims_too_many_bytes_raises_an_error(tmp_path):
    header = {"shape": (2**40,), "fortran_order": False, "descr": "<f8"}
    path = npz_with(tmp_path, header)
    with pytest.raises(UsageError) as refused:
        read_arrays(path)
    assert str(refused.value) == (
        f"{path} is cut short or damaged: the header of x.npy claims 8,796,093,022,208 bytes."
    )


@pytest.mark.parametrize("array", [np.arange(6.0).reshape(2, 3), np.asfortranarray(np.eye(3)),
                                   np.zeros((0, 4), np.int8), np.array(5, np.int64)])  # fmt: skip
@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_an_npz_is_read_as_it_was_written(tmp_path, array, write):
    write(tmp_path / "a.npz", one=array)
    [(name, found)] = read_arrays(tmp_path / "a.npz").items()
    assert (name, found.dtype, found.shape) == ("one", array.dtype, array.shape)
    assert np.array_equal(found, array)


@pytest.mark.parametrize(
    "line", ['{"ticks": 1', '{"ticks": 1}', "nonsense", "[]", "\x00\x01", "[" * 99_999]
)
def test_a_damaged_line_of_timings_is_skipped(tmp_path, line):
    run = create_run(tmp_path / "one", "count", {})
    first, last = (seal_line(f'{{"ticks": {ticks}}}')[0] for ticks in (1, 2))
    text = first + f"{line}\n".encode() + last + b'{"cut'
    (run.folder / "timings.jsonl").write_bytes(text)
    assert run.timings() == ([{"ticks": 1}, {"ticks": 2}], 1)


RUN_UNTIL_THE_DISK_IS_FULL = """
import resource, signal, sys
from pathlib import Path
from kinfolk.core.events import Event
from kinfolk.store.run_job import run_and_store
from kinfolk.store.run import create_run
folder = Path(sys.argv[1]) / "run"
run = create_run(folder, "count", {})
if len(sys.argv) > 2:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
try:
    for _ in run_and_store(run, lambda snapshot: (Event(step=n) for n in range(10**6))):
        pass
except BaseException as error:
    print(type(error).__name__, error)
print(run._file, run._lock)
"""


def test_an_error_of_writing_is_not_hidden_by_closing_the_file(tmp_path):
    command = [sys.executable, "-c", RUN_UNTIL_THE_DISK_IS_FULL, str(tmp_path), "limit"]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.stdout.splitlines() == [
        f"StoreError {tmp_path}/run/events.jsonl could not be written: file too large. "
        "The run can be resumed.",
        "None None",
    ], process.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")
def test_a_full_disk_is_reported_as_such(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]).returncode:
        pytest.skip("This machine mounts nothing.")
    try:
        command = [sys.executable, "-c", RUN_UNTIL_THE_DISK_IS_FULL, str(disk)]
        process = subprocess.run(command, capture_output=True, text=True)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert process.stdout.splitlines() == [
        f"StoreError {disk}/run/events.jsonl could not be written: the disk is full. "
        "The run can be resumed.",
        "None None",
    ], process.stderr
