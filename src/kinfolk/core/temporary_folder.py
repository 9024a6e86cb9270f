"""Temporary folders that are removed even if their process is killed.

All of them lie in one folder per main process, which stays locked as long as that process lives. So
what a killed worker leaves is removed with the folder of its main process, and what a killed main
process leaves is removed when the next one starts: the folder, and shared memory and semaphores whose
names begin with the folder's.
"""

from __future__ import annotations

import atexit
import errno
import fcntl
import itertools
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_TIMEOUT = 20.0  # seconds
_OPEN_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_OWNER_ALL = 0o700
_PREFIX = "kin-"
_SHARED_MEMORY = Path("/dev/shm")
_MIN_STALE_SECONDS = 60.0  # a younger folder may belong to a process that has not locked it yet
_moved_folders = itertools.count()  # numbers for unique names


def remove_tree(folder: Path, timeout: float = _TIMEOUT) -> bool:
    """Remove a folder and everything in it, however deeply nested.

    Subfolders of subfolders are moved to the top before they are emptied, so that no depth needs
    recursion, a long path or many file descriptors. Symbolic links are never followed, and entries
    are removed relative to open folders, so that nothing outside is removed even if another process
    moves folders at the same time.

    Args:
        folder: What to remove; it need not exist.
        timeout: Seconds after which to give up.

    Returns:
        Whether the folder no longer exists. No error is raised.
    """
    deadline = time.monotonic() + timeout
    try:
        top = _open_folder(os.fspath(folder), None)
        try:
            while time.monotonic() < deadline and _remove_entries(top, top, deadline):
                pass
        finally:
            os.close(top)
        os.rmdir(folder)
    except OSError as error:
        return error.errno == errno.ENOENT
    return True


def _remove_entries(folder: int, top: int, deadline: float) -> bool:
    """Remove the files of a folder, and empty or move its subfolders.

    What cannot be removed, such as a file of another user, is left where it is.

    Args:
        folder: Handle of the top of the tree, whose subfolders are emptied and removed if possible,
            or of one of its subfolders, whose own subfolders are moved to the top.
        top: Handle of the top of the tree.
        deadline: When to stop, as `time.monotonic` counts.

    Returns:
        Whether any entry was removed or moved, so that another call may remove more.
    """
    changed = False
    with os.scandir(folder) as scan:
        entries = list(scan)
    for entry in entries:
        if time.monotonic() >= deadline:
            break
        with suppress(OSError):
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.name, dir_fd=folder)
            else:
                inner = _open_folder(entry.name, folder)
                try:
                    if folder == top:
                        changed |= _remove_entries(inner, top, deadline)
                        os.rmdir(entry.name, dir_fd=top)
                    else:
                        name = f".removed-{next(_moved_folders)}"
                        os.rename(entry.name, name, src_dir_fd=folder, dst_dir_fd=top)
                finally:
                    os.close(inner)
            changed = True
    return changed


def _open_folder(name: str, parent: int | None) -> int:
    """Open a folder, granting its owner access first where that is missing."""
    try:
        handle = os.open(name, _OPEN_DIRECTORY_FLAGS, dir_fd=parent)
    except PermissionError:
        _make_accessible(name, parent)
        handle = os.open(name, _OPEN_DIRECTORY_FLAGS, dir_fd=parent)
    if os.fstat(handle).st_mode & _OWNER_ALL != _OWNER_ALL:
        with suppress(OSError):  # owned by another user: what cannot be removed stays
            os.fchmod(handle, _OWNER_ALL)
    return handle


def _make_accessible(name: str, parent: int | None) -> None:
    """Give the owner all permissions of a folder, without following a symbolic link."""
    if not hasattr(os, "O_PATH"):
        os.chmod(name, _OWNER_ALL, dir_fd=parent, follow_symlinks=False)
        return
    # Linux cannot chmod by name without following links; it can through an O_PATH handle.
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{handle}", _OWNER_ALL)
    finally:
        os.close(handle)


class TemporaryFolder:
    """A new folder with a short path, which exists until `remove` or the end of the process.

    Args:
        prefix: Start of the folder's name.
    """

    def __init__(self, prefix: str) -> None:
        # Some of them hold Unix sockets, whose paths may not be longer than 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=_process_folder.acquire()))
        self._open = True

    @property
    def shared_prefix(self) -> str:
        """Start of names of shared memory and semaphores, by which they are removed after a kill."""
        return f"{self.folder.parent.name}-"

    def remove(self) -> None:
        """Remove the folder and everything in it. May be called twice; never raises."""
        remove_tree(self.folder)
        if self._open:
            self._open = False
            _process_folder.release()


class _ProcessFolder:
    """The folder that contains all temporary folders of this process."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        """Begin without a folder: at first, after a fork, or after its removal."""
        self._folder: Path | None = None
        self._lock = -1  # a file descriptor; -1 if the folder belongs to another process
        self._pid, self._n_open = os.getpid(), 0

    def acquire(self) -> Path:
        """Return the folder for one more user of it, and create it at the first use."""
        if self._pid != os.getpid():  # forked: the folder belongs to the parent process
            self._reset()
        if self._folder is None or not self._folder.is_dir():
            self._create()
        self._n_open += 1
        assert self._folder is not None  # set by `_create`
        return self._folder

    def release(self) -> None:
        """Give up one use of the folder; after the last one it is removed."""
        self._n_open -= 1
        if self._n_open <= 0:
            self.remove()

    def use_existing(self, folder: Path) -> None:
        """Use a folder that another process created and will remove."""
        if self._lock < 0 and folder.is_dir():
            self._folder, self._pid = folder, os.getpid()

    def remove(self) -> None:
        """Remove the folder if this process created it."""
        if self._lock >= 0 and self._pid == os.getpid() and self._folder is not None:
            remove_tree(self._folder)
            os.close(self._lock)
            self._reset()

    def _create(self) -> None:
        """Create and lock the folder, after removing those of processes that were killed."""
        remove_stale_folders()
        if self._lock >= 0:  # another process has removed the folder
            os.close(self._lock)
        else:
            atexit.register(self.remove)
        self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


_process_folder = _ProcessFolder()


def use_parent_folder(folder: str) -> None:
    """Create this worker's temporary folders in one that its engine will remove, if it exists."""
    if folder:
        _process_folder.use_existing(Path(folder))


def remove_stale_folders() -> None:
    """Remove folders of processes that were killed, which are those that nobody has locked."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            status = folder.lstat()
            if status.st_uid != os.getuid() or time.time() - status.st_mtime < _MIN_STALE_SECONDS:
                continue
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove_shared(f"{folder.name}-")
                remove_tree(folder)
            finally:
                os.close(handle)


def _remove_shared(prefix: str) -> None:
    """Remove shared memory and semaphores of a process that was killed."""
    if not _SHARED_MEMORY.is_dir():  # other systems do not list them
        return
    for path in _SHARED_MEMORY.iterdir():
        if path.name.removeprefix("sem.").startswith(prefix):
            with suppress(OSError):  # of another user
                path.unlink()
