"""Removing a folder that strangers have filled: whatever is in it, and without following links."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_SECONDS = 20.0
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_OWNER_ALL = 0o700


def remove_tree(folder: Path, seconds: float = _SECONDS) -> bool:
    """Remove a folder with all that is in it.

    Only one folder is open at a time, and names are looked up in it: no depth needs recursion, a
    long path or many open files. Links are never followed. The way up is compared with the way
    down, so nothing outside is touched even if somebody moves folders meanwhile.

    Args:
        folder: May be missing.
        seconds: When to give up.

    Returns:
        Whether it is gone. Nothing is raised.
    """
    try:
        with _opened(os.fspath(folder), None) as top:
            _Emptying(top, time.monotonic() + seconds).run()
        os.rmdir(folder)
    except OSError as error:
        return error.errno == errno.ENOENT
    return True


@dataclass
class _Level:
    identity: tuple[int, int]
    folders: list[str]  # that are left in it; the last of them is being emptied


class _Emptying:
    def __init__(self, top: int, end: float) -> None:
        self._top, self._end, self._removed = top, end, True

    def run(self) -> None:
        """Go over the tree until nothing more can be removed or the time is over."""
        while self._removed and not self._is_late():
            self._removed = False
            with suppress(OSError):  # somebody else changes the tree: from the top again
                self._go_over()

    def _go_over(self) -> None:
        here = os.dup(self._top)
        try:
            levels = [self._clear(here)]
            while not self._is_late():
                if levels[-1].folders:
                    try:
                        inner = _open_folder(levels[-1].folders[-1], here)
                    except OSError:  # not ours, or gone
                        levels[-1].folders.pop()
                        continue
                    os.close(here)
                    here = inner
                    levels.append(self._clear(here))
                    continue
                levels.pop()
                if not levels:
                    return
                above = os.open("..", _DIRECTORY, dir_fd=here)
                os.close(here)
                here = above
                if _identity(here) != levels[-1].identity:
                    return
                with suppress(OSError):
                    os.rmdir(levels[-1].folders.pop(), dir_fd=here)
                    self._removed = True
        finally:
            os.close(here)

    def _clear(self, handle: int) -> _Level:
        """Remove all but the folders of an open folder."""
        folders = []
        with os.scandir(handle) as entries:
            for entry in entries:
                if self._is_late():
                    break
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                    continue
                with suppress(OSError):
                    os.unlink(entry.name, dir_fd=handle)
                    self._removed = True
        return _Level(_identity(handle), folders)

    def _is_late(self) -> bool:
        return time.monotonic() >= self._end


def _identity(handle: int) -> tuple[int, int]:
    about = os.fstat(handle)
    return about.st_dev, about.st_ino


@contextmanager
def _opened(name: str, within: int | None) -> Iterator[int]:
    handle = _open_folder(name, within)
    try:
        yield handle
    finally:
        os.close(handle)


def _open_folder(name: str, within: int | None) -> int:
    """A handle on a folder, which is made readable and writable first if it is not."""
    try:
        handle = os.open(name, _DIRECTORY, dir_fd=within)
    except PermissionError:
        _allow(name, within)
        handle = os.open(name, _DIRECTORY, dir_fd=within)
    if os.fstat(handle).st_mode & _OWNER_ALL != _OWNER_ALL:
        with suppress(OSError):  # not ours: what cannot be removed is left
            os.fchmod(handle, _OWNER_ALL)
    return handle


def _allow(name: str, within: int | None) -> None:
    if not hasattr(os, "O_PATH"):
        os.chmod(name, _OWNER_ALL, dir_fd=within, follow_symlinks=False)
        return
    # Linux changes no modes by name without following links, but through a handle on the folder.
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY, dir_fd=within)
    try:
        os.chmod(f"/proc/self/fd/{handle}", _OWNER_ALL)
    finally:
        os.close(handle)
