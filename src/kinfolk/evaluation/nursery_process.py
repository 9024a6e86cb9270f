"""The process that starts policies' processes, and ends them when the host is gone.

It is started fresh, imports what every policy needs, and forks a guest in some milliseconds where a
new interpreter takes most of a second. It has one thread, so forking it is sound. It is also the
watchdog: when its host dies, even by `kill -9`, it ends every guest with its whole process group,
and removes whatever they left behind; the kernel ends the guests if it is killed itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from kinfolk.core.removal import remove_tree
from kinfolk.evaluation.guest_process import live, warm_up

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36
_NOT_DUMPABLE = 0
_ROOM = 65536
_LOOK_MS = 1000
_HANDLES = 5  # of a guest


def main() -> None:
    """Serve the host at the other end of the socket that is named, until it is gone."""
    handle = int(sys.argv[1])
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Nursery(socket.socket(fileno=handle), int(sys.argv[2])).serve()


class Nursery:
    """Forks guests, reaps them, and tells the host who ended and how."""

    def __init__(self, control: socket.socket, host: int) -> None:
        self._host = host
        self._control, self._guests, self._unread = control, set[int](), b""
        self._handles: list[int] = []
        self._folders: list[str] = []
        self._bell, ring = os.pipe()
        for end in (self._bell, ring):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._tell({"ready": os.getpid()})

    def serve(self) -> None:
        """Until the host is gone."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._bell, select.POLLIN)
        # A process forked from the host may hold the socket open: look at who our parent is, too.
        while os.getppid() == self._host:
            ready = dict(poll.poll(_LOOK_MS))
            if self._bell in ready:
                os.read(self._bell, _ROOM)
                self._reap()
            if self._control.fileno() in ready and not self._listen():
                break
        for guest in list(self._guests):
            self._kill(guest)
        self._sweep()
        for folder in self._folders:  # those that a host who was killed could not remove
            remove_tree(Path(folder))
        os._exit(0)

    def _listen(self) -> bool:
        """Do what the host asks; False when it is gone."""
        try:
            data, handles, _, _ = socket.recv_fds(self._control, _ROOM, 8)
        except OSError:
            return False
        if not data:
            return False
        self._handles += handles
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            asked = json.loads(line)
            if "warm" in asked:
                handle = self._handles.pop(0)
                with contextlib.suppress(Exception):  # the guest will meet it, and say it
                    warm_up(handle, asked["warm"])
                os.close(handle)
                self._tell({"warmed": True})
            elif "kill" in asked:
                if asked["kill"] in self._guests:
                    self._kill(asked["kill"])
            else:
                self._fork(asked)
        return True

    def _fork(self, asked: dict[str, Any]) -> None:
        handles, self._handles = self._handles[:_HANDLES], self._handles[_HANDLES:]
        try:
            pid = os.fork()
        except OSError as error:
            self._tell({"forked": 0, "why": error.strerror or str(error)})
            pid = -1
        if pid == 0:
            self._become_guest(handles, asked)
        for handle in handles:
            os.close(handle)
        if pid > 0:
            self._folders += [asked["scratch"]] if asked["scratch"] else []
            self._guests.add(pid)
            self._tell({"forked": pid})

    def _become_guest(self, handles: list[int], asked: dict[str, Any]) -> None:
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            os.setsid()
            parent = os.getppid()
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            _prctl(_PR_SET_DUMPABLE, _NOT_DUMPABLE)  # its memory cannot be read by others
            if os.getppid() != parent:
                os._exit(1)
            self._control.close()
            live(handles, asked)
            code = 0
        finally:
            os._exit(code)

    def _kill(self, guest: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(guest, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(guest, signal.SIGKILL)  # it may not have made its group yet

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._guests:
                self._guests.remove(pid)
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)  # children it left in its group
                self._sweep()
                self._tell({"exited": pid, "code": os.waitstatus_to_exitcode(status)})

    def _sweep(self) -> None:
        """End what guests left behind outside their groups: it is given to us when they end."""
        for pid in _children():
            if pid not in self._guests:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)

    def _tell(self, fact: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self._control.sendall(json.dumps(fact).encode() + b"\n")


def _children() -> list[int]:
    path = f"/proc/self/task/{os.getpid()}/children"
    try:
        with open(path) as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []  # not Linux: only groups are ended there


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
