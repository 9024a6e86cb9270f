"""The fork server process: forks workers, and kills them when the host has exited.

It starts as a new interpreter and imports what every policy needs, so that it can fork a worker in a
few milliseconds, where a new interpreter takes most of a second. It has one thread, so forking is
safe. It is also the watchdog: when the host dies, even by `kill -9`, it kills the process groups of
all workers and removes their temporary folders; if it is killed itself, the kernel kills the workers.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kinfolk.core.temporary_folder import remove_tree
from kinfolk.isolation.worker_main import preload_policy, run_worker

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36
_NOT_DUMPABLE = 0
_MAX_MESSAGE_BYTES = 65536
_POLL_MS = 1000
_FDS_PER_WORKER = 5  # as `run_worker` takes them


def main() -> None:
    """Serve the host until it exits; arguments are the socket's descriptor and the host's pid."""
    control_fd = int(sys.argv[1])
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ForkServer(socket.socket(fileno=control_fd), int(sys.argv[2])).serve()


class ForkServer:
    """Forks workers, reaps them, and reports their exit codes to the host.

    Args:
        control: Socket to the host, for requests and reports as lines of JSON.
        host_pid: Process id of the host.
    """

    def __init__(self, control: socket.socket, host_pid: int) -> None:
        self._host_pid = host_pid
        self._control, self._worker_pids, self._unread = control, set[int](), b""
        self._received_fds: list[int] = []
        self._folders: list[str] = []
        self._signal_fd, signal_write_fd = os.pipe()
        for fd in (self._signal_fd, signal_write_fd):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(signal_write_fd, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._send({"ready": os.getpid()})

    def serve(self) -> None:
        """Handle requests and exits of workers until the host has exited, then kill them all."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._signal_fd, select.POLLIN)
        # A process forked by the host may hold the socket open, so check the parent's pid too.
        while os.getppid() == self._host_pid:
            ready = dict(poll.poll(_POLL_MS))
            if self._signal_fd in ready:
                os.read(self._signal_fd, _MAX_MESSAGE_BYTES)
                self._reap()
            if self._control.fileno() in ready and not self._handle_requests():
                break
        for pid in list(self._worker_pids):
            self._kill(pid)
        self._kill_orphans()
        for folder in self._folders:  # if the host was killed before it could remove them
            remove_tree(Path(folder))
        os._exit(0)

    def _handle_requests(self) -> bool:
        """Read and execute requests of the host; return False if the host has closed the socket."""
        try:
            data, fds, _, _ = socket.recv_fds(self._control, _MAX_MESSAGE_BYTES, 8)
        except OSError:
            return False
        if not data:
            return False
        self._received_fds += fds
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            request = json.loads(line)
            if "preload" in request:
                payload_fd = self._received_fds.pop(0)
                # If it fails, the worker will fail in the same way and report it.
                with contextlib.suppress(Exception):
                    preload_policy(payload_fd, request["preload"])
                os.close(payload_fd)
                self._send({"preloaded": True})
            elif "kill" not in request:
                self._fork(request)
            elif request["kill"] in self._worker_pids:
                self._kill(request["kill"])
        return True

    def _fork(self, config: dict[str, Any]) -> None:
        """Fork a worker with the descriptors received last, and report its pid or the error."""
        fds = self._received_fds[:_FDS_PER_WORKER]
        del self._received_fds[:_FDS_PER_WORKER]
        try:
            pid = os.fork()
        except OSError as error:
            self._send({"forked": 0, "error": error.strerror or str(error)})
            pid = -1
        if pid == 0:
            self._run_worker(fds, config)
        for fd in fds:
            os.close(fd)
        if pid > 0:
            self._folders += [config["scratch"]] if config["scratch"] else []
            self._worker_pids.add(pid)
            self._send({"forked": pid})

    def _run_worker(self, fds: list[int], config: dict[str, Any]) -> None:
        """Run a worker in the forked child, in its own session, and exit."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            os.setsid()
            parent = os.getppid()
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            _prctl(_PR_SET_DUMPABLE, _NOT_DUMPABLE)  # other processes cannot read its memory
            if os.getppid() != parent:
                os._exit(1)
            self._control.close()
            run_worker(fds, config)
            code = 0
        finally:
            os._exit(code)

    def _kill(self, pid: int) -> None:
        """Kill a worker and its process group."""
        _send_sigkill(os.killpg, pid)
        _send_sigkill(os.kill, pid)  # it may not have called setsid yet

    def _reap(self) -> None:
        """Collect exited workers, kill what they left behind and report their exit codes."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._worker_pids:
                self._worker_pids.remove(pid)
                _send_sigkill(os.killpg, pid)  # children in its process group
                self._kill_orphans()
                self._send({"exited": pid, "code": os.waitstatus_to_exitcode(status)})

    def _kill_orphans(self) -> None:
        """Kill descendants of exited workers in other process groups, which this subreaper adopts."""
        for pid in _list_children():
            if pid not in self._worker_pids:
                _send_sigkill(os.kill, pid)

    def _send(self, message: dict[str, Any]) -> None:
        """Send a report to the host, if it still runs."""
        with contextlib.suppress(OSError):
            self._control.sendall(json.dumps(message).encode() + b"\n")


def _send_sigkill(kill: Callable[[int, int], None], pid: int) -> None:
    """Call `os.kill` or `os.killpg` with SIGKILL; processes that have exited are ignored."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        kill(pid, signal.SIGKILL)


def _list_children() -> list[int]:
    """Return the pids of this process's children."""
    path = f"/proc/self/task/{os.getpid()}/children"
    try:
        with open(path) as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []  # not Linux, where only process groups are killed


def _prctl(option: int, value: int) -> None:
    """Set an attribute of this process by the Linux system call `prctl`; nothing elsewhere."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
