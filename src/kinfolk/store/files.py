"""Atomic writes, reads with readable errors, JSON with line numbers, and safe paths."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from kinfolk.core import errors
from kinfolk.core.settings import shorten_repr

PARTIAL_PREFIX = ".unfinished-"  # prefix of the names of files that are still being written
MAX_FILE_BYTES = 8 * 2**30  # of any file that is read into memory
MAX_TEXT_BYTES = 256 * 2**20  # of settings, role histories and other texts
_CHUNK_BYTES = 2**20  # read at once from what has no size, such as a pipe
_MAX_NAME_BYTES = 255  # limit of all common file systems
_MAX_SHOWN_CHARS = 100  # of a name in an error message
_BLANKS = (" ", "\t", "\r", "\n")
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "permission was denied",
    errno.EROFS: "the disk is read-only",
    errno.ENOTDIR: "a part of the path is not a folder",
    errno.EISDIR: "it is a folder",
}


def write_atomic(path: Path, *parts: bytes | memoryview) -> None:
    """Replace a file atomically: readers see its old or its new content, never a part of it.

    Args:
        path: The file.
        parts: Its new content; large parts need not be joined by the caller.

    Raises:
        StoreError: It could not be written; the old content is untouched.
    """
    with as_store_error(f"{path} was not written", "What was there before is untouched."):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{PARTIAL_PREFIX}{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                for part in parts:
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, 0o644)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        _sync_folder(path.parent)


def read_bytes(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Return the content of a file, whose size is checked before memory is allocated.

    Raises:
        UsageError: There is no such file.
        DamagedRunError: It is larger than `max_bytes`, or not a file.
        StoreError: It cannot be read.
    """
    if not path.exists():
        raise errors.UsageError(f"There is no file {path}.")
    with as_store_error(f"{path} could not be read"):
        status = path.stat()
        if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
            raise errors.DamagedRunError(f"{path} is a device, not a file.")
        if status.st_size > max_bytes:
            raise _make_size_error(path, f"{status.st_size:,} bytes", max_bytes)
        try:
            with path.open("rb") as file:
                if stat.S_ISREG(status.st_mode):
                    return file.read(status.st_size)
                return _read_stream(file, path, max_bytes)
        except MemoryError:
            sizes = f"its {status.st_size:,} bytes are more than the memory of this machine"
            raise errors.StoreError(f"{path} could not be read: {sizes}.") from None


def _read_stream(file: BinaryIO, path: Path, max_bytes: int) -> bytes:
    """Return all that a pipe gives; `path` is for the error if it is more than `max_bytes`."""
    chunks, n_bytes = [], 0
    while chunk := file.read(_CHUNK_BYTES):
        chunks.append(chunk)
        n_bytes += len(chunk)
        if n_bytes > max_bytes:
            raise _make_size_error(path, "more bytes", max_bytes)
    return b"".join(chunks)


def _make_size_error(path: Path, size: str, max_bytes: int) -> errors.DamagedRunError:
    """Return the error that a file is too large; `size` says how large it is."""
    problem = f"it has {size}, and such a file has at most {max_bytes:,}"
    return errors.DamagedRunError(f"{path} is damaged: {problem}.")


def read_beginning(path: Path, n_bytes: int) -> bytes:
    """Read at most `n_bytes` of a regular file, whatever its size.

    Raises:
        StoreError: It cannot be read.
    """
    with as_store_error(f"{path} could not be read"), path.open("rb") as file:
        return file.read(n_bytes)


def list_folder(folder: Path, pattern: str = "*") -> list[Path]:
    """List what lies in a folder, sorted by path; a pattern with `**` lists folders in it too.

    Raises:
        StoreError: It cannot be read.
    """
    with as_store_error(f"{folder} could not be read"):
        return sorted(folder.glob(pattern))


def read_settings_file(path: Path) -> dict[str, Any]:
    """Read the settings in a TOML or JSON file.

    Raises:
        UsageError: There is no such file, it has another format, or it is not valid.
        StoreError: It cannot be read.
    """
    file_format = path.suffix.removeprefix(".").lower()
    if file_format not in ("toml", "json"):
        raise errors.UsageError(f"Settings are read from .toml or .json files, not from {path}.")
    if not path.exists():
        others = [p.name for p in sorted(path.parent.glob("*")) if p.suffix in (".toml", ".json")]
        hint = errors.format_suggestion(path.name, others) if others else ""
        raise errors.UsageError(f"There is no file {path}.{hint}")
    try:
        text = read_bytes(path, MAX_TEXT_BYTES).decode()
        return parse_settings(text, file_format, str(path))
    except UnicodeDecodeError:
        raise errors.UsageError(f"{path} is not a text file.") from None


def parse_settings(text: str, file_format: str, source: str) -> dict[str, Any]:
    """Parse the text of a settings file.

    Args:
        text: Content of the file.
        file_format: `toml` or `json`.
        source: Name of the file, for error messages.

    Raises:
        SettingsError: The text is not valid, or does not hold a table.
    """
    try:
        if file_format == "toml":
            return tomllib.loads(text)
        data = parse_json(text)
    except (ValueError, RecursionError) as error:
        problem = f"is not valid {file_format.upper()}: {error}"
        raise errors.SettingsError(f"{source} {problem}.") from None
    if not isinstance(data, dict):
        problem = f"must hold a table of settings, not {shorten_repr(data)}"
        raise errors.SettingsError(f"{source} {problem}.")
    return data


