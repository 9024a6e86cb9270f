"""Limits of time and memory, measured from outside of the processes that they hold for.

The kernel keeps the CPU clock and the memory of every process; nothing that a policy tells counts. Time
that a policy takes for its answers is known to the host only as often as it looks, which is every 20
milliseconds while it waits; so the moment of an answer that the worker claims is believed only between
the last look that did not find the answer and the first that did.
"""

from __future__ import annotations

import os
import re
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kinfolk.isolation.cgroups.worker_cgroups import MAX_THREADS, WorkerCgroup
from kinfolk.isolation.failures import IsolationSettings

_CREDENTIALS = struct.Struct("=iII")  # `struct ucred`: pid, uid, gid
_CPU_CLOCK = 2  # CPUCLOCK_SCHED of a whole process, in the low bits of a clock's id
# Of `/proc/PID/status`: memory apart from files, and what the kernel needs to map it.
_MEMORY_FIELDS = ("RssAnon", "RssShmem", "VmSwap", "VmPTE", "HugetlbPages")
_COUNTED_ADDRESSES = ("VmData", "VmStk", "VmExe", "VmLib")
_SHARED_MAP = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) ...s \S+ \S+ \d+ +/dev/zero ", re.MULTILINE)


@dataclass
class Usage:
    """Seconds that a policy has used."""

    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0

    def add(self, wall_seconds: float, cpu_seconds: float) -> None:
        """Add the seconds of one more step."""
        self.wall_seconds += wall_seconds
        self.cpu_seconds += cpu_seconds


class WorkerStats(NamedTuple):
    """Counts over one or more workers."""

    stale_replies: int = 0  # replies to requests that were no longer current
    printed_bytes: int = 0  # what policies printed
    peak_megabytes: float = 0.0  # largest peak memory of a worker

    def merge(self, other: WorkerStats) -> WorkerStats:
        """Return the counts of two sets of workers together."""
        peak = max(self.peak_megabytes, other.peak_megabytes)
        printed = self.printed_bytes + other.printed_bytes
        return WorkerStats(self.stale_replies + other.stale_replies, printed, peak)


class ResourceLimits:
    """Checks what worker processes use against the limits of the settings.

    Args:
        settings: The limits; those that are None are not checked.

    Attributes:
        measures_time: Whether a limit of an episode or match needs the time of every step.
        measures_cpu: Whether any limit of CPU time is set.
        measures_size: Whether memory or the number of processes is limited.
    """

    def __init__(self, settings: IsolationSettings) -> None:
        self._settings = settings
        self._with_children = settings.process_limit > 0 or not settings.sandbox
        cpu = (settings.step_cpu_limit, settings.episode_cpu_limit, settings.match_cpu_limit)
        wall = (settings.episode_timeout, settings.match_timeout)
        self.measures_cpu = any(limit is not None for limit in (*cpu, settings.cpu_limit))
        self.measures_time = self.measures_cpu or any(limit is not None for limit in wall)
        self.measures_size = settings.memory_limit is not None or settings.sandbox

    def read_cpu_seconds(self, pid: int) -> float:
        """Return the CPU time of a process and its children; 0 if it has ended or is not measured."""
        if not self.measures_cpu or not pid:
            return 0.0
        if not self._with_children:
            return read_cpu_clock(pid)
        pids = list_process_tree(pid)
        return sum(read_cpu_clock(member) + read_ended_cpu_seconds(member) for member in pids)

    def explain_size(self, pid: int) -> str:
        """Return a description of the limit of memory, processes or threads that a process exceeds.

        For processes without a control group, which does this better.

        Returns:
            "" if no limit is exceeded.
        """
        if not self.measures_size or not pid:
            return ""
        pids = list_process_tree(pid) if self._with_children else [pid]
        sizes = [read_size(member) for member in pids]
        settings, n_children = self._settings, len(pids) - 1
        n_threads = sum(max(0, size.n_threads - 1) for size in sizes)
        if settings.sandbox and n_children > settings.process_limit:
            return f"{n_children} processes of its own, with a limit of {settings.process_limit}"
        if settings.sandbox and n_threads > MAX_THREADS:
            return f"{n_threads} threads, with a limit of {MAX_THREADS}"
        limit = settings.memory_limit
        if limit is None or sum(size.memory_mb + size.other_mb for size in sizes) <= limit:
            return ""
        used = sum(map(read_memory_mb, pids))
        return f"{used:.0f} MB of memory, with a limit of {limit} MB" if used > limit else ""

    def explain_step(self, cpu_seconds: float, life_seconds: float) -> str:
        """Return a description of the limit of a step or process that is exceeded; "" if none is.

        Args:
            cpu_seconds: CPU time of the step.
            life_seconds: CPU time of the process since it was started.
        """
        settings = self._settings
        return _explain(
            ("CPU s in one step", cpu_seconds, settings.step_cpu_limit),
            ("CPU s of its process", life_seconds, settings.cpu_limit),
        )

    def explain_episode(self, usage: Usage) -> str:
        """Return a description of the limit of an episode that is exceeded; "" if none is."""
        settings = self._settings
        return _explain(
            ("s in the episode", usage.wall_seconds, settings.episode_timeout),
            ("CPU s in the episode", usage.cpu_seconds, settings.episode_cpu_limit),
        )

    def explain_match(self, usage: Usage) -> str:
        """Return a description of the limit of a match that is exceeded; "" if none is."""
        settings = self._settings
        return _explain(
            ("s in the match", usage.wall_seconds, settings.match_timeout),
            ("CPU s in the match", usage.cpu_seconds, settings.match_cpu_limit),
        )


