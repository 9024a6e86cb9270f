"""Files, written whole or not at all."""

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

PARTIAL_PREFIX = ".unfinished-"  # begins the names of files that are still being written
_MAX_NAME_BYTES = 255  # bytes, on every file system in use
_MAX_SHOWN_CHARS = 100  # characters of a name in a message
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "permission was denied",
    errno.EROFS: "the disk is read-only",
    errno.ENOTDIR: "a part of the path is not a folder",
    errno.EISDIR: "it is a folder",
}


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file so that others see all of it or what was there before.

    Raises:
        StoreError: It could not be written; what was there before still is.
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
    """All of a file.

    Raises:
        UsageError: There is no such file.
        StoreError: It cannot be read.
    """
    if not path.exists():
        raise UsageError(f"There is no file {path}.")
    with as_store_error(f"{path} could not be read"):
        return path.read_bytes()


def read_settings_file(path: Path) -> dict[str, Any]:
    """The table in a TOML or JSON file."""
    form = path.suffix.removeprefix(".").lower()
    if form not in ("toml", "json"):
        raise UsageError(f"Settings are read from .toml or .json files, not from {path}.")
    if not path.exists():
        others = [p.name for p in sorted(path.parent.glob("*")) if p.suffix in (".toml", ".json")]
        hint = format_suggestion(path.name, others) if others else ""
        raise UsageError(f"There is no file {path}.{hint}")
    try:
        return parse_settings(read_bytes(path).decode(), form, str(path))
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a text file.") from None


@contextlib.contextmanager
def as_store_error(message: str, hint: str = "") -> Iterator[None]:
    """Turn an error of the system into a sentence that begins with `message`."""
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0) or (error.strerror or str(error)).lower()
        raise StoreError(f"{message}: {reason}. {hint}".rstrip()) from error


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def resolve_inside(folder: Path, *names: str) -> Path:
    """The path of something in a folder; names come from outside and may not lead out of it.

    Raises:
        UsageError: A name is no plain name, or leads elsewhere through a link.
    """
    path = folder.joinpath(*names)
    if not all(map(_is_plain_name, names)) or path.resolve() != folder.resolve().joinpath(*names):
        raise UsageError(f"There is no {_shortened('/'.join(names))!r} here.")
    return path


def _is_plain_name(name: str) -> bool:
    try:
        size = len(os.fsencode(name))
    except UnicodeEncodeError:  # no file can have it
        return False
    return name not in ("", ".", "..") and not set(name) & set("/\\\0") and size <= _MAX_NAME_BYTES


def _shortened(name: str) -> str:
    return name if len(name) <= _MAX_SHOWN_CHARS else f"{name[:_MAX_SHOWN_CHARS]}..."


@contextlib.contextmanager
def temporary_directory() -> Iterator[Path]:
    """A folder for a helper program, which is gone afterwards with all that is in it."""
    with tempfile.TemporaryDirectory(prefix="kinfolk-", ignore_cleanup_errors=True) as name:
        yield Path(name)
