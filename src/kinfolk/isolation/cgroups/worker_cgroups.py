"""Control groups of the workers of a pool: made and removed by the host, entered by each worker.

A worker enters its group before anything of its policy is loaded, by descriptors that it closes then. In
the sandbox no group can be seen from inside, so it cannot be left. The kernel counts all memory that the
processes of the group take: their own, shared memory, files in memory, page tables and buffers.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from kinfolk.isolation.cgroups import watcher
from kinfolk.isolation.cgroups.hierarchy import (
    CgroupParents,
    find_cgroup_parents,
    is_stale,
    name_host_folder,
)
from kinfolk.isolation.failures import IsolationSettings

MAX_THREADS = 128  # of each worker in a sandbox, beside one of each process
_EXIT_TIMEOUT = 3.0  # seconds for processes of a group that are being killed
_WORKER_AND_ITS_PARENT = 2  # which waits for it, where a policy may start processes


class WorkerCgroup:
    """The control group of one worker and of all processes that it starts.

    Args:
        version: Of the kernel's interface, 1 or 2.
        memory: Folder of the group that limits memory; None: unlimited.
        pids: Folder of the group that limits processes and threads; None: unlimited.
        settings: The limits.

    Attributes:
        is_released: Whether the worker has ended, so that the group can be removed.

    Raises:
        OSError: The kernel refused the group.
    """

    def __init__(
        self, version: int, memory: Path | None, pids: Path | None, settings: IsolationSettings
    ) -> None:
        self._version, self._memory, self._pids = version, memory, pids
        self._memory_limit, self._process_limit = settings.memory_limit, settings.process_limit
        self._folders = [*dict.fromkeys(folder for folder in (memory, pids) if folder is not None)]
        self.is_released = False
        for folder in self._folders:
            folder.mkdir()
        if memory is not None and settings.memory_limit is not None:
            _limit_memory(version, memory, settings.memory_limit * 2**20)
        if pids is not None:
            n_tasks = settings.process_limit + MAX_THREADS + _WORKER_AND_ITS_PARENT
            (pids / "pids.max").write_text(f"{n_tasks}")

    def open_entries(self) -> list[int]:
        """Return a descriptor per folder; a process that writes "0" to all of them enters the group.

        In version 1 it enters as a single thread, because the kernel takes some 10 ms to move all
        threads of a process that may have several.
        """
        name = "tasks" if self._version == 1 else "cgroup.procs"
        return [os.open(folder / name, os.O_WRONLY | os.O_CLOEXEC) for folder in self._folders]

    def explain_excess(self) -> str:
        """Return a description of the limit that the group has exceeded; "" if it has not."""
        limit, process_limit = self._memory_limit, self._process_limit
        if self._memory is not None and self._count_oom_kills(self._memory):
            return f"more than {limit} MB of memory, with a limit of {limit} MB"
        if self._pids is not None and process_limit > 0:
            n_children = _count_lines(self._pids / "cgroup.procs") - _WORKER_AND_ITS_PARENT
            if n_children > process_limit:
                return f"{n_children} processes of its own, with a limit of {process_limit}"
        return ""

    def release(self) -> None:
        """Remove the group of a worker that has ended, now or as soon as its processes have."""
        self.is_released = True
        self.remove()

    def remove(self) -> bool:
        """Remove the group if its processes have ended; return whether it is gone."""
        for folder in self._folders:
            with suppress(OSError):
                folder.rmdir()
        self._folders = [folder for folder in self._folders if folder.is_dir()]
        return not self._folders

    def _count_oom_kills(self, folder: Path) -> int:
        """Return how many processes the kernel has killed because the group was out of memory."""
        name = "memory.oom_control" if self._version == 1 else "memory.events"
        with suppress(OSError):
            for line in (folder / name).read_text().splitlines():
                key, _, value = line.partition(" ")
                if key == "oom_kill":
                    return int(value)
        return 0


class PoolCgroups:
    """The control groups of a pool's workers, in folders that a watcher removes if this process is killed.

    Args:
        parents: Where groups can be made.
        settings: Limits of each worker.

    Raises:
        OSError: The kernel refused the folders.
    """

    def __init__(self, parents: CgroupParents, settings: IsolationSettings) -> None:
        self._version, self._settings, self._n_made = parents.version, settings, 0
        remove_stale_cgroups(parents)
        name = f"{name_host_folder()}-{time.monotonic_ns()}"
        self._memory, self._pids = parents.memory / name, parents.pids / name
        self._host_folders = [*dict.fromkeys((self._memory, self._pids))]
        self._groups: list[WorkerCgroup] = []
        self._pid, self._watcher = os.getpid(), _Watcher(self._host_folders)
        for folder in self._host_folders:
            folder.mkdir()
            if parents.version == 2:
                (folder / "cgroup.subtree_control").write_text("+memory +pids")

    def create(self) -> WorkerCgroup:
        """Make the group of a new worker.

        Raises:
            OSError: The kernel refused it.
        """
        self._groups = [g for g in self._groups if not (g.is_released and g.remove())]
        self._n_made += 1
        name, settings = f"{self._n_made}", self._settings
        memory = self._memory / name if settings.memory_limit is not None else None
        pids = self._pids / name if settings.sandbox else None
        self._groups.append(WorkerCgroup(self._version, memory, pids, settings))
        return self._groups[-1]

    def close(self) -> None:
        """Remove all groups; may be called twice. A process that was forked meanwhile leaves them."""
        if os.getpid() == self._pid:
            watcher.remove_groups(list(map(str, self._host_folders)), False, _EXIT_TIMEOUT)
        self._watcher.close()


def open_pool_cgroups(settings: IsolationSettings) -> PoolCgroups | None:
    """Return the control groups for workers with these limits.

    Returns:
        None if there is nothing to limit, or this machine does not let this process make groups.
    """
    usual_limit = settings.memory_limit in (None, IsolationSettings().memory_limit)
    if usual_limit and not settings.sandbox:  # the limit of the process and looks at it will do
        return None
    parents = find_cgroup_parents()
    return None if parents is None else PoolCgroups(parents, settings)


def remove_stale_cgroups(parents: CgroupParents) -> None:
    """Remove the groups of processes that were killed together with their watcher."""
    for parent in dict.fromkeys((parents.memory, parents.pids)):
        stale = [str(folder) for folder in parent.glob("kinfolk-*") if is_stale(folder.name)]
        watcher.remove_groups(stale, kill=False, timeout=0.0)


class _Watcher:
    """The process that removes groups when this one has ended; it needs milliseconds to start.

    Args:
        folders: Folders that hold the groups.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        readable, self._pipe = os.pipe()
        try:
            host_fd = os.pidfd_open(os.getpid())
        except (AttributeError, OSError):  # before Linux 5.3
            host_fd = -1
        fds = [fd for fd in (readable, host_fd) if fd >= 0]
        script = [sys.executable, "-I", "-S", watcher.__file__, str(readable), str(host_fd)]
        try:
            self._process = subprocess.Popen(
                [*script, *map(str, folders)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=fds,
                start_new_session=True,
            )
        except OSError:
            os.close(self._pipe)
            raise
        finally:
            for fd in fds:
                os.close(fd)

    def close(self) -> None:
        """Let the process end, and wait for it; may be called twice."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_EXIT_TIMEOUT)


def _limit_memory(version: int, folder: Path, n_bytes: int) -> None:
    """Limit the memory of a group, swap included."""
    if version == 1:
        (folder / "memory.limit_in_bytes").write_text(f"{n_bytes}")
        with suppress(OSError):  # a kernel that does not count swap
            (folder / "memory.memsw.limit_in_bytes").write_text(f"{n_bytes}")
        return
    (folder / "memory.max").write_text(f"{n_bytes}")
    with suppress(OSError):
        (folder / "memory.swap.max").write_text("0")
    (folder / "memory.oom.group").write_text("1")


def _count_lines(path: Path) -> int:
    """Return the number of lines of a file; 0 if there is none."""
    try:
        return path.read_text().count("\n")
    except OSError:
        return 0
