"""The host's client of the fork server, which starts worker processes, and what workers load."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import time
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from kinfolk.core.errors import EngineError
from kinfolk.core.spaces import WorldSpec
from kinfolk.isolation.shared_buffers import create_anonymous_memory, map_memory
from kinfolk.policies.resolve import ResolvedPolicy

_START_TIMEOUT = 60.0
_PRELOAD_TIMEOUT = 600.0  # kernels may have to be compiled
_EXIT_TIMEOUT = 3.0
_MAX_MESSAGE_BYTES = 65536
_MAIN_COMMAND = "from kinfolk.isolation.forkserver_main import main; main()"
# A fork loses the threads of libraries, and more threads than cores would be slower anyway.
_SINGLE_THREAD_ENV = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
# The environment variables that a sandboxed policy can read.
_SANDBOX_ENV_NAMES = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "HOME", "XDG_CACHE_HOME", "COLUMNS")


class ProcessLimitError(EngineError):
    """No further worker process can be started."""


class WorkerPayload:
    """A policy and a world's spec, serialized once into memory that all their workers map.

    Args:
        resolved: Class, settings and weights of the policy.
        spec: Spec of the world.
    """

    def __init__(self, resolved: ResolvedPolicy, spec: WorldSpec) -> None:
        header = {
            "class_path": resolved.class_path,
            "settings": dict(resolved.settings),
            "spec": spec.to_dict(),
            "sys_path": [path or os.getcwd() for path in sys.path],
        }
        arrays = {name: np.ascontiguousarray(array) for name, array in resolved.arrays.items()}
        data = json.dumps(header).encode()
        data = len(data).to_bytes(8, "little") + data + save(arrays)
        self.resolved, self.spec, self.size = resolved, spec, len(data)
        self.fd = create_anonymous_memory(self.size)
        with map_memory(self.fd, self.size) as memory:
            memory[:] = data

    def close(self) -> None:
        """Close the file descriptor of the memory; may be called twice."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def read_payload(fd: int, size: int) -> tuple[ResolvedPolicy, WorldSpec, list[str]]:
    """Return the policy, the world's spec and `sys.path` of a `WorkerPayload`.

    Args:
        fd: Descriptor of the payload's memory.
        size: Size of the payload in bytes.
    """
    with map_memory(fd, size) as memory:
        data = memory[:]
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    resolved = ResolvedPolicy(header["class_path"], header["settings"], load(data[8 + length :]))
    return resolved, WorldSpec.from_dict(header["spec"]), header["sys_path"]


class ForkServerClient:
    """Starts and kills workers through a fork server, which runs from the first call to `close`.

    Args:
        minimal_env: Whether workers see only a few harmless environment variables.
    """

    def __init__(self, minimal_env: bool = False) -> None:
        self._minimal_env = minimal_env
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._clear_state()

    def _clear_state(self) -> None:
        """Forget everything about the workers and messages of an earlier fork server."""
        self._unread = b""
        self._preloaded: set[str] = set()
        self._exits: dict[int, int] = {}  # exit codes by pid
        self._messages: list[dict[str, Any]] = []

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when a worker has exited; -1 if not running."""
        return self._control.fileno() if self._control is not None else -1

    def preload(self, payload: WorkerPayload) -> None:
        """Load a policy in the fork server once, so that its workers need not import and compile."""
        self._start()
        content_hash = payload.resolved.sha256
        if content_hash not in self._preloaded:
            self._preloaded.add(content_hash)
            self._send({"preload": payload.size}, [payload.fd])
            self._wait_for("preloaded", _PRELOAD_TIMEOUT)

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
        return self._exits.get(pid)

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
                process.kill()
                process.wait()
        self._clear_state()

    def _start(self) -> None:
        """Start the fork server unless it is running, and wait until it is ready."""
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        host_socket, server_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        env = {
            name: value
            for name, value in os.environ.items()
            if not self._minimal_env
            or name in _SANDBOX_ENV_NAMES
            or name.startswith(("KINFOLK_", "NUMBA_"))
        }
        python_path = os.pathsep.join(path for path in sys.path if path)
        arguments = [str(server_socket.fileno()), str(os.getpid())]
        devnull = subprocess.DEVNULL
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _MAIN_COMMAND, *arguments],
                stdin=devnull,
                stdout=devnull,
                stderr=devnull,
                env={**env, **_SINGLE_THREAD_ENV, "PYTHONPATH": python_path},
                pass_fds=[server_socket.fileno()],
                start_new_session=True,
            )
        except OSError as error:
            host_socket.close()
            reason = f"No fork server could be started: {error.strerror}."
            raise ProcessLimitError(reason) from error
        finally:
            server_socket.close()
        self._control = host_socket
        self._wait_for("ready")

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
                self._exits[message["exited"]] = message["code"]
            else:
                self._messages.append(message)
        return bool(data)
