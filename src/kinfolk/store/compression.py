"""Packed bytes, unpacked within bounds: a damaged or hostile file cannot ask for all memory."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

from kinfolk.core.errors import DamagedRunError
from kinfolk.store.files import as_store_error

MAX_RATIO = 200  # unpacked to packed; events and traces have 5 to 40, a bomb of zeros 1,030
MIN_SIZE_LIMIT = 64 * 2**20  # bytes that may come of a file of any size
_CHUNK_BYTES = 2**20


def decompress_zlib(compressed: bytes, max_bytes: int) -> bytes:
    """Unpack a zlib stream of at most `max_bytes` bytes.

    Raises:
        zlib.error: It is damaged, cut short, followed by something else, or unpacks to more.
    """
    stream = zlib.decompressobj()
    data = stream.decompress(compressed, max_bytes)
    if not stream.eof:  # the end of a stream of exactly `most` bytes is seen only now
        data += stream.decompress(stream.unconsumed_tail, 1)
    if not stream.eof or stream.unused_data or len(data) > max_bytes:
        raise zlib.error(f"it is not a whole stream of at most {max_bytes} bytes")
    return data


def decompress_gzip(compressed: bytes, source: str) -> bytes:
    """Unpack the bytes of a gzip file.

    Raises:
        DamagedRunError: It unpacks to more than a file of this size can hold.
        EOFError: It is cut short.
        gzip.BadGzipFile: It is not a gzip file, or its checksum is wrong.
        zlib.error: It is damaged.
    """
    with gzip.open(io.BytesIO(compressed)) as file:
        return b"".join(_iter_chunks(file, len(compressed), source))


def verify_gzip(path: Path) -> None:
    """Read a gzip file to its end, keeping nothing.

    Raises:
        DamagedRunError: It is cut short or damaged, or unpacks to more than a file of its size can
            hold.
    """
    with as_store_error(f"{path} could not be read"), path.open("rb") as raw:
        size = path.stat().st_size
        if size == 0:
            raise DamagedRunError(f"{path} is cut short: it is empty.")
        try:
            with gzip.open(raw) as file:
                for _ in _iter_chunks(file, size, str(path)):
                    pass
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DamagedRunError(f"{path} is cut short or damaged: {error}.") from None


def _iter_chunks(file: gzip.GzipFile, compressed_size: int, source: str) -> Iterator[bytes]:
    most, unpacked = max(MIN_SIZE_LIMIT, MAX_RATIO * compressed_size), 0
    while piece := file.read(_CHUNK_BYTES):
        unpacked += len(piece)
        if unpacked > most:
            raise DamagedRunError(
                f"{source} is damaged: its {compressed_size:,} bytes unpack to more than {most:,}."
            )
        yield piece
