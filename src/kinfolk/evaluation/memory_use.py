"""How much memory a process holds for itself (Linux)."""

from __future__ import annotations


def own_megabytes(pid: int) -> float:
    """What would be free if it ended; 0 where the system does not tell.

    Pages that it shares with the process it was forked from are not counted.
    """
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            lines = file.read().splitlines()
    except OSError:
        return 0.0
    private = [line.split()[1] for line in lines if line.startswith("Private_")]
    return sum(map(int, private)) / 1024
