"""The host's client of a fork server, which starts worker processes, in a sandbox or without one."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from kinfolk.core.errors import EngineError
from kinfolk.core.kernel_cache import cache_root
from kinfolk.isolation.limits import list_children
from kinfolk.isolation.payload import WorkerPayload, get_import_paths
from kinfolk.isolation.sandbox import bubblewrap
from kinfolk.isolation.sandbox.namespaces import write_identity_maps
from kinfolk.isolation.sandbox.policy_files import PolicyFiles
from kinfolk.isolation.sandbox.support import require_sandbox

_START_TIMEOUT = 60.0
_PRELOAD_TIMEOUT = 600.0  # kernels may have to be compiled
_EXIT_TIMEOUT = 3.0
_MAX_MESSAGE_BYTES = 65536
_MAIN_COMMAND = (
    "import json, sys; config = json.loads(sys.argv[1]); sys.path[:] = config['paths']; "
    "from kinfolk.isolation.forkserver_main import main; main(config)"
)
# A fork loses the threads of libraries, and more threads than cores would be slower anyway.
_SINGLE_THREAD_ENV = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
_FIRST_USER_ID, _LAST_USER_ID = 10**9, 2 * 10**9  # of sandboxes that root starts; nobody has them


class ProcessLimitError(EngineError):
    """No further worker process can be started."""


class WorkerExit(NamedTuple):
    """How a worker process ended, as its fork server saw it."""

    code: int  # negative: the signal that killed it
    printed_bytes: int
    peak_kb: int


class ForkServerClient:
    """Starts and kills workers through a fork server, which runs from the first call to `close`.

    Args:
        sandbox: Files of the policy whose sandbox this fork server runs in; None: no sandbox.
    """

    def __init__(self, sandbox: PolicyFiles | None = None) -> None:
        self._sandbox = sandbox
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._clear_state()

    def _clear_state(self) -> None:
        """Forget everything about the workers and messages of an earlier fork server."""
        self._unread = b""
        self._preloaded: set[str] = set()
        self._imported: set[str] = set()
        self._exits: dict[int, WorkerExit] = {}  # by pid
        self._messages: list[dict[str, Any]] = []

    @property
    def import_paths(self) -> list[str]:
        """Folders from which workers import the policy, before those of the fork server."""
        return [] if self._sandbox is None else list(self._sandbox.import_paths)

    @property
    def pid(self) -> int | None:
        """Id of the process that this one has started: the fork server or its bubblewrap."""
        return self._process.pid if self._process is not None else None

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when a worker has exited; -1 if not running."""
        return self._control.fileno() if self._control is not None else -1

    def preload(self, payload: WorkerPayload, memory_mb: int | None) -> None:
        """Load a policy in the fork server once, so that its workers need not import and compile.

        Args:
            payload: The policy and the world's spec.
            memory_mb: Memory that may be used for it; None: no limit of the settings.
        """
        self._start()
        content_hash = payload.resolved.sha256
        if content_hash not in self._preloaded:
            self._preloaded.add(content_hash)
            self._send({"preload": payload.size, "memory_mb": memory_mb}, [payload.fd])
            self._wait_for("preloaded", _PRELOAD_TIMEOUT)

    def import_libraries(self, names: Iterable[str]) -> None:
        """Import libraries in the fork server once, so that its workers need not."""
        missing = sorted({*names} - self._imported)
        if missing:
            self._start()
            self._imported.update(missing)
            self._send({"import": missing})

    def fork(self, config: dict[str, Any], fds: list[int]) -> int:
        """Fork a worker and return its process id.

        Args:
            config: Sizes and limits for `run_worker`.
            fds: Descriptors that the worker inherits, in the order of `run_worker`.

        Raises:
            ProcessLimitError: The system cannot start a process.
        """
        self._start()
        self._send(config, fds)
        message = self._wait_for("forked")
        if message["forked"] == 0:
            raise ProcessLimitError(f"No worker process could be started: {message['error']}.")
        return int(message["forked"])

    def exit_code(self, pid: int, timeout: float = 0.0) -> int | None:
        """Return the exit code of a worker, waiting up to `timeout` seconds; None if it runs."""
        end = time.monotonic() + timeout
        while pid not in self._exits and self._read(max(0.0, end - time.monotonic())):
            pass
        return self._exits[pid].code if pid in self._exits else None

    def get_exit(self, pid: int) -> WorkerExit | None:
        """Return how a worker has ended; None if it runs, as far as is known."""
        return self._exits.get(pid)

    def count_printed_bytes(self, pid: int) -> int:
        """Return how many bytes a worker has printed so far, as the fork server counts them."""
        if pid not in self._exits and self._control is not None:
            with suppress(OSError, ProcessLimitError):  # the fork server has exited
                self._send({"printed": pid})
                printed = int(self._wait_for("printed")["printed"])
                if pid not in self._exits:
                    return printed
        return self._exits[pid].printed_bytes if pid in self._exits else 0

    def kill(self, pid: int) -> None:
        """Kill a worker with all processes it started, and wait until it has exited."""
        if pid not in self._exits and self._control is not None:
            try:
                self._send({"kill": pid})
            except OSError:
                return  # the fork server has exited, and its workers with it
            self.exit_code(pid, _EXIT_TIMEOUT)

    def close(self) -> None:
        """End the fork server and all workers; may be called twice."""
        control, self._control = self._control, None
        process, self._process = self._process, None
        if control is not None:
            control.close()
        if process is not None:
            try:
                process.wait(_EXIT_TIMEOUT)
            except subprocess.TimeoutExpired:
                _kill_with_children(process.pid)
                process.wait()
        self._clear_state()

    def _start(self) -> None:
        """Start the fork server unless it is running, and wait until it is ready."""
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        if self._sandbox is not None:
            require_sandbox()
        host_socket, server_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        info_fd, info_write_fd = os.pipe()
        host_fd = _open_process(os.getpid())
        fds = [fd for fd in (server_socket.fileno(), info_write_fd, host_fd) if fd >= 0]
        try:
            # With a reader of its own, bubblewrap outlives a host that is killed before it has
            # written. It would end by SIGPIPE, and leave a child that waits for it for ever.
            passed = [*fds, info_fd]
            self._process = self._spawn(server_socket.fileno(), host_fd, info_write_fd, passed)
        except OSError as error:
            host_socket.close()
            os.close(info_fd)
            reason = f"No fork server could be started: {error.strerror}."
            raise ProcessLimitError(reason) from error
        finally:
            server_socket.close()
            for fd in fds[1:]:
                os.close(fd)
        self._control = host_socket
        try:
            if self._needs_identity:
                self._wait_for("unmapped")
                pid = json.loads(os.read(info_fd, _MAX_MESSAGE_BYTES))["child-pid"]
                write_identity_maps(pid, random.randint(_FIRST_USER_ID, _LAST_USER_ID))
                host_socket.sendall(b".")
            self._wait_for("ready")
        finally:
            os.close(info_fd)

    @property
    def _needs_identity(self) -> bool:
        """Whether root starts a sandbox, which therefore runs as another user."""
        return self._sandbox is not None and os.getuid() == 0

    def _spawn(
        self, control_fd: int, host_fd: int, info_fd: int, fds: list[int]
    ) -> subprocess.Popen[bytes]:
        """Start the process of the fork server.

        Args:
            control_fd: Its end of the socket.
            host_fd: Descriptor that becomes readable when this process ends, or -1.
            info_fd: Where bubblewrap writes the id of the first process in the sandbox.
            fds: Descriptors to pass on.

        Raises:
            OSError: The system cannot start a process.
        """
        sandbox, env = self._sandbox, dict(os.environ)
        config = {
            "control": control_fd,
            "host": host_fd,
            "host_pid": os.getpid() if host_fd < 0 and sandbox is None else 0,
            "paths": get_import_paths() if sandbox is None else bubblewrap.trusted_import_paths(),
            "preload": [] if sandbox is None else sandbox.preload,
            "sandbox": sandbox is not None,
            "as_root": self._needs_identity,
        }
        arguments = ["-c", _MAIN_COMMAND, json.dumps(config)]
        if sandbox is None:
            # Without bytecode (-B): the digest of a policy covers all files of its package.
            command = [sys.executable, "-B", *arguments]
            env |= {**_SINGLE_THREAD_ENV, "PYTHONPATH": os.pathsep.join(get_import_paths())}
        else:
            command = bubblewrap.build_command(arguments, sandbox.paths, cache_root(), info_fd)
        devnull = subprocess.DEVNULL
        return subprocess.Popen(
            command,
            stdin=devnull,
            stdout=devnull,
            stderr=devnull,
            env=env,
            pass_fds=fds,
            start_new_session=True,
        )

    def _send(self, message: dict[str, Any], fds: list[int] | None = None) -> None:
        """Send a message with file descriptors to the running fork server."""
        assert self._control is not None  # after _start
        socket.send_fds(self._control, [json.dumps(message).encode() + b"\n"], fds or [])

    def _wait_for(self, key: str, timeout: float = _START_TIMEOUT) -> dict[str, Any]:
        """Return the next message that has `key`, waiting at most `timeout` seconds.

        Raises:
            ProcessLimitError: No such message came in time.
        """
        end = time.monotonic() + timeout
        while True:
            for message in self._messages:
                if key in message:
                    self._messages.remove(message)
                    return message
            if not self._read(max(0.0, end - time.monotonic())):
                self.close()
                reason = f"The fork server exited or did not answer within {timeout:g} s."
                raise ProcessLimitError(reason)

    def _read(self, timeout: float) -> bool:
        """Read messages, waiting at most `timeout` seconds for the first.

        Returns:
            False if there were no messages, or the fork server has exited.
        """
        if self._control is None:
            return False
        ready = select.poll()  # `select.select` fails for descriptors above 1023
        ready.register(self._control, select.POLLIN)
        if not ready.poll(1000.0 * timeout):
            return False
        data = self._control.recv(_MAX_MESSAGE_BYTES)
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "exited" in message:
                exit_ = WorkerExit(message["code"], message["printed"], message["peak_kb"])
                self._exits[message["exited"]] = exit_
            else:
                self._messages.append(message)
        return bool(data)


def _open_process(pid: int) -> int:
    """Return a descriptor that becomes readable when a process ends; -1 if the system has none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # before Linux 5.3
        return -1


def _kill_with_children(pid: int) -> None:
    """Kill a process and the children that it has, such as a sandbox that waits to be set up."""
    os.kill(pid, signal.SIGSTOP)  # so that it has no further ones
    for child in list_children(pid):
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(child, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
