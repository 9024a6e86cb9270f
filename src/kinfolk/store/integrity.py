"""SHA-256 checksums in the files of runs, and what a damaged file is answered with.

A *document* (settings, role history, safetensors file) has a field `sha256` near its beginning:
the digest of all bytes of the file, in which the digits of that field are zeros. A *line* of a log
has it as its last field: the digest of the digest of the line before and of the line without the
field, so that no line can be changed, removed or moved. The records of a replay have digests in
their binary headers (`kinfolk.replay.codec`).

Checksums find damage. They do not prove who wrote a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path

from kinfolk.core.errors import DamagedRunError

CHECKSUM_FIELD = "sha256"
BLANK_CHECKSUM = "0" * 64  # takes the place of the digits until they are known
_DIGITS = re.compile(rb'"sha256": ?"([0-9a-f]{64})"')
_SEARCH_BYTES = 512  # the field lies within the first bytes of a document
_LINE_START, _LINE_END = b', "sha256": "', b'"}\n'
_LINE_FIELD_BYTES = len(_LINE_START) + len(BLANK_CHECKSUM) + len(_LINE_END)

Buffer = bytes | memoryview


def seal(start: bytes, rest: Buffer = b"") -> bytes:
    """Fill in the checksum of a document.

    Args:
        start: The document, or its beginning, with `BLANK_CHECKSUM` in its field `sha256`.
        rest: The rest of it, which is only read: large data need not be copied.

    Returns:
        `start` with the checksum of the whole document.
    """
    match = _DIGITS.search(start, 0, _SEARCH_BYTES)
    assert match is not None, "the document has no field for its checksum"
    return start[: match.start(1)] + _compute_digest(start, match, rest) + start[match.end(1) :]


def has_checksum(data: bytes) -> bool:
    """Return whether a document has a checksum, right or wrong."""
    return _DIGITS.search(data, 0, _SEARCH_BYTES) is not None


def verify(data: bytes, source: str) -> None:
    """Check a document against its checksum.

    Args:
        data: The whole document.
        source: Name of the file, for error messages.

    Raises:
        DamagedRunError: The checksum is missing or wrong.
    """
    match = _DIGITS.search(data, 0, _SEARCH_BYTES)
    if match is None:
        raise DamagedRunError(
            f"{source} has no SHA-256 checksum: it is damaged, or of an earlier version of kinfolk, "
            "whose files are no longer read."
        )
    if _compute_digest(data, match) != match.group(1):
        raise DamagedRunError(f"{source} is damaged: its SHA-256 checksum is wrong.")


def _compute_digest(data: Buffer, match: re.Match[bytes], rest: Buffer = b"") -> bytes:
    """Return the hexadecimal digest of a document whose digits lie at `match`, taken as zeros."""
    view = memoryview(data)
    digest = sha256(view[: match.start(1)])
    digest.update(BLANK_CHECKSUM.encode())
    digest.update(view[match.end(1) :])
    digest.update(rest)
    return digest.hexdigest().encode()


def seal_line(text: str, previous: str = "") -> tuple[bytes, str]:
    """Return a line of a log with its checksum, and the checksum.

    Args:
        text: A JSON object that is not empty, in one line.
        previous: Checksum of the line before; empty for the first one.
    """
    checksum = sha256(previous.encode() + text.encode()).hexdigest()
    return text[:-1].encode() + _LINE_START + checksum.encode() + _LINE_END, checksum


def open_line(line: bytes, previous: str = "") -> tuple[bytes, str]:
    """Check a line of a log; return its JSON text without the checksum, and the checksum.

    Args:
        line: The line with its newline.
        previous: Checksum of the line before; empty for the first one.

    Raises:
        ValueError: The checksum is missing or wrong.
    """
    body, field = line[:-_LINE_FIELD_BYTES] + b"}", line[-_LINE_FIELD_BYTES:]
    checksum = sha256(previous.encode() + body).hexdigest()
    if field != _LINE_START + checksum.encode() + _LINE_END:
        raise ValueError("its SHA-256 checksum is missing or wrong")
    return body, checksum


@contextmanager
def advising(advise: Callable[[], str]) -> Iterator[None]:
    """Add to the error of a damaged file what can be used instead.

    Args:
        advise: Returns a sentence, or an empty text; called only if a file is damaged.
    """
    try:
        yield
    except DamagedRunError as error:
        raise DamagedRunError(f"{error} {advise()}".rstrip()) from None


@cache
def hash_code(folder: Path) -> str:
    """Return the SHA-256 of the names and contents of all Python files below a folder."""
    digest = sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(sha256(path.read_bytes()).digest())
    return digest.hexdigest()
