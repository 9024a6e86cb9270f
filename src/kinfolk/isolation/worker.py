"""The host's handle of a worker process, which runs one policy."""

from __future__ import annotations

import json
import os
import random
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from safetensors.numpy import save

from kinfolk.core.arrays import AnyArray, Arrays
from kinfolk.core.spaces import WorldSpec
from kinfolk.core.temporary_folder import TemporaryFolder
from kinfolk.core.tracebacks import NO_ERROR, ErrorSummary
from kinfolk.isolation.failures import INVALID_ACTION_REASONS, UNKNOWN_REASON
from kinfolk.isolation.forkserver import ForkServerClient
from kinfolk.isolation.settings import IsolationSettings
from kinfolk.isolation.shared_buffers import (
    CMD_EXIT,
    COMMAND,
    HOST_WAITING,
    MEMORY_BYTES,
    N_ROWS,
    PEAK_KB,
    PRINTED_CHARS,
    REPLY_ID,
    REQUEST_ID,
    ROW_BYTES,
    ROWS_VERSION,
    STATUS,
    STATUS_INVALID_ACTION,
    STATUS_RAISED,
    BufferLayout,
    SharedBuffer,
    create_anonymous_memory,
    map_memory,
    memory_fence,
    next_rows_version,
)
from kinfolk.policies.resolve import ResolvedPolicy

BytesLike: TypeAlias = bytes | memoryview
EXIT_TIMEOUT = 1.0  # seconds for a worker to exit by itself
_MAX_PARENT_MEMORY = 256 * 2**20  # bytes
_PIPE_BYTES = 65536  # capacity of a pipe; one byte per wake-up


