"""Folders for what nobody keeps.

All of them lie in one folder per run, which is locked as long as its process lives. So whatever a
killed worker leaves goes with the run, and what a killed run leaves goes when the next one starts.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from kinfolk.core.removal import remove_tree

_PREFIX = "kin-"
_FRESH_SECONDS = 60.0  # a folder so young may belong to a process that has not locked it yet


class Scratch:
    """A fresh folder with a short path, until it is removed.

    Args:
        prefix: What its name begins with.
    """

    def __init__(self, prefix: str) -> None:
        # Sockets lie in some of them, and their paths may not be longer than 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=_home.enter()))
        self._open = True

    def remove(self) -> None:
        """Take it away with all that is in it. May be called twice; never raises."""
        remove_tree(self.folder)
        if self._open:
            self._open = False
            _home.leave()


class _Home:
    """The folder in which those of this process lie."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._folder: Path | None = None
        self._lock = -1  # a handle; -1 if the folder is another process's
        self._pid, self._guests = os.getpid(), 0

    def enter(self) -> Path:
        """The folder, made at the first use."""
        if self._pid != os.getpid():  # forked: the folder is our parent's
            self._forget()
        if self._folder is None or not self._folder.is_dir():
            self._make()
        self._guests += 1
        assert self._folder is not None  # `_make` has seen to it
        return self._folder

    def leave(self) -> None:
        """One of those in it has been removed; with the last of them the folder itself goes."""
        self._guests -= 1
        if self._guests <= 0:
            self.remove()

    def borrow(self, folder: Path) -> None:
        """Use a folder that another process made and will remove."""
        if self._lock < 0 and folder.is_dir():
            self._folder, self._pid = folder, os.getpid()

    def remove(self) -> None:
        """Take it away, if it is ours."""
        if self._lock >= 0 and self._pid == os.getpid() and self._folder is not None:
            remove_tree(self._folder)
            os.close(self._lock)
            self._forget()

    def _make(self) -> None:
        remove_abandoned()
        if self._lock >= 0:  # somebody else has taken the folder away
            os.close(self._lock)
        else:
            atexit.register(self.remove)
        self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


_home = _Home()


def share_scratch(folder: str) -> None:
    """In a worker: make folders within this one, which its engine removes, if it is there."""
    if folder:
        _home.borrow(Path(folder))


def remove_abandoned() -> None:
    """Take away what runs have left that were killed: their folders are locked by nobody."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            about = folder.lstat()
            if about.st_uid != os.getuid() or time.time() - about.st_mtime < _FRESH_SECONDS:
                continue
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(folder)
            finally:
                os.close(handle)
