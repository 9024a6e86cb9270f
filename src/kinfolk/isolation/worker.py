"""One policy's process, as its host sees it."""

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
from kinfolk.isolation.failures import INVALID_ACTION_REASONS
from kinfolk.isolation.failures import UNKNOWN_REASON as UNNAMED_FAULT
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
EXIT_TIMEOUT = 1.0
_MAX_PARENT_MEMORY = 256 * 2**20
_PIPE_BYTES = 65536  # bytes of wake-ups, as many as a pipe holds; one is usual


@dataclass(frozen=True)
class WorkerError:
    """Why a guest is of no more use: `cause` is raised, timeout or exited."""

    cause: str
    detail: str
    error: ErrorSummary = NO_ERROR

    def describe(self, method: str) -> str:
        """What happened, as the end of a sentence."""
        if self.cause == "raised":
            return f"{method} raised {self.detail}"
        if self.cause == "timeout":
            return f"no answer to {method} in {self.detail} s"
        return f"its process died in {method} with exit code {self.detail}"


class WorkerPayload:
    """A policy and a world's spec, laid down once for all guests that play them."""

    def __init__(self, resolved: ResolvedPolicy, spec: WorldSpec) -> None:
        about = {
            "class_path": resolved.class_path,
            "settings": dict(resolved.settings),
            "spec": spec.to_dict(),
            "sys_path": [path or os.getcwd() for path in sys.path],
        }
        data = json.dumps(about).encode()
        data = len(data).to_bytes(8, "little") + data + _serialize_arrays(resolved.arrays)
        self.resolved, self.spec, self.size = resolved, spec, len(data)
        self.fd = create_anonymous_memory(self.size)
        with map_memory(self.fd, self.size) as memory:
            memory[:] = data

    def close(self) -> None:
        """Let go of it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Worker:
    """A process with one policy. Ask it with `post`, and `gather` what it says.

    `heirs` is for a process of a single agent, which can pass on what it remembers to its
    children's processes.
    """

    def __init__(
        self,
        forkserver: ForkServerClient,
        payload: WorkerPayload,
        capacity: int,
        settings: IsolationSettings,
        inherits_memory: bool = False,
    ) -> None:
        shape = BufferLayout(capacity, payload.spec.row_bytes, payload.spec.n_heads)
        size = sum(shape.part_sizes)
        self._forkserver, self.payload, self.capacity, self.inherits_memory = (
            forkserver,
            payload,
            capacity,
            inherits_memory,
        )
        self._temporary_folder = TemporaryFolder("guest-") if settings.sandbox else None
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        # Pipes wake a process in two thirds of the time that a socket takes.
        woken, self.wake_fd = os.pipe()
        self._reply_fd, spoken = os.pipe()
        for end in (self.wake_fd, self._reply_fd):
            os.set_blocking(end, False)  # whatever is done at the other end, the host never waits
        self.buffer_fd = create_anonymous_memory(size)
        self.buffer = SharedBuffer(shape, self.buffer_fd)
        self.request_id = self.buffer.header[REQUEST_ID] = draw_request_id()
        self._n_stale = self._printed_offset = self._n_expected_wakeups = 0
        self._host_waited = False  # while it was asked the present question
        self.has_acted = False
        self.parent_memory: AnyArray | None = None
        self.closed = False
        self.pending = True  # it has not answered yet; at first, that it has started
        asked = {
            "capacity": capacity,
            "row_bytes": shape.row_bytes,
            "heads": shape.n_heads,
            "payload_bytes": payload.size,
            "memory_limit": settings.memory_limit,
            "cpu_limit": settings.cpu_limit,
            "scratch": str(self._temporary_folder.folder) if self._temporary_folder else "",
            "inherits_memory": inherits_memory,
        }
        self.sent_ns = time.perf_counter_ns()
        try:
            handles = [theirs.fileno(), woken, spoken, self.buffer_fd, payload.fd]
            self.pid = forkserver.fork(asked, handles)
        except BaseException:
            self._release()
            raise
        finally:
            theirs.close()
            for end in (woken, spoken):
                os.close(end)

    def fileno(self) -> int:
        """What becomes readable when it has answered."""
        return self._reply_fd

    @property
    def printed_chars(self) -> int:
        """Characters that its policy printed, to nobody, since it was taken."""
        return int(self.buffer.header[PRINTED_CHARS]) - self._printed_offset

    def reset_stats(self) -> None:
        """Somebody else takes it over."""
        self.drain_wakeups(replied=True)
        self._n_stale, self._printed_offset = 0, int(self.buffer.header[PRINTED_CHARS])

    def send(
        self, command: int, row_bytes: BytesLike = b"", observation_bytes: BytesLike = b""
    ) -> None:
        """Ask, and come back at once; if it has died, `gather` will find that.

        Args:
            command: BEGIN, ASK and so on.
            row_bytes: Bytes of the rows it is about, as `lay_rows` makes them.
            observation_bytes: Bytes of what they see.
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
        """It is asked this, at this time; what it says from now on is compared to it."""
        self.request_id, self.sent_ns, self.pending, self._host_waited = (
            request_id,
            sent_ns,
            True,
            False,
        )

    def wake(self) -> None:
        """Wake it."""
        wake_workers((self.wake_fd,))

    def set_host_waiting(self, waiting: bool) -> None:
        """Say whether the host wants to be woken by its answer."""
        self.buffer.header[HOST_WAITING] = waiting
        if waiting and not self._host_waited:
            # The wake-up may still be under way when its answer has long been seen.
            self._host_waited, self._n_expected_wakeups = True, min(2, self._n_expected_wakeups + 1)

    def has_replied(self) -> bool:
        """Whether its last word is about the present question."""
        return self.buffer.header[REPLY_ID] == self.request_id

    def drain_wakeups(self, replied: bool) -> bool:
        """Count wake-ups that come with no answer; False if it can wake us no more."""
        try:
            data = os.read(self._reply_fd, _PIPE_BYTES)
        except BlockingIOError:
            return True
        owed = self._n_expected_wakeups - (self._host_waited and not replied)
        explained = min(owed, len(data))
        self._n_expected_wakeups -= explained
        self._n_stale += len(data) - explained
        return bool(data)

    def poll(self) -> WorkerError | str | None:
        """What it said: trouble, "" for an answer, the fault of a faulty one, None for nothing."""
        header = self.buffer.header
        answered = self.pending and self.has_replied()
        if not answered:
            return None if self.drain_wakeups(replied=False) else self.describe_exit()
        memory_fence()
        if self._host_waited:
            self.drain_wakeups(replied=True)
        self.pending = False
        outcome = header[STATUS]
        if outcome == STATUS_RAISED:
            what, where, trace = (*self.buffer.read_message().split("\n", 2), "", "")[:3]
            return WorkerError("raised", what, ErrorSummary(what, where, trace))
        if outcome != STATUS_INVALID_ACTION:
            return ""
        said = self.buffer.read_message()
        return said if said in INVALID_ACTION_REASONS else UNNAMED_FAULT

    @property
    def stale_replies(self) -> int:
        """Wake-ups without an answer to the question that was asked, since it was taken."""
        if not self.closed:
            self.drain_wakeups(replied=not self.pending)
        return self._n_stale

    def describe_exit(self) -> WorkerError:
        """It has ended, or is ending: how."""
        code = self._forkserver.exit_code(self.pid, EXIT_TIMEOUT)
        return WorkerError("exited", str(code))

    def has_exited(self) -> bool:
        """Whether its process is known to have ended."""
        return self._forkserver.exit_code(self.pid) is not None

    def share_parent_memory(self) -> None:
        """After its start: give it the memory through which it passes on what it remembers."""
        size = int(self.buffer.header[MEMORY_BYTES])
        if not self.inherits_memory or size <= 0:
            return
        size = min(size, _MAX_PARENT_MEMORY)
        handle = create_anonymous_memory(3 * size)
        self.parent_memory = np.frombuffer(map_memory(handle, 3 * size), np.uint8).reshape(3, size)
        socket.send_fds(self._socket, [b"."], [handle])
        os.close(handle)

    @property
    def peak_megabytes(self) -> float:
        """The most memory it says it has held."""
        return int(self.buffer.header[PEAK_KB]) / 1024

    def close(self, graceful: bool = False) -> None:
        """End it; `graceful` gives its policy a moment to close by itself. May be called twice."""
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
    """Wake all who listen at these handles."""
    write = os.write
    for bell in wake_fds:
        try:  # noqa: SIM105, once per agent and step: `suppress` takes as long as the write
            write(bell, b".")
        except OSError:  # it has died, or has many wake-ups to read
            pass


def draw_request_id() -> int:
    """A number for a question: drawn, so that none can be answered before it is asked."""
    return random.getrandbits(62)


def _serialize_arrays(arrays: Arrays) -> bytes:
    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
