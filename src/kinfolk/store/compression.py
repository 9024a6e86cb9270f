"""Decompress within bounds, so that a damaged or hostile file cannot exhaust the memory."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

from kinfolk.core.errors import DamagedRunError
from kinfolk.store.files import as_store_error

MAX_RATIO = 200  # decompressed to compressed; events and traces have 5 to 40, a zip bomb 1,030
MIN_SIZE_LIMIT = 64 * 2**20  # bytes that even the smallest file may decompress to
_CHUNK_BYTES = 2**20


def decompress_zlib(compressed: bytes, max_bytes: int) -> bytes:
    """Decompress a zlib stream of limited size.

    Args:
        compressed: Exactly one stream.
        max_bytes: Maximum size of the result.

    Raises:
        zlib.error: The stream is damaged, cut short, followed by other bytes, or too large.
    """
    stream = zlib.decompressobj()
    data = stream.decompress(compressed, max_bytes)
    if not stream.eof:  # the end of a stream of exactly `max_bytes` is read only now
        data += stream.decompress(stream.unconsumed_tail, 1)
    if not stream.eof or stream.unused_data or len(data) > max_bytes:
        raise zlib.error(f"it is not a whole stream of at most {max_bytes} bytes")
    return data


def decompress_gzip(compressed: bytes, source: str) -> bytes:
    """Decompress the content of a gzip file.

    Args:
        compressed: Content of the file.
        source: Name of the file, for error messages.

    Raises:
        DamagedRunError: It decompresses to more than a file of this size may.
        EOFError: It is cut short.
        gzip.BadGzipFile: It is not a gzip file, or its checksum is wrong.
        zlib.error: It is damaged.
    """
    with gzip.open(io.BytesIO(compressed)) as file:
        return b"".join(_iter_chunks(file, len(compressed), source))


def verify_gzip(path: Path) -> None:
    """Check that a gzip file can be decompressed to its end, in constant memory.

    Raises:
        DamagedRunError: It is cut short or damaged, or decompresses to more than a file of its
            size may.
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
    """Yield the decompressed content of a gzip file chunk by chunk, up to a size limit.

    Args:
        file: The open file.
        compressed_size: Its size on disk, from which the limit follows.
        source: Name of the file, for error messages.

    Raises:
        DamagedRunError: The limit is exceeded.
    """
    limit, n_bytes = max(MIN_SIZE_LIMIT, MAX_RATIO * compressed_size), 0
    while chunk := file.read(_CHUNK_BYTES):
        n_bytes += len(chunk)
        if n_bytes > limit:
            raise DamagedRunError(
                f"{source} is damaged: its {compressed_size:,} bytes unpack to more than {limit:,}."
            )
        yield chunk
