"""Folders for what nobody keeps.

All of them lie in one folder per run, which is locked as long as its process lives. So whatever a
killed worker leaves goes with the run, and what a killed run leaves goes when the next one starts.
"""

from __future__ import annotations

import atexit
import errno
import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_TIMEOUT = 20.0

_OPEN_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW

_OWNER_ALL = 0o700


def remove_tree(folder: Path, timeout: float = _TIMEOUT) -> bool:
    """Remove a folder with all that is in it.

    Only one folder is open at a time, and names are looked up in it: no depth needs recursion, a
    long path or many open files. Links are never followed. The way up is compared with the way
    down, so nothing outside is touched even if somebody moves folders meanwhile.

    Args:
        folder: May be missing.
        timeout: When to give up.

    Returns:
        Whether it is gone. Nothing is raised.
    """
    try:
        with _opened(os.fspath(folder), None) as top:
            _TreeRemover(top, time.monotonic() + timeout).run()
        os.rmdir(folder)
    except OSError as error:
        return error.errno == errno.ENOENT
    return True


@dataclass
class _Level:
    identity: tuple[int, int]
    folders: list[str]  # that are left in it; the last of them is being emptied


class _TreeRemover:
    def __init__(self, top: int, end: float) -> None:
        self._top, self._deadline, self._removed = top, end, True

    def run(self) -> None:
        """Go over the tree until nothing more can be removed or the time is over."""
        while self._removed and not self._is_late():
            self._removed = False
            with suppress(OSError):  # somebody else changes the tree: from the top again
                self._remove_once()

    def _remove_once(self) -> None:
        here = os.dup(self._top)
        try:
            levels = [self._remove_files(here)]
            while not self._is_late():
                if levels[-1].folders:
                    try:
                        inner = _open_folder(levels[-1].folders[-1], here)
                    except OSError:  # not ours, or gone
                        levels[-1].folders.pop()
                        continue
                    os.close(here)
                    here = inner
                    levels.append(self._remove_files(here))
                    continue
                levels.pop()
                if not levels:
                    return
                above = os.open("..", _OPEN_DIRECTORY_FLAGS, dir_fd=here)
                os.close(here)
                here = above
                if _identity(here) != levels[-1].identity:
                    return
                with suppress(OSError):
                    os.rmdir(levels[-1].folders.pop(), dir_fd=here)
                    self._removed = True
        finally:
            os.close(here)

    def _remove_files(self, handle: int) -> _Level:
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
        return time.monotonic() >= self._deadline


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
        handle = os.open(name, _OPEN_DIRECTORY_FLAGS, dir_fd=within)
    except PermissionError:
        _make_accessible(name, within)
        handle = os.open(name, _OPEN_DIRECTORY_FLAGS, dir_fd=within)
    if os.fstat(handle).st_mode & _OWNER_ALL != _OWNER_ALL:
        with suppress(OSError):  # not ours: what cannot be removed is left
            os.fchmod(handle, _OWNER_ALL)
    return handle


def _make_accessible(name: str, within: int | None) -> None:
    if not hasattr(os, "O_PATH"):
        os.chmod(name, _OWNER_ALL, dir_fd=within, follow_symlinks=False)
        return
    # Linux changes no modes by name without following links, but through a handle on the folder.
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY, dir_fd=within)
    try:
        os.chmod(f"/proc/self/fd/{handle}", _OWNER_ALL)
    finally:
        os.close(handle)


_PREFIX = "kin-"

_MIN_STALE_SECONDS = 60.0  # a folder so young may belong to a process that has not locked it yet


class TemporaryFolder:
    """A fresh folder with a short path, until it is removed.

    Args:
        prefix: What its name begins with.
    """

    def __init__(self, prefix: str) -> None:
        # Sockets lie in some of them, and their paths may not be longer than 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=_process_folder.acquire()))
        self._open = True

    def remove(self) -> None:
        """Take it away with all that is in it. May be called twice; never raises."""
        remove_tree(self.folder)
        if self._open:
            self._open = False
            _process_folder.release()


class _ProcessFolder:
    """The folder in which those of this process lie."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._folder: Path | None = None
        self._lock = -1  # a handle; -1 if the folder is another process's
        self._pid, self._n_open = os.getpid(), 0

    def acquire(self) -> Path:
        """The folder, made at the first use."""
        if self._pid != os.getpid():  # forked: the folder is our parent's
            self._reset()
        if self._folder is None or not self._folder.is_dir():
            self._create()
        self._n_open += 1
        assert self._folder is not None  # `_make` has seen to it
        return self._folder

    def release(self) -> None:
        """One of those in it has been removed; with the last of them the folder itself goes."""
        self._n_open -= 1
        if self._n_open <= 0:
            self.remove()

    def use_existing(self, folder: Path) -> None:
        """Use a folder that another process made and will remove."""
        if self._lock < 0 and folder.is_dir():
            self._folder, self._pid = folder, os.getpid()

    def remove(self) -> None:
        """Take it away, if it is ours."""
        if self._lock >= 0 and self._pid == os.getpid() and self._folder is not None:
            remove_tree(self._folder)
            os.close(self._lock)
            self._reset()

    def _create(self) -> None:
        remove_stale_folders()
        if self._lock >= 0:  # somebody else has taken the folder away
            os.close(self._lock)
        else:
            atexit.register(self.remove)
        self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


_process_folder = _ProcessFolder()


def use_parent_folder(folder: str) -> None:
    """In a worker: make folders within this one, which its engine removes, if it is there."""
    if folder:
        _process_folder.use_existing(Path(folder))


def remove_stale_folders() -> None:
    """Take away what runs have left that were killed: their folders are locked by nobody."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            about = folder.lstat()
            if about.st_uid != os.getuid() or time.time() - about.st_mtime < _MIN_STALE_SECONDS:
                continue
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(folder)
            finally:
                os.close(handle)
