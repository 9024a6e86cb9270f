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

from kinfolk.core.temporary_folder import remove_tree
from kinfolk.isolation.worker_main import preload_policy, run_worker

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36
_NOT_DUMPABLE = 0
_MAX_MESSAGE_BYTES = 65536
_POLL_MS = 1000
_FDS_PER_WORKER = 5  # of a guest


def main() -> None:
    """Serve the host at the other end of the socket that is named, until it is gone."""
    handle = int(sys.argv[1])
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ForkServer(socket.socket(fileno=handle), int(sys.argv[2])).serve()


class ForkServer:
    """Forks guests, reaps them, and tells the host who ended and how."""

    def __init__(self, control: socket.socket, host_pid: int) -> None:
        self._host_pid = host_pid
        self._control, self._worker_pids, self._unread = control, set[int](), b""
        self._received_fds: list[int] = []
        self._folders: list[str] = []
        self._signal_fd, ring = os.pipe()
        for end in (self._signal_fd, ring):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._send({"ready": os.getpid()})

    def serve(self) -> None:
        """Until the host is gone."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._signal_fd, select.POLLIN)
        # A process forked from the host may hold the socket open: look at who our parent is, too.
        while os.getppid() == self._host_pid:
            ready = dict(poll.poll(_POLL_MS))
            if self._signal_fd in ready:
                os.read(self._signal_fd, _MAX_MESSAGE_BYTES)
                self._reap()
            if self._control.fileno() in ready and not self._handle_requests():
                break
        for guest in list(self._worker_pids):
            self._kill(guest)
        self._kill_orphans()
        for folder in self._folders:  # those that a host who was killed could not remove
            remove_tree(Path(folder))
        os._exit(0)

    def _handle_requests(self) -> bool:
        """Do what the host asks; False when it is gone."""
        try:
            data, handles, _, _ = socket.recv_fds(self._control, _MAX_MESSAGE_BYTES, 8)
        except OSError:
            return False
        if not data:
            return False
        self._received_fds += handles
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            asked = json.loads(line)
            if "warm" in asked:
                handle = self._received_fds.pop(0)
                with contextlib.suppress(Exception):  # the guest will meet it, and say it
                    preload_policy(handle, asked["warm"])
                os.close(handle)
                self._send({"warmed": True})
            elif "kill" in asked:
                if asked["kill"] in self._worker_pids:
                    self._kill(asked["kill"])
            else:
                self._fork(asked)
        return True

    def _fork(self, config: dict[str, Any]) -> None:
        handles, self._received_fds = (
            self._received_fds[:_FDS_PER_WORKER],
            self._received_fds[_FDS_PER_WORKER:],
        )
        try:
            pid = os.fork()
        except OSError as error:
            self._send({"forked": 0, "why": error.strerror or str(error)})
            pid = -1
        if pid == 0:
            self._run_worker(handles, config)
        for handle in handles:
            os.close(handle)
        if pid > 0:
            self._folders += [config["scratch"]] if config["scratch"] else []
            self._worker_pids.add(pid)
            self._send({"forked": pid})

    def _run_worker(self, fds: list[int], config: dict[str, Any]) -> None:
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
            run_worker(fds, config)
            code = 0
        finally:
            os._exit(code)

    def _kill(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)  # it may not have made its group yet

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._worker_pids:
                self._worker_pids.remove(pid)
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)  # children it left in its group
                self._kill_orphans()
                self._send({"exited": pid, "code": os.waitstatus_to_exitcode(status)})

    def _kill_orphans(self) -> None:
        """End what guests left behind outside their groups: it is given to us when they end."""
        for pid in _list_children():
            if pid not in self._worker_pids:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)

    def _send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self._control.sendall(json.dumps(message).encode() + b"\n")


def _list_children() -> list[int]:
    path = f"/proc/self/task/{os.getpid()}/children"
    try:
        with open(path) as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []  # not Linux: only groups are ended there


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
