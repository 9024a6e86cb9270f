"""Limits of time and memory, measured from outside of the processes that they hold for.

The kernel keeps the CPU clock and the memory of every process; nothing that a policy tells counts. Time
that a policy takes for its answers is known to the host only as often as it looks, which is every 20
milliseconds while it waits; so the moment of an answer that the worker claims is believed only between
the last look that did not find the answer and the first that did.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kinfolk.isolation.failures import IsolationSettings

_CREDENTIALS = struct.Struct("=iII")  # `struct ucred`: pid, uid, gid
_CPU_CLOCK = 2  # CPUCLOCK_SCHED of a whole process, in the low bits of a clock's id


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
        self._counts_processes = settings.sandbox and settings.process_limit > 0
        self.measures_size = settings.memory_limit is not None or self._counts_processes

    def read_cpu_seconds(self, pid: int) -> float:
        """Return the CPU time of a process and its children; 0 if it has ended or is not measured."""
        if not self.measures_cpu or not pid:
            return 0.0
        pids = list_process_tree(pid) if self._with_children else [pid]
        return sum(read_cpu_clock(member) for member in pids)

    def explain_size(self, pid: int) -> str:
        """Return a description of the limit of memory or processes that a process exceeds, or ""."""
        if not self.measures_size or not pid:
            return ""
        pids = list_process_tree(pid) if self._with_children else [pid]
        limit, n_children = self._settings.process_limit, len(pids) - 1
        if self._counts_processes and n_children > limit:
            return f"{n_children} processes of its own, with a limit of {limit}"
        used, memory_limit = sum(map(read_memory_mb, pids)), self._settings.memory_limit
        if memory_limit is not None and used > memory_limit:
            return f"{used:.0f} MB of memory, with a limit of {memory_limit} MB"
        return ""

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


def list_process_tree(pid: int) -> list[int]:
    """Return a process and all its descendants; only itself where the system does not tell."""
    return [pid, *(member for child in _list_children(pid) for member in list_process_tree(child))]


def _list_children(pid: int) -> Iterator[int]:
    """Yield the children of a process, of all its threads."""
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            yield from map(int, path.read_text().split())
        except OSError:
            continue


def read_memory_mb(pid: int) -> float:
    """Return the memory that a process uses apart from files; 0 if it has ended."""
    return sum(_read_status_kb(pid, ("RssAnon", "RssShmem", "VmSwap"))) / 1024


def read_peak_kb(pid: int) -> int:
    """Return the largest memory that a process has used so far; 0 if it has ended."""
    return sum(_read_status_kb(pid, ("VmHWM",)))


def _read_status_kb(pid: int, names: tuple[str, ...]) -> list[int]:
    """Return fields of `/proc/PID/status`, which are in kB; none if the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return []
    return [int(line.split()[1]) for line in lines if line.partition(":")[0] in names]
