"""Atomic writes, reads with readable errors, and paths that stay inside a folder."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kinfolk.core.errors import StoreError, UsageError, format_suggestion
from kinfolk.core.settings import parse_settings

PARTIAL_PREFIX = ".unfinished-"  # prefix of the names of files that are still being written
_MAX_NAME_BYTES = 255  # limit of all common file systems
_MAX_SHOWN_CHARS = 100  # of a name in an error message
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "permission was denied",
    errno.EROFS: "the disk is read-only",
    errno.ENOTDIR: "a part of the path is not a folder",
    errno.EISDIR: "it is a folder",
}


def write_atomic(path: Path, data: bytes) -> None:
    """Replace a file atomically: readers see its old or its new content, never a part of it.

    Raises:
        StoreError: It could not be written; the old content is untouched.
    """
    with as_store_error(f"{path} was not written", "What was there before is untouched."):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{PARTIAL_PREFIX}{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, 0o644)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        _sync_folder(path.parent)


def read_bytes(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        UsageError: There is no such file.
        StoreError: It cannot be read.
    """
    if not path.exists():
        raise UsageError(f"There is no file {path}.")
    with as_store_error(f"{path} could not be read"):
        return path.read_bytes()


def read_settings_file(path: Path) -> dict[str, Any]:
    """Read the settings in a TOML or JSON file.

    Raises:
        UsageError: There is no such file, it has another format, or it is not valid.
        StoreError: It cannot be read.
    """
    file_format = path.suffix.removeprefix(".").lower()
    if file_format not in ("toml", "json"):
        raise UsageError(f"Settings are read from .toml or .json files, not from {path}.")
    if not path.exists():
        others = [p.name for p in sorted(path.parent.glob("*")) if p.suffix in (".toml", ".json")]
        hint = format_suggestion(path.name, others) if others else ""
        raise UsageError(f"There is no file {path}.{hint}")
    try:
        return parse_settings(read_bytes(path).decode(), file_format, str(path))
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a text file.") from None


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
        raise StoreError(f"{message}: {reason}. {hint}".rstrip()) from error


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
        raise UsageError(f"There is no {_shorten('/'.join(names))!r} here.")
    return path


def _is_plain_name(name: str) -> bool:
    try:
        size = len(os.fsencode(name))
    except UnicodeEncodeError:  # no file can have such a name
        return False
    return name not in ("", ".", "..") and not set(name) & set("/\\\0") and size <= _MAX_NAME_BYTES


def _shorten(name: str) -> str:
    return name if len(name) <= _MAX_SHOWN_CHARS else f"{name[:_MAX_SHOWN_CHARS]}..."


@contextlib.contextmanager
def temporary_directory() -> Iterator[Path]:
    """Create a folder for an external program and remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix="kinfolk-", ignore_cleanup_errors=True) as name:
        yield Path(name)
