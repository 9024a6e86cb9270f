"""Looking at processes, for tests that nothing is left behind (Linux)."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path


def _read_stat(pid: int | str) -> list[str]:
    """The fields behind a process's name: state, parent, ...; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    return _read_stat(pid)[:1] not in ([], ["Z"], ["X"])


def children_of(pid: int) -> list[int]:
    """The processes that `pid` started and that still run."""
    numbers = [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [int(n) for n in numbers if _read_stat(n)[1:2] == [str(pid)] and is_alive(int(n))]


def wait_for_exit(timeout: float, pids: Iterable[int]) -> bool:
    """Whether all of `pids` end in time."""
    end, left = time.monotonic() + timeout, list(pids)
    while left and time.monotonic() < end:
        time.sleep(0.02)
        left = [pid for pid in left if is_alive(pid)]
    return not left
