"""What a match leaves behind: processes, shared memory, queues, folders, keys, control groups."""

import ctypes
import os
import signal
import time
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Make this process the parent of all orphans among its descendants, so that none is missed."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(pid: int) -> dict[int, str]:
    """Return all processes below a process, zombies too, with their states and names."""
    parents, names = {}, {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                text = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            fields = text.rpartition(")")[2].split()
            parents[int(entry)] = int(fields[1])
            names[int(entry)] = f"{fields[0]} {text[text.find('(') + 1 : text.rfind(')')]}"
    below, layer = {}, [pid]
    while layer:
        layer = [child for child, parent in parents.items() if parent in layer]
        below |= {child: names[child] for child in layer}
    return below


def system_state(own_folders: list[Path], mark: str, ipc_key: int) -> set[str]:
    """Return names of all that may be left, except processes.

    Other tests run on the machine at the same time, so that outside of `own_folders` only what bears
    the mark of the match counts.

    Args:
        own_folders: Folders of the match's own, of which every entry counts.
        mark: Part of the names that attackers give to what they leave.
        ipc_key: Key of the SysV objects that attackers leave.
    """
    state = set()
    for kind in ("shm", "msg", "sem"):
        for line in Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]:
            key, number = line.split()[:2]
            if int(key) == ipc_key:
                state.add(f"SysV {kind} {number}")
    for folder in own_folders:
        for depth in ("*", "*/*", "*/*/*"):  # no deeper: attackers leave folders without end
            paths = [path for path in folder.glob(depth) if "__pycache__" not in path.parts]
            state |= {f"file {path}" for path in paths}
    for name in ("/dev/shm", "/tmp", "/var/tmp", "/dev/mqueue", "/run", "/"):
        if os.path.isdir(name):
            state |= {f"file {name}/{entry}" for entry in os.listdir(name) if mark in entry}
    for root, names, _ in os.walk("/sys/fs/cgroup"):
        state |= {f"control group {root}/{n}" for n in names if mark in n or str(os.getpid()) in n}
    return state


def cgroups_of(hosts: set[int]) -> list[str]:
    """Return the control groups that hosts have made and left, by the ids of their processes."""
    return sorted(
        os.path.join(root, name)
        for root, names, _ in os.walk("/sys/fs/cgroup")
        for name in names
        if name.startswith("kinfolk-") and name.split("-")[2:3] in [[str(pid)] for pid in hosts]
    )


def wait_until_alone(spared: set[int], timeout: float = 5.0) -> dict[int, str]:
    """Wait until this process has no descendants but the spared ones; return those that stay.

    Adopted orphans that have exited are reaped here, as the first process of a machine would.
    """
    deadline = time.monotonic() + timeout
    while True:
        below = {p: name for p, name in descendants(os.getpid()).items() if p not in spared}
        for pid, name in list(below.items()):
            if name.startswith("Z"):
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    pass
                else:
                    del below[pid]
        if not below or time.monotonic() > deadline:
            return below
        time.sleep(0.05)


def end_processes(spared: set[int], timeout: float = 30.0) -> None:
    """Kill all descendants but the spared ones, again and again until none forks anew."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        below = [pid for pid in descendants(os.getpid()) if pid not in spared]
        if not below:
            return
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in below:
                try:
                    os.kill(pid, number)
                except OSError:
                    continue
        wait_until_alone(spared, 0.05)
