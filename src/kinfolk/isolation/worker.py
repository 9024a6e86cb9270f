"""The host's handle of a worker process, which runs one policy."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple
from select import POLLIN, poll

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import ErrorSummary
from kinfolk.core.trust import get_trust
from kinfolk.isolation import shared_buffers as shared
from kinfolk.isolation.cgroups.worker_cgroups import WorkerCgroup
from kinfolk.isolation.failures import IsolationSettings, WorkerError
from kinfolk.isolation.forkserver import ForkServerClient
from kinfolk.isolation.limits import WorkerMeter, WorkerStats, read_peak_kb
from kinfolk.isolation.payload import WorkerPayload
from kinfolk.isolation.validation import INVALID_ACTION_REASONS, UNKNOWN_REASON

EXIT_TIMEOUT = 1.0  # seconds for a worker to exit by itself
# A wake-up can be missed if host and worker go to sleep at the same moment; so sleeps are short.
_MAX_WAIT_SECONDS = 0.02
_MAX_PARENT_MEMORY = 64 * 2**20  # bytes of each of three rows that the host holds for an agent
_N_DRAWN_IDS, _SIGN_AND_SPARE_BITS = 512, 2  # of request ids, which are drawn in advance
_PIPE_BYTES = 65536  # capacity of a pipe; one byte per wake-up
_WORKER_SETTINGS = (
    "memory_limit", "cpu_limit", "file_size_limit", "sandbox", "process_limit", "disk_limit",
)  # fmt: skip


class Worker:
    """A worker process with one policy: `send` a command, then `poll` or `wait` for its reply.

    Args:
        forkserver: Starts the process.
        payload: The policy and the world's spec.
        capacity: Largest number of agents in a request.
        settings: Memory and CPU limits, sandbox.
        inherits_memory: Whether the process plays a single agent, whose memory is copied to the
            workers of its children.
        cgroup: Control group that the process enters; None: the host measures its memory.

    Attributes:
        buffer: Memory shared with the process.
        meter: Measures the time and memory of the process.
        pending: Whether a reply is due; the first reply says that the policy is loaded.
        has_acted: Whether the policy has returned actions.
        has_failed: Whether it raised, timed out or exited.
        parent_memory: `[3, bytes]`, exported memory of this agent and of its two parents; None if
            there is none to inherit.

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
        cgroup: WorkerCgroup | None = None,
    ) -> None:
        layout = shared.BufferLayout(capacity, payload.spec.row_bytes, payload.spec.n_heads)
        self.forkserver, self.payload = forkserver, payload
        self.capacity, self.inherits_memory = capacity, inherits_memory
        self._socket, worker_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        if hasattr(socket, "SO_PASSCRED"):  # for the meter
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        # Pipes wake a process in two thirds of the time that a socket takes.
        worker_wake_fd, self.wake_fd = os.pipe()
        self._reply_fd, worker_reply_fd = os.pipe()
        for fd in (self.wake_fd, self._reply_fd):
            os.set_blocking(fd, False)  # the host never blocks, whatever the worker does
        self.buffer_fd = shared.create_anonymous_memory(sum(layout.part_sizes))
        self.buffer = shared.SharedBuffer(layout, self.buffer_fd)
        self.request_id = self.buffer.header[shared.REQUEST_ID] = draw_request_id()
        self._n_stale = self._n_expected_wakeups = 0
        self._host_waited = False  # whether the host has slept during the current request
        self.has_acted = self.has_failed = self.closed = False
        self.parent_memory: AnyArray | None = None
        self.pending = True
        self.cgroup, self.meter = cgroup, WorkerMeter(settings, self._socket, cgroup)
        entries = cgroup.open_entries() if cgroup is not None else []
        config = {
            "layout": astuple(layout),
            "payload_bytes": payload.size,
            "inherits_memory": inherits_memory,
            "import_paths": forkserver.import_paths,
            "working_folder": None if settings.sandbox else get_trust().working_folder,
            "n_cgroup_fds": len(entries),
            **{name: getattr(settings, name) for name in _WORKER_SETTINGS},
        }
        pipe_fds = (worker_wake_fd, worker_reply_fd)
        try:
            fds = [worker_socket.fileno(), *pipe_fds, self.buffer_fd, payload.fd, *entries]
            self.pid = forkserver.fork(config, fds)
            self.sent_ns = time.perf_counter_ns()
        except BaseException:
            self._release()
            raise
        finally:
            worker_socket.close()
            for fd in (*pipe_fds, *entries):
                os.close(fd)
        self._poll = poll()  # for replies, and for the fork server's reports of exits
        self._poll.register(self._reply_fd, POLLIN)
        self._poll.register(forkserver.fileno(), POLLIN)

    @property
    def stats(self) -> WorkerStats:
        """Counts and peak memory of the process.

        All of them are measured from outside; nothing is taken from the policy's process.
        """
        self.drain_wakeups(replied=not self.pending)
        printed = self.forkserver.count_printed_bytes(self.pid)
        ended = self.forkserver.get_exit(self.pid)
        peak_kb = read_peak_kb(self.meter.host_pid) if ended is None else ended.peak_kb
        return WorkerStats(self._n_stale, printed, peak_kb / 1024)

    def send(self, command: int, rows: AnyArray | None = None) -> None:
        """Send a command without waiting; `poll` reports it if the worker has exited.

        Args:
            command: One of the `CMD_` constants of `shared_buffers`.
            rows: Agents of the request, as `pack_rows` returns them; None: as before.
        """
        header = self.buffer.header
        if rows is not None:
            header[shared.N_ROWS] = len(rows)
            header[shared.ROWS_VERSION] = next(shared.row_versions)
            self.buffer.rows[: len(rows)] = rows
        self.set_pending(draw_request_id(), time.perf_counter_ns())
        header[shared.COMMAND] = command
        shared.memory_fence()
        header[shared.REQUEST_ID] = self.request_id
        wake_workers((self.wake_fd,))

    def set_pending(self, request_id: int, sent_ns: int) -> None:
        """Expect a reply to the request `request_id`, sent at `sent_ns`."""
        if request_id != self.request_id:
            self.request_id, self.sent_ns, self._host_waited = request_id, sent_ns, False
        self.pending = True

    def has_replied(self) -> bool:
        """Return whether the last reply is to the current request."""
        return self.buffer.header[shared.REPLY_ID] == self.request_id

    def drain_wakeups(self, replied: bool) -> bool:
        """Read the wake-up bytes in the worker's pipe, and count unexpected ones as stale.

        Args:
            replied: Whether the worker has replied to the current request. If it has not, the
                wake-up for that reply is still to come and does not count as expected yet.

        Returns:
            False if the worker has closed the pipe, because it has exited.
        """
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
        if not (self.pending and self.has_replied()):
            return None if self.drain_wakeups(replied=False) else self._describe_exit()
        shared.memory_fence()
        if self._host_waited:
            self.drain_wakeups(replied=True)
        self.pending = False
        status = self.buffer.header[shared.STATUS]
        if status == shared.STATUS_RAISED:
            summary = ErrorSummary(*(*self.buffer.read_message().split("\n", 2), "", "")[:3])
            return WorkerError("raised", summary.message, summary)
        if status != shared.STATUS_INVALID_ACTION:
            return ""
        reason = self.buffer.read_message()
        return reason if reason in INVALID_ACTION_REASONS else UNKNOWN_REASON

    def wait(
        self, timeout: float, deadline: float, on_wake: Callable[[], None] = lambda: None
    ) -> WorkerError | str:
        """Wait for the reply to the current request.

        Args:
            timeout: Seconds that the worker had, for the error if there is no reply.
            deadline: Time on the monotonic clock until which to wait.
            on_wake: Called after each sleep, of at most 20 ms.

        Returns:
            The reply, as `poll` returns it.
        """
        reply = self.poll()
        while reply is None:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return WorkerError("timeout", f"after {timeout:g} s")
            exceeded = self.meter.explain_excess(1e-9 * (time.perf_counter_ns() - self.sent_ns))
            if exceeded:
                return WorkerError("limit", exceeded)
            # A child of an exited process may hold its pipe open, so ask the fork server too.
            if self.forkserver.exit_code(self.pid) is not None:
                last_reply = self.poll()  # sent before it exited
                return self._describe_exit() if last_reply is None else last_reply
            self._set_host_waiting(True)
            reply = self.poll()
            if reply is None:
                self._poll.poll(1000.0 * min(remaining, _MAX_WAIT_SECONDS))
                reply = self.poll()
            self._set_host_waiting(False)
            on_wake()
        return reply

    def wait_briefly(self) -> bool:
        """Sleep until the worker has replied or 20 ms have passed; return whether it has replied."""
        self._set_host_waiting(True)
        if not self.has_replied():
            self._poll.poll(1000.0 * _MAX_WAIT_SECONDS)
        self._set_host_waiting(False)
        replied = self.has_replied()
        self.drain_wakeups(replied)
        return replied

    def share_parent_memory(self) -> WorkerError | None:
        """Share memory through which agents inherit; called once the policy is loaded.

        Its three rows hold the exported memory of this agent, and that of its two parents.

        Returns:
            An error if the policy has more memory per agent than the host is ready to hold, or does
            not take it.
        """
        size = int(self.buffer.header[shared.MEMORY_BYTES])
        if not self.inherits_memory or size <= 0:
            return None
        if size > _MAX_PARENT_MEMORY:
            used, limit = size / 2**20, _MAX_PARENT_MEMORY / 2**20
            detail = f"{used:.4g} MB of memory for a child to inherit, with a limit of {limit:g} MB"
            return WorkerError("limit", detail)
        fd = shared.create_anonymous_memory(3 * size)
        memory = shared.map_memory(fd, 3 * size)
        self.parent_memory = np.frombuffer(memory, np.uint8).reshape(3, size)
        try:
            socket.send_fds(self._socket, [b"."], [fd])
        except OSError as error:  # the policy has closed it, or its process has just ended
            if self.forkserver.exit_code(self.pid) is not None:
                return self._describe_exit()
            return WorkerError("raised", f"nothing, but closed its socket: {error.strerror}")
        finally:
            os.close(fd)
        return None

    def close(self, graceful: bool = False) -> None:
        """End the process; `graceful` lets the policy close first. May be called twice."""
        if self.closed:
            return
        if graceful:
            self.send(shared.CMD_EXIT)
            self.forkserver.exit_code(self.pid, EXIT_TIMEOUT)
        self.forkserver.kill(self.pid)
        self._release()

    def _set_host_waiting(self, waiting: bool) -> None:
        """Tell the worker whether to wake the host when it replies."""
        self.buffer.header[shared.HOST_WAITING] = waiting
        if waiting and not self._host_waited:
            # The wake-up may arrive long after the reply was seen in the header.
            self._host_waited, self._n_expected_wakeups = True, min(2, self._n_expected_wakeups + 1)

    def _describe_exit(self) -> WorkerError:
        """Return why the process has exited or is about to: a limit of its control group, or its code."""
        code = self.forkserver.exit_code(self.pid, EXIT_TIMEOUT)
        exceeded = self.cgroup.explain_excess() if self.cgroup is not None else ""
        return WorkerError("limit", exceeded) if exceeded else WorkerError("exited", str(code))

    def _release(self) -> None:
        """Close the descriptors and the memory of this process, and remove the worker's group."""
        self.closed = True
        self.parent_memory = None
        if self.cgroup is not None:
            self.cgroup.release()
        self._socket.close()
        for fd in (self.wake_fd, self._reply_fd, self.buffer_fd):
            os.close(fd)
        self.buffer.close()


def wake_workers(wake_fds: Sequence[int]) -> None:
    """Write a wake-up byte to the pipes of workers."""
    write = os.write
    for fd in wake_fds:
        try:  # noqa: SIM105, once per agent and step: `suppress` takes as long as the write
            write(fd, b".")
        except OSError:  # the worker has exited, or its pipe is full of wake-ups
            pass


def draw_request_id() -> int:
    """Return a random request id, so that a policy cannot reply before it is asked.

    The kernel draws them, many at a time: from numbers of `random` a policy could compute the next.
    """
    if not _request_ids:
        _request_ids.extend(memoryview(os.urandom(8 * _N_DRAWN_IDS)).cast("Q"))
    return _request_ids.pop() >> _SIGN_AND_SPARE_BITS


_request_ids: list[int] = []  # drawn and not yet used
