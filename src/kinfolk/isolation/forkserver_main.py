"""The fork server process: forks workers, and kills them when the host has exited.

It starts as a new interpreter and imports what every policy needs, so that it can fork a worker in a
few milliseconds, where a new interpreter takes most of a second. It has one thread, so forking is
safe. It is also the watchdog: when the host dies, even by `kill -9`, it kills all workers and what they
started; if it is killed itself, the kernel kills the workers.

In a sandbox it is the first process of a namespace that ends with it. Nothing of a policy is imported
here, unless it is of this package and on the list of `worker_pool.py`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kinfolk.core import libc
from kinfolk.isolation.cgroups.hierarchy import enter_cgroups
from kinfolk.isolation.sandbox.landlock import landlock_abi_version
from kinfolk.isolation.sandbox.namespaces import (
    drop_capabilities,
    enter_agent_namespaces,
    enter_user_namespace,
    prepare_slot,
    take_identity,
)
from kinfolk.isolation.sandbox.seccomp import pack_filter
from kinfolk.isolation.worker_main import preload_policy, run_worker

_MAX_MESSAGE_BYTES = 65536
_MAX_READS = 16  # of a worker's output at a time
_POLL_MS = 1000
_MAX_PRELOAD_BYTES, _MAX_PRELOAD_SECONDS = 4 * 2**30, 300
_FDS_PER_WORKER = 5  # as `run_worker` takes them; those of its control group follow
_STANDARD_FDS = (0, 1, 2)
_MAX_FD = 2**20
_MAX_KILL_ROUNDS = 1000  # a process that forks itself anew is found in one of them


def main(config: dict[str, Any]) -> None:
    """Serve the host until it exits.

    Args:
        config: `control`, descriptor of the socket; `host`, descriptor that becomes readable when
            the host exits, or -1; `host_pid`, which must stay the parent's, or 0; `preload`, modules
            to import; `sandbox`, whether this is the first process of one; `as_root`, whether root
            has started it.
    """
    control = socket.socket(fileno=config["control"])
    libc.prctl(libc.CHILD_SUBREAPER, 1)
    libc.set_dumpable(False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if config["as_root"]:
        enter_user_namespace()
        control.sendall(b'{"unmapped": true}\n')
        control.recv(1)
        take_identity()
    if config["sandbox"]:
        prepare_slot()
        pack_filter(allow_processes=False)
        landlock_abi_version()
    import_libraries(config["preload"])
    ForkServer(control, config["host"], config["host_pid"]).serve()


def import_libraries(names: list[str]) -> None:
    """Import libraries that workers need; a worker imports them again, and reports why that fails."""
    for name in names:
        with contextlib.suppress(BaseException):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # so that collections in workers do not copy the pages they share


@dataclass
class _RunningWorker:
    """A worker as its fork server sees it: the end of its output, and what it has printed."""

    output_fd: int
    printed_bytes: int = 0

    def drain(self) -> bool:
        """Read, count and discard what the worker has printed; not for ever, if it prints as fast.

        Returns:
            False if it has closed its output.
        """
        with contextlib.suppress(BlockingIOError):
            for _ in range(_MAX_READS):
                data = os.read(self.output_fd, _MAX_MESSAGE_BYTES)
                if not data:
                    return False
                self.printed_bytes += len(data)
        return True


class ForkServer:
    """Forks workers, reaps them, and reports to the host how they ended.

    Args:
        control: Socket to the host, for requests and reports as lines of JSON.
        host_fd: Descriptor that becomes readable when the host exits; -1 if the system has none.
        host_pid: Process id of the host, while it is the parent; 0: not checked.
    """

    def __init__(self, control: socket.socket, host_fd: int, host_pid: int) -> None:
        self._host_fd, self._host_pid = host_fd, host_pid
        self._control, self._unread = control, b""
        self._workers: dict[int, _RunningWorker] = {}  # by process id
        self._received_fds: list[int] = []
        self._signal_fd, signal_write_fd = os.pipe()
        for fd in (self._signal_fd, signal_write_fd):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(signal_write_fd, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._poll = select.poll()
        for fd in (control.fileno(), self._signal_fd, host_fd):
            if fd >= 0:
                self._poll.register(fd, select.POLLIN)
        self._send({"ready": os.getpid()})

    def serve(self) -> None:
        """Handle requests and exits of workers until the host has exited, then kill them all."""
        while self._host_pid in (0, os.getppid()):
            ready = {fd for fd, _ in self._poll.poll(_POLL_MS)}
            if self._host_fd in ready:
                break
            if self._signal_fd in ready:
                os.read(self._signal_fd, _MAX_MESSAGE_BYTES)
                self._reap()
            for worker in self._workers.values():
                if worker.output_fd in ready and not worker.drain():
                    self._poll.unregister(worker.output_fd)  # else it would be ready for ever
            if self._control.fileno() in ready and not self._handle_requests():
                break
        for pid in self._workers:
            self._kill(pid)
        self._workers.clear()
        self._kill_orphans()
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
                with contextlib.suppress(BaseException), bound_preload(request["memory_mb"]):
                    preload_policy(payload_fd, request["preload"])
                os.close(payload_fd)
                gc.freeze()
                self._send({"preloaded": True})
            elif "import" in request:
                import_libraries(request["import"])
            elif "printed" in request:
                worker = self._workers.get(request["printed"])
                if worker is not None:
                    worker.drain()
                self._send({"printed": worker.printed_bytes if worker is not None else 0})
            elif "kill" in request:
                if request["kill"] in self._workers:
                    self._kill(request["kill"])
            else:
                self._fork(request)
        return True

    def _fork(self, config: dict[str, Any]) -> None:
        """Fork a worker with the descriptors received last, and report its pid or the error."""
        n_fds = _FDS_PER_WORKER + config["n_cgroup_fds"]
        fds = self._received_fds[:n_fds]
        del self._received_fds[:n_fds]
        output_fd, worker_output_fd = os.pipe()
        try:
            pid = os.fork()
        except OSError as error:
            self._send({"forked": 0, "error": error.strerror or str(error)})
            pid = -1
        if pid == 0:
            _run_in_child(fds, worker_output_fd, config)
        for fd in (*fds, worker_output_fd):
            os.close(fd)
        if pid > 0:
            os.set_blocking(output_fd, False)
            self._workers[pid] = _RunningWorker(output_fd)
            self._poll.register(output_fd, select.POLLIN)
            self._send({"forked": pid})
        else:
            os.close(output_fd)

    def _kill(self, pid: int) -> None:
        """Kill a worker and its process group."""
        _send_sigkill(os.killpg, pid)
        _send_sigkill(os.kill, pid)  # it may not have called setsid yet

    def _reap(self) -> None:
        """Collect exited workers, kill what they left behind and report how they ended."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._workers:
                worker = self._workers.pop(pid)
                _send_sigkill(os.killpg, pid)  # children in its process group
                self._kill_orphans()
                worker.drain()
                with contextlib.suppress(KeyError):  # it has closed its output before
                    self._poll.unregister(worker.output_fd)
                os.close(worker.output_fd)
                code, peak = os.waitstatus_to_exitcode(status), usage.ru_maxrss
                self._send(
                    {"exited": pid, "code": code, "printed": worker.printed_bytes, "peak_kb": peak}
                )

    def _kill_orphans(self) -> None:
        """Kill descendants of exited workers, which this subreaper adopts, until none is left."""
        for _ in range(_MAX_KILL_ROUNDS):
            orphans = [pid for pid in _list_children() if pid not in self._workers]
            if not orphans:
                return
            for pid in orphans:
                _send_sigkill(os.kill, pid)
            for pid in orphans:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)

    def _send(self, message: dict[str, Any]) -> None:
        """Send a report to the host, if it still runs."""
        with contextlib.suppress(OSError):
            self._control.sendall(json.dumps(message).encode() + b"\n")


