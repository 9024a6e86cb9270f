"""Packed bytes, unpacked within bounds: a damaged or hostile file cannot ask for all memory."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

from kinfolk.core.errors import DamagedRunError
from kinfolk.store.files import saying

MOST_RATIO = 200  # unpacked to packed; events and traces have 5 to 40, a bomb of zeros 1,030
ALWAYS_ALLOWED = 64 * 2**20  # bytes that may come of a file of any size
_PIECE = 2**20


def unpack_deflated(packed: bytes, most: int) -> bytes:
    """Unpack a zlib stream of at most `most` bytes.

    Raises:
        zlib.error: It is damaged, cut short, followed by something else, or unpacks to more.
    """
    stream = zlib.decompressobj()
    data = stream.decompress(packed, most)
    if not stream.eof:  # the end of a stream of exactly `most` bytes is seen only now
        data += stream.decompress(stream.unconsumed_tail, 1)
    if not stream.eof or stream.unused_data or len(data) > most:
        raise zlib.error(f"it is not a whole stream of at most {most} bytes")
    return data


def unpack_gzip(packed: bytes, source: str) -> bytes:
    """Unpack the bytes of a gzip file.

    Raises:
        DamagedRunError: It unpacks to more than a file of this size can hold.
        EOFError: It is cut short.
        gzip.BadGzipFile: It is not a gzip file, or its checksum is wrong.
        zlib.error: It is damaged.
    """
    with gzip.open(io.BytesIO(packed)) as file:
        return b"".join(_pieces(file, len(packed), source))


def check_packed(path: Path) -> None:
    """Read a gzip file to its end, keeping nothing.

    Raises:
        DamagedRunError: It is cut short or damaged, or unpacks to more than a file of its size can
            hold.
    """
    with saying(f"{path} could not be read"), path.open("rb") as raw:
        size = path.stat().st_size
        if size == 0:
            raise DamagedRunError(f"{path} is cut short: it is empty.")
        try:
            with gzip.open(raw) as file:
                for _ in _pieces(file, size, str(path)):
                    pass
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DamagedRunError(f"{path} is cut short or damaged: {error}.") from None


def _pieces(file: gzip.GzipFile, packed: int, source: str) -> Iterator[bytes]:
    most, unpacked = max(ALWAYS_ALLOWED, MOST_RATIO * packed), 0
    while piece := file.read(_PIECE):
        unpacked += len(piece)
        if unpacked > most:
            raise DamagedRunError(
                f"{source} is damaged: its {packed:,} bytes unpack to more than {most:,}."
            )
        yield piece