@dataclass(frozen=True)
class WorkerError:
    """Why a worker can no longer be used."""

    cause: str  # raised, timeout or exited
    detail: str  # the exception, seconds of the timeout, or exit code
    error: ErrorSummary = NO_ERROR  # of the exception, if one was raised

    def describe(self, method: str) -> str:
        """Return a description that names the policy's method that was called."""
        if self.cause == "raised":
            return f"{method} raised {self.detail}"
        if self.cause == "timeout":
            return f"{method} timed out after {self.detail} s"
        return f"its process exited in {method} with code {self.detail}"


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
        data = json.dumps(header).encode()
        data = len(data).to_bytes(8, "little") + data + _serialize_arrays(resolved.arrays)
        self.resolved, self.spec, self.size = resolved, spec, len(data)
        self.fd = create_anonymous_memory(self.size)
        with map_memory(self.fd, self.size) as memory:
            memory[:] = data

    def close(self) -> None:
        """Close the file descriptor of the memory; may be called twice."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Worker:
    """A worker process with one policy: `send` a command, then `poll` for its reply.

    Args:
        forkserver: Starts the process.
        payload: The policy and the world's spec.
        capacity: Largest number of agents in a request.
        settings: Memory and CPU limits, sandbox.
        inherits_memory: Whether the process plays a single agent, whose memory is copied to the
            workers of its children.

    Raises:
        ProcessLimitError: The system cannot start the process.
    """

    def __init__(
        self,
        forkserver: ForkServerClient,
        payload: WorkerPayload,
        capacity: int,
        settings: IsolationSettings,
        inherits_memory: bool = False,
    ) -> None:
        layout = BufferLayout(capacity, payload.spec.row_bytes, payload.spec.n_heads)
        self._forkserver, self.payload = forkserver, payload
        self.capacity, self.inherits_memory = capacity, inherits_memory
        self._temporary_folder = TemporaryFolder("worker-") if settings.sandbox else None
        self._socket, worker_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        # Pipes wake a process in two thirds of the time that a socket takes.
        worker_wake_fd, self.wake_fd = os.pipe()
        self._reply_fd, worker_reply_fd = os.pipe()
        for fd in (self.wake_fd, self._reply_fd):
            os.set_blocking(fd, False)  # the host never blocks, whatever the worker does
        self.buffer_fd = create_anonymous_memory(sum(layout.part_sizes))
        self.buffer = SharedBuffer(layout, self.buffer_fd)
        self.request_id = self.buffer.header[REQUEST_ID] = draw_request_id()
        self._n_stale = self._printed_offset = self._n_expected_wakeups = 0
        self._host_waited = False  # whether the host has slept during the current request
        self.has_acted = False
        self.parent_memory: AnyArray | None = None
        self.closed = False
        self.pending = True  # no reply yet; the first reply says that the policy is loaded
        config = {
            "capacity": capacity,
            "row_bytes": layout.row_bytes,
            "heads": layout.n_heads,
            "payload_bytes": payload.size,
            "memory_limit": settings.memory_limit,
            "cpu_limit": settings.cpu_limit,
            "scratch": str(self._temporary_folder.folder) if self._temporary_folder else "",
            "inherits_memory": inherits_memory,
        }
        self.sent_ns = time.perf_counter_ns()
        try:
            fds = [
                worker_socket.fileno(),
                worker_wake_fd,
                worker_reply_fd,
                self.buffer_fd,
                payload.fd,
            ]
            self.pid = forkserver.fork(config, fds)
        except BaseException:
            self._release()
            raise
        finally:
            worker_socket.close()
            for fd in (worker_wake_fd, worker_reply_fd):
                os.close(fd)

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when the worker has replied."""
        return self._reply_fd

    @property
    def printed_chars(self) -> int:
        """Number of characters that the policy printed since the last `reset_stats`."""
        return int(self.buffer.header[PRINTED_CHARS]) - self._printed_offset

    def reset_stats(self) -> None:
        """Set the counts of stale replies and printed characters to zero, for the next slot."""
        self.drain_wakeups(replied=True)
        self._n_stale, self._printed_offset = 0, int(self.buffer.header[PRINTED_CHARS])

    def send(
        self, command: int, row_bytes: BytesLike = b"", observation_bytes: BytesLike = b""
    ) -> None:
        """Send a command without waiting; `poll` reports it if the worker has exited.

        Args:
            command: One of the `CMD_` constants of `shared_buffers`.
            row_bytes: Agents of the request, the bytes of `pack_rows`; empty: as before.
            observation_bytes: Their observations; empty for commands other than `CMD_ACT`.
        """
        header = self.buffer.header
        if row_bytes:
            header[N_ROWS], header[ROWS_VERSION] = len(row_bytes) // ROW_BYTES, next_rows_version()
            self.buffer.row_bytes[: len(row_bytes)] = row_bytes
            self.buffer.observation_bytes[: len(observation_bytes)] = observation_bytes
        self.set_pending(draw_request_id(), time.perf_counter_ns())
        header[COMMAND] = command
        memory_fence()
        header[REQUEST_ID] = self.request_id
        self.wake()

    def set_pending(self, request_id: int, sent_ns: int) -> None:
        """Expect a reply to the request `request_id`, sent at `sent_ns`."""
        self.request_id, self.sent_ns = request_id, sent_ns
        self.pending, self._host_waited = True, False

    def wake(self) -> None:
        """Wake the worker, so that it reads its header."""
        wake_workers((self.wake_fd,))

    def set_host_waiting(self, waiting: bool) -> None:
        """Tell the worker whether to wake the host when it replies."""
        self.buffer.header[HOST_WAITING] = waiting
        if waiting and not self._host_waited:
            # The wake-up may arrive long after the reply was seen in the header.
            self._host_waited, self._n_expected_wakeups = True, min(2, self._n_expected_wakeups + 1)

    def has_replied(self) -> bool:
        """Whether the last reply is to the current request."""
        return self.buffer.header[REPLY_ID] == self.request_id

    def drain_wakeups(self, replied: bool) -> bool:
        """Read pending wake-ups, counting unexpected ones as stale; False if the pipe is closed."""
        try:
            data = os.read(self._reply_fd, _PIPE_BYTES)
        except BlockingIOError:
            return True
        due = self._n_expected_wakeups - (self._host_waited and not replied)
        n_expected = min(due, len(data))
        self._n_expected_wakeups -= n_expected
        self._n_stale += len(data) - n_expected
        return bool(data)

    def poll(self) -> WorkerError | str | None:
        """Return the reply to the current request without waiting.

        Returns:
            None if there is no reply yet, "" for success, the reason of invalid actions, or an
            error if the policy raised or the process has exited.
        """
        header = self.buffer.header
        if not (self.pending and self.has_replied()):
            return None if self.drain_wakeups(replied=False) else self.describe_exit()
        memory_fence()
        if self._host_waited:
            self.drain_wakeups(replied=True)
        self.pending = False
        status = header[STATUS]
        if status == STATUS_RAISED:
            summary = ErrorSummary(*(*self.buffer.read_message().split("\n", 2), "", "")[:3])
            return WorkerError("raised", summary.message, summary)
        if status != STATUS_INVALID_ACTION:
            return ""
        reason = self.buffer.read_message()
        return reason if reason in INVALID_ACTION_REASONS else UNKNOWN_REASON

    @property
    def stale_replies(self) -> int:
        """Number of wake-ups without a reply to the current request since the last `reset_stats`."""
        if not self.closed:
            self.drain_wakeups(replied=not self.pending)
        return self._n_stale

    def describe_exit(self) -> WorkerError:
        """Return an error with the exit code of the process, which has exited or is about to."""
        code = self._forkserver.exit_code(self.pid, EXIT_TIMEOUT)
        return WorkerError("exited", str(code))

    def has_exited(self) -> bool:
        """Whether the fork server has reported that the process exited."""
        return self._forkserver.exit_code(self.pid) is not None

    def share_parent_memory(self) -> None:
        """Share memory through which agents inherit; called once the policy is loaded.

        Its three rows hold the exported memory of this agent, and that of its two parents.
        """
        size = int(self.buffer.header[MEMORY_BYTES])
        if not self.inherits_memory or size <= 0:
            return
        size = min(size, _MAX_PARENT_MEMORY)
        fd = create_anonymous_memory(3 * size)
        self.parent_memory = np.frombuffer(map_memory(fd, 3 * size), np.uint8).reshape(3, size)
        socket.send_fds(self._socket, [b"."], [fd])
        os.close(fd)

    @property
    def peak_megabytes(self) -> float:
        """Peak memory of the process in MB, as reported by the process itself."""
        return int(self.buffer.header[PEAK_KB]) / 1024

    def close(self, graceful: bool = False) -> None:
        """End the process; `graceful` lets the policy close first. May be called twice."""
        if self.closed:
            return
        if graceful:
            self.send(CMD_EXIT)
            self._forkserver.exit_code(self.pid, EXIT_TIMEOUT)
        self._forkserver.kill(self.pid)
        self._release()

    def _release(self) -> None:
        self.closed = True
        self.parent_memory = None
        self._socket.close()
        os.close(self.wake_fd)
        os.close(self._reply_fd)
        os.close(self.buffer_fd)
        self.buffer.close()
        if self._temporary_folder is not None:
            self._temporary_folder.remove()


def wake_workers(wake_fds: Sequence[int]) -> None:
    """Write a wake-up byte to the pipes of workers."""
    write = os.write
    for fd in wake_fds:
        try:  # noqa: SIM105, once per agent and step: `suppress` takes as long as the write
            write(fd, b".")
        except OSError:  # the worker has exited, or its pipe is full of wake-ups
            pass


def draw_request_id() -> int:
    """Return a random request id, so that a policy cannot reply before it is asked."""
    return random.getrandbits(62)


def _serialize_arrays(arrays: Arrays) -> bytes:
    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