class WorkerMeter:
    """Measures what one worker uses, and compares it with its limits.

    Args:
        settings: The limits.
        connection: Socket on which the worker sends a byte when it has started.
        cgroup: Control group of the worker, which counts its memory and processes; None: the host
            counts them.

    Attributes:
        usages: What was used before the current request, in the match and in the episode.
    """

    def __init__(
        self, settings: IsolationSettings, connection: socket.socket, cgroup: WorkerCgroup | None
    ) -> None:
        self._limits, self._connection, self._cgroup = ResourceLimits(settings), connection, cgroup
        self._host_pid, self._cpu_mark = 0, 0.0
        self.usages: tuple[Usage, ...] = ()

    @property
    def host_pid(self) -> int:
        """Id of the process as the host sees it, from outside of its namespace; 0 if unknown."""
        if self._host_pid == 0:  # it has sent nothing yet
            self._host_pid = receive_sender_pid(self._connection)
        return self._host_pid

    def take_cpu_seconds(self) -> float:
        """Return the CPU time since the last call of this, or since the process was started.

        What a policy uses between its steps counts for the next one.
        """
        now = self._limits.read_cpu_seconds(self.host_pid)
        used, self._cpu_mark = max(0.0, now - self._cpu_mark), now
        return used

    def explain_excess(self, wall_seconds: float) -> str:
        """Return a description of a limit that the current request has exceeded; "" if none is.

        Args:
            wall_seconds: Seconds since the request was sent.
        """
        limits = self._limits
        if limits.measures_time and self.host_pid:
            now = limits.read_cpu_seconds(self.host_pid)
            cpu = now - self._cpu_mark
            exceeded = limits.explain_step(cpu, now)
            for usage, explain in zip(
                self.usages, (limits.explain_match, limits.explain_episode), strict=False
            ):
                exceeded = exceeded or explain(
                    Usage(usage.wall_seconds + wall_seconds, usage.cpu_seconds + cpu)
                )
            if exceeded:
                return exceeded
        return self.explain_size()

    def explain_size(self) -> str:
        """Return a description of the limit of memory or processes that is exceeded; "" if none is."""
        if self._cgroup is not None:
            return self._cgroup.explain_excess()
        return self._limits.explain_size(self.host_pid)


def _explain(*checks: tuple[str, float, float | None]) -> str:
    """Describe the first limit that is exceeded, of (unit, used, limit); "" if none is."""
    for unit, used, limit in checks:
        if limit is not None and used > limit:
            return f"{used:.2f} {unit}, with a limit of {limit:g}"
    return ""