@contextlib.contextmanager
def as_store_error(message: str, hint: str = "") -> Iterator[None]:
    """Turn any `OSError` within the block into a `StoreError`.

    Args:
        message: What failed, as the beginning of the error message.
        hint: A further sentence for the end of the message.
    """
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0) or (error.strerror or str(error)).lower()
        raise errors.StoreError(f"{message}: {reason}. {hint}".rstrip()) from error


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power failure, where the file system supports it."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def resolve_inside(folder: Path, *names: str) -> Path:
    """Return the path of an entry of a folder, given by untrusted names.

    Args:
        folder: The folder that the path must not leave.
        names: Components of the path below it.

    Raises:
        UsageError: A name is not a plain file name, or leads elsewhere through a link.
    """
    path = folder.joinpath(*names)
    if not all(map(_is_plain_name, names)) or path.resolve() != folder.resolve().joinpath(*names):
        name = "/".join(names)
        shown = name if len(name) <= _MAX_SHOWN_CHARS else f"{name[:_MAX_SHOWN_CHARS]}..."
        raise errors.UsageError(f"There is no {shown!r} here.")
    return path


def _is_plain_name(name: str) -> bool:
    """Return whether a text is the name of a file, without separators or special meaning."""
    try:
        size = len(os.fsencode(name))
    except UnicodeEncodeError:  # no file can have such a name
        return False
    return name not in ("", ".", "..") and not set(name) & set("/\\\0") and size <= _MAX_NAME_BYTES


@contextlib.contextmanager
def temporary_directory() -> Iterator[Path]:
    """Create a folder for an external program and remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix="kinfolk-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def parse_json(data: bytes | str) -> Any:
    """Parse JSON from a file that may be damaged.

    Raises:
        ValueError: It is not JSON, or is nested too deeply to be read.
    """
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_json_object(text: str, source: str) -> dict[str, Any]:
    """Parse a text that must hold a JSON object.

    Args:
        text: Content of the file.
        source: Name of the file, for error messages.

    Raises:
        DamagedRunError: The text is not a JSON object; the message has the line and the reason.
    """

    def refuse_constant(name: str) -> Any:
        """Raise the error for NaN and infinities, which JSON does not allow."""
        line = text[: text.find(name)].count("\n") + 1
        raise errors.DamagedRunError(f"{source} is damaged at line {line}: {name} is not a number.")

    try:
        data = json.loads(text, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(text.rstrip()) - 1
        reason = "the file ends too early" if is_cut else error.msg[0].lower() + error.msg[1:]
        problem = f"is damaged at line {error.lineno}: {reason}"
        raise errors.DamagedRunError(f"{source} {problem}.") from None
    except RecursionError:
        raise errors.DamagedRunError(f"{source} is damaged: it is nested too deeply.") from None
    except ValueError as error:  # a number of more digits than Python reads
        raise errors.DamagedRunError(f"{source} is damaged: {error}.") from None
    if not isinstance(data, dict):
        raise errors.DamagedRunError(f"{source} is damaged at line 1: it must hold a table.")
    return data


def find_line(text: str, path: Sequence[int | str]) -> int:
    r"""Return the line on which a value of a valid JSON text begins.

    Args:
        text: The text.
        path: Keys and indices that lead to the value; where it is missing, the line of the
            innermost value on the way there is returned.

    >>> find_line('{"a": 1,\n "b": [5,\n 6]}', ("b", 1))
    3
    """
    offset = _skip_blanks(text, 0)
    for key in path:
        entry_offset = _find_entry(text, offset, key)
        if entry_offset < 0:
            break
        offset = entry_offset
    return text[:offset].count("\n") + 1


def _find_entry(text: str, offset: int, key: int | str) -> int:
    """Return the offset of an entry of a JSON object or array, or -1 if there is none.

    Args:
        text: A valid JSON text.
        offset: Where the object or array begins.
        key: Key of an object, or index of an array.
    """
    if text[offset] not in "{[":
        return -1
    decoder, is_object, number = json.JSONDecoder(), text[offset] == "{", 0
    offset = _skip_blanks(text, offset + 1)
    while text[offset] not in "}]":
        name: int | str = number
        if is_object:
            name, offset = decoder.raw_decode(text, offset)
            offset = _skip_blanks(text, _skip_blanks(text, offset) + 1)  # the colon
        if name == key:
            return offset
        offset = _skip_blanks(text, decoder.raw_decode(text, offset)[1])
        offset = _skip_blanks(text, offset + 1) if text[offset] == "," else offset
        number += 1
    return -1


def _skip_blanks(text: str, offset: int) -> int:
    """Return the offset of the next character that is not white space."""
    while text[offset : offset + 1] in _BLANKS:
        offset += 1
    return offset


def read_text(path: Path) -> str:
    """Return the content of a text file.

    Raises:
        UsageError: There is no such file.
        DamagedRunError: It is not UTF-8.
    """
    data = read_bytes(path, MAX_TEXT_BYTES)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise errors.DamagedRunError(f"{path} is damaged at line {line}: it is not text.") from None
