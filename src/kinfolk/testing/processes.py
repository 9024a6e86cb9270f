"""Reading process tables on Linux, for tests that no process is left behind."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path


def _read_stat(pid: int | str) -> list[str]:
    """Return the fields of /proc/PID/stat behind the name: state, parent, ...; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def is_alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    return _read_stat(pid)[:1] not in ([], ["Z"], ["X"])


def children_of(pid: int) -> list[int]:
    """Return the running child processes of a process."""
    pids = [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [int(n) for n in pids if _read_stat(n)[1:2] == [str(pid)] and is_alive(int(n))]


def wait_for_exit(timeout: float, pids: Iterable[int]) -> bool:
    """Wait at most `timeout` seconds; return whether all processes have ended."""
    deadline, running = time.monotonic() + timeout, list(pids)
    while running and time.monotonic() < deadline:
        time.sleep(0.02)
        running = [pid for pid in running if is_alive(pid)]
    return not running