def receive_sender_pid(connection: socket.socket) -> int:
    """Return the id of the process that sent the first byte, as this process sees it.

    The kernel writes the id, so it cannot be forged, and translates it between namespaces.

    Returns:
        0 if nothing was sent or the system does not tell.
    """
    if not hasattr(socket, "SCM_CREDENTIALS"):
        return 0
    try:
        space = socket.CMSG_SPACE(_CREDENTIALS.size)
        _, messages, _, _ = connection.recvmsg(1, space, socket.MSG_DONTWAIT)
    except OSError:
        return 0
    for level, kind, data in messages:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            return int(_CREDENTIALS.unpack(data[: _CREDENTIALS.size])[0])
    return 0


def read_cpu_clock(pid: int) -> float:
    """Return the CPU seconds of all threads of a process; 0 if there is no such process."""
    try:
        return time.clock_gettime((~pid << 3) | _CPU_CLOCK)
    except (OSError, AttributeError):
        return 0.0


def read_ended_cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of children of a process that have ended, and of their children.

    The kernel passes them on when a parent waits for a child, which it cannot avoid in the sandbox.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def list_process_tree(pid: int) -> list[int]:
    """Return a process and all its descendants; only itself where the system does not tell."""
    members = [pid]
    for member in members:  # grows meanwhile; no recursion, as a policy chooses how deep they nest
        members += list_children(member)
    return members


def list_children(pid: int) -> Iterator[int]:
    """Yield the children of a process, of all its threads."""
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            yield from map(int, path.read_text().split())
        except OSError:
            continue


class ProcessSize(NamedTuple):
    """Memory and threads of one process; all 0 if it has ended."""

    memory_mb: float  # that it uses, apart from files and from what `read_memory_mb` adds
    other_mb: float  # addresses that are not counted, such as shared memory and mapped files
    n_threads: int


def read_size(pid: int) -> ProcessSize:
    """Return the memory and the threads of a process."""
    status = _read_status(pid)
    other = status.get("VmSize", 0) - sum(status.get(name, 0) for name in _COUNTED_ADDRESSES)
    memory = sum(status.get(name, 0) for name in _MEMORY_FIELDS)
    return ProcessSize(memory / 1024, max(0, other) / 1024, status.get("Threads", 0))


def read_memory_mb(pid: int) -> float:
    """Return the memory that a process uses apart from files; 0 if it has ended.

    Shared memory counts in full as soon as it is mapped, because a process can hide pages of it from
    the kernel's count (`MADV_DONTNEED`) and still hold them.
    """
    maps = _read_memory_file(pid, "maps", "-")
    shared = sum(int(end, 16) - int(start, 16) for start, end in _SHARED_MAP.findall(maps))
    status = _read_status(pid)
    memory_kb = sum(status.get(name, 0) for name in _MEMORY_FIELDS)
    return max(memory_kb / 1024, (memory_kb - status.get("RssShmem", 0)) / 1024 + shared / 2**20)


def read_peak_kb(pid: int) -> int:
    """Return the largest memory that a process has used so far; 0 if it has ended."""
    return _read_status(pid).get("VmHWM", 0)


def _read_status(pid: int) -> dict[str, int]:
    """Return the numbers of `/proc/PID/status`, memory in kB; none if the process has ended."""
    lines = _read_memory_file(pid, "status", "VmSize").splitlines()
    fields = ((name, value.split()) for name, _, value in (line.partition(":") for line in lines))
    return {name: int(words[0]) for name, words in fields if words and words[0].isdecimal()}


def _read_memory_file(pid: int, name: str, needed: str) -> str:
    """Return a file of `/proc/PID` that tells of memory; "" if the process has ended.

    If the first thread of a process has ended, only the files of its other threads tell.

    Args:
        pid: The process.
        name: Name of the file.
        needed: Text that is in the file of a thread with memory.
    """
    try:
        text = Path(f"/proc/{pid}/{name}").read_text()
        others = () if needed in text else os.listdir(f"/proc/{pid}/task")
        for thread in others:
            if needed in (text := Path(f"/proc/{pid}/task/{thread}/{name}").read_text()):
                break
    except OSError:
        return ""
    return text
