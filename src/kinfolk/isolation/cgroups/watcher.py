"""Removes the control groups of a host that was killed. Run as a script, so it imports nothing of ours.

It runs outside of every sandbox and ignores signals. When the host has ended, or closes the pipe, it
kills what is left in the host's groups, removes them and exits. Usually the host has removed them itself.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

_TIMEOUT = 60.0  # seconds for processes that are being killed
_PAUSE = 0.01


def main(arguments: list[str]) -> None:
    """Wait for the end of the host, then remove its groups.

    Args:
        arguments: Descriptor of a pipe that the host closes, descriptor that becomes readable when
            the host has ended (or -1), and the folders that hold its groups.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    ready = select.poll()
    for fd in map(int, arguments[:2]):
        if fd >= 0:
            ready.register(fd, select.POLLIN)
    ready.poll()
    remove_groups(arguments[2:], kill=True, timeout=_TIMEOUT)


def remove_groups(folders: list[str], kill: bool, timeout: float) -> bool:
    """Remove folders of groups with the groups in them, waiting until their processes have ended.

    Args:
        folders: Folders, which need not exist.
        kill: Whether processes in the groups are killed.
        timeout: Seconds to wait.

    Returns:
        Whether all of them are gone.
    """
    end = time.monotonic() + timeout
    left = folders
    while True:
        left = [folder for folder in left if not _remove_folder(folder, kill)]
        if not left or time.monotonic() >= end:
            return not left
        time.sleep(_PAUSE)


def _remove_folder(folder: str, kill: bool) -> bool:
    """Remove a folder and the groups in it; return whether it is gone."""
    try:
        groups = [entry.path for entry in os.scandir(folder) if entry.is_dir()]
    except OSError:
        return not os.path.isdir(folder)
    for group in [*groups, folder]:
        try:
            os.rmdir(group)
        except OSError:  # it has processes
            if kill:
                _kill_processes(group)
    return not os.path.isdir(folder)


def _kill_processes(group: str) -> None:
    """Kill all processes of a group."""
    try:
        with open(os.path.join(group, "cgroup.procs")) as file:
            pids = [int(line) for line in file]
    except OSError:
        return
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:  # it has just ended
            continue


if __name__ == "__main__":
    main(sys.argv[1:])