@contextlib.contextmanager
def bound_preload(memory_mb: int | None) -> Iterator[None]:
    """Bound the memory and time of what is done in this context; a stranger's settings may want more.

    Args:
        memory_mb: Memory limit of a worker, which building its policy must not exceed either.
    """

    def give_up(*_: object) -> None:
        raise TimeoutError

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [_MAX_PRELOAD_BYTES, *(each for each in (soft, hard) if each >= 0)]  # -1: none
    if memory_mb is not None:
        limits.append(memory_mb * 2**20)
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(_MAX_PRELOAD_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _run_in_child(fds: list[int], output_fd: int, config: dict[str, Any]) -> None:
    """Run a worker in a forked process, in its own session, and exit.

    Args:
        fds: Descriptors for `run_worker`, then those of its control group.
        output_fd: Where the policy's output goes.
        config: Sizes and limits for `run_worker`.
    """
    code = 1
    try:
        enter_cgroups(fds[_FDS_PER_WORKER:])
        fds = fds[:_FDS_PER_WORKER]
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        _die_with_parent()
        for fd in (1, 2):
            os.dup2(output_fd, fd)
        _close_all_but(fds)
        if config["sandbox"]:
            own_processes = config["process_limit"] > 0
            enter_agent_namespaces(config["disk_limit"], own_processes)
            if own_processes:
                _fork_first_process()
        run_worker(fds, config)
        code = 0
    finally:
        os._exit(code)


def _fork_first_process() -> None:
    """Go on in the first process of a new namespace; this one waits for it and ends as it ends."""
    pid = os.fork()
    if pid == 0:
        _die_with_parent()
        drop_capabilities()
        return
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


def _die_with_parent() -> None:
    """Let the kernel kill this process when its parent ends; other processes cannot read its memory."""
    parent = os.getppid()
    libc.prctl(libc.PDEATHSIG, signal.SIGKILL)
    libc.set_dumpable(False)
    if os.getppid() != parent:
        os._exit(1)


def _close_all_but(fds: list[int]) -> None:
    """Close all descriptors but these and the standard ones."""
    last = -1
    for fd in sorted({*fds, *_STANDARD_FDS}):
        if fd > last + 1:  # an empty range beginning at 0 would close all
            os.closerange(last + 1, fd)
        last = fd
    os.closerange(last + 1, _MAX_FD)


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
        return []  # not Linux, or a sandbox, where namespaces end with their first process
