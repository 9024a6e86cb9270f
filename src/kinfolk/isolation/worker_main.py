"""The main loop of a worker process, which runs one policy."""

from __future__ import annotations

import io
import json
import math
import os
import resource
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.spaces import WorldSpec
from kinfolk.isolation.failures import find_invalid_action_reason, summarize_policy_error
from kinfolk.isolation.sandbox.restrictions import enter_sandbox
from kinfolk.isolation.shared_buffers import (
    CMD_ACT,
    CMD_EXIT,
    CMD_EXPORT_MEMORY,
    CMD_RESET,
    COMMAND,
    HOST_WAITING,
    MEMORY_BYTES,
    PEAK_KB,
    PRINTED_CHARS,
    REPLY_ID,
    REPLY_NS,
    REQUEST_ID,
    STATUS,
    STATUS_INVALID_ACTION,
    STATUS_OK,
    STATUS_RAISED,
    BufferLayout,
    SharedBuffer,
    map_memory,
    memory_fence,
)
from kinfolk.policies.base import MemoryLayout, Policy, allocate_memory, single_agent_batch
from kinfolk.policies.resolve import ResolvedPolicy, build_policy

PARENT_MEMORY_ROWS = (1, 2)  # memory rows for the two parents' memory, in a worker of one agent

_INT64 = np.dtype(np.int64)


def run_worker(fds: Sequence[int], config: dict[str, Any]) -> None:
    """Load the policy, then serve requests until an exit command or the end of the host.

    Args:
        fds: Descriptors of a socket for memory that is sent later, the pipe that wakes the worker,
            the pipe that wakes the host, the shared buffer, and the payload.
        config: Sizes and limits, as `Worker` sends them.
    """
    layout = BufferLayout(config["capacity"], config["row_bytes"], config["heads"])
    socket_fd, wake_fd, reply_fd, buffer_fd, payload_fd = fds
    buffer = SharedBuffer(layout, buffer_fd)
    sys.stdout = sys.stderr = _CountingStdout(buffer)
    _use_batch_scheduling()
    worker_loop = _WorkerLoop(buffer, wake_fd, reply_fd, config, payload_fd)
    is_loaded = worker_loop.execute(worker_loop.load_policy)
    if is_loaded and config["inherits_memory"]:
        worker_loop.receive_parent_memory(socket.socket(fileno=socket_fd))
    if is_loaded:
        worker_loop.serve()


def _use_batch_scheduling() -> None:
    """Use SCHED_BATCH, so that a woken worker does not preempt a host that still wakes others."""
    if hasattr(os, "SCHED_BATCH"):
        with suppress(OSError):  # some containers forbid it
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def read_payload(fd: int, size: int) -> tuple[ResolvedPolicy, WorldSpec, list[str]]:
    """Return the policy, the world's spec and `sys.path` of a `WorkerPayload`.

    Args:
        fd: Descriptor of the payload.
        size: Its bytes.
    """
    with map_memory(fd, size) as memory:
        data = memory[:]
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    resolved = ResolvedPolicy(header["class_path"], header["settings"], load(data[8 + length :]))
    return resolved, WorldSpec.from_dict(header["spec"]), header["sys_path"]


def preload_policy(fd: int, size: int) -> None:
    """Build a policy and call it once, so that workers forked later need not import and compile.

    Only for policies of this package; others run nowhere but in their worker.
    """
    resolved, spec, _ = read_payload(fd, size)
    policy = build_policy(resolved, spec)
    memory = allocate_memory(policy.memory_layout, 1)
    for group in range(len(spec.groups)):
        batch, keys = single_agent_batch(0, group), np.zeros(1, dtype=np.int64)
        policy.reset_agents(batch, memory, keys)
        policy.act_async(np.zeros((1, spec.row_bytes), dtype=np.uint8), batch, memory, keys)
        policy.act_wait()
    policy.close()


class _CountingStdout(io.TextIOBase):
    """Discards what a policy prints, but counts its characters."""

    def __init__(self, buffer: SharedBuffer) -> None:
        self._buffer = buffer

    def write(self, text: str) -> int:
        self._buffer.header[PRINTED_CHARS] += len(text)
        return len(text)


class _InvalidAction(Exception):  # noqa: N818, reported as a reply
    """The policy returned invalid actions; the message is the reason."""


class _WorkerLoop:
    """Runs the policy of a worker and replies to requests in the shared buffer.

    Args:
        buffer: Requests and replies.
        wake_fd: Pipe from which wake-ups are read.
        reply_fd: Pipe that wakes the host.
        config: Sizes and limits.
        payload_fd: Descriptor of the payload.
    """

    policy: Policy
    memory: dict[str, AnyArray]

    def __init__(
        self,
        buffer: SharedBuffer,
        wake_fd: int,
        reply_fd: int,
        config: dict[str, Any],
        payload_fd: int,
    ) -> None:
        self._buffer, self._wake_fd, self._reply_fd = buffer, wake_fd, reply_fd
        self._config, self._payload_fd = config, payload_fd
        self._last_request_id = 0
        self._parent_memory: AnyArray | None = None

    def serve(self) -> None:
        """Execute commands until an exit command, an error or the end of the host."""
        header, wake_fd, read = self._buffer.header, self._wake_fd, os.read
        methods = {
            CMD_RESET: self.reset_agents,
            CMD_ACT: self.compute_actions,
            CMD_EXPORT_MEMORY: self.export_memory,
        }
        while read(wake_fd, 1):
            if header[REQUEST_ID] == self._last_request_id:
                continue  # woken twice for one request
            command = header[COMMAND]
            if command == CMD_EXIT:
                self.policy.close()
                return
            if not self.execute(methods[command]):
                return

    def execute(self, command: Callable[[], None]) -> bool:
        """Execute a command, write the reply and wake the host; False if the worker must exit."""
        header = self._buffer.header
        request_id = header[REQUEST_ID]
        try:
            command()
            status = STATUS_OK
        except _InvalidAction as error:
            self._buffer.write_text(str(error))
            status = STATUS_INVALID_ACTION
        except BaseException as error:  # including SystemExit, which the host must record
            self._buffer.write_text("\n".join(summarize_policy_error(error)))
            status = STATUS_RAISED
        header[REPLY_NS] = time.perf_counter_ns()
        header[STATUS] = status
        memory_fence()
        header[REPLY_ID] = self._last_request_id = request_id
        if header[HOST_WAITING]:
            try:
                os.write(self._reply_fd, b".")
            except OSError:
                return False  # the host has exited
        return status != STATUS_RAISED

    def load_policy(self) -> None:
        """Set limits and enter the sandbox, then import and build the policy."""
        resolved, spec, paths = read_payload(self._payload_fd, self._config["payload_bytes"])
        sys.path[:] = paths
        set_resource_limits(self._config["memory_limit"], self._config["cpu_limit"])
        if self._config["scratch"]:
            enter_sandbox(Path(self._config["scratch"]))
        self.policy = build_policy(resolved, spec)
        extra = len(PARENT_MEMORY_ROWS) if self._config["inherits_memory"] else 0
        self.memory = allocate_memory(self.policy.memory_layout, self._buffer.rows.shape[0] + extra)
        self._buffer.header[MEMORY_BYTES] = memory_bytes_per_agent(self.policy.memory_layout)

    def receive_parent_memory(self, sock: socket.socket) -> None:
        """Receive and map the memory through which agents inherit; see `Worker.share_parent_memory`."""
        size = self._buffer.header[MEMORY_BYTES]
        if size:
            _, fds, _, _ = socket.recv_fds(sock, 1, 1)
            memory = np.frombuffer(map_memory(fds[0], 3 * size), np.uint8)
            self._parent_memory = memory.reshape(3, size)

    def reset_agents(self) -> None:
        """Reset the memory of new agents, and report the peak memory of the process."""
        self._buffer.header[PEAK_KB] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        batch, keys, _, _ = self._buffer.read_request()
        for array in self.memory.values():
            array[batch.memory_index] = 0
        if self._parent_memory is not None:
            for row in PARENT_MEMORY_ROWS:
                _import_memory_row(self._parent_memory[row], self.memory, row)
        self.policy.reset_agents(batch, self.memory, keys)

    def compute_actions(self) -> None:
        """Call the policy and write its actions into the buffer."""
        batch, keys, observations, out = self._buffer.read_request()
        policy = self.policy
        policy.act_async(observations, batch, self.memory, keys)
        actions = policy.act_wait()
        is_int64 = type(actions) is np.ndarray and actions.dtype is _INT64
        out[...] = (
            actions if is_int64 and actions.shape == out.shape else _as_int64(actions, out.shape)
        )

    def export_memory(self) -> None:
        """Write the memory of the only agent into shared memory, for its children."""
        if self._parent_memory is not None:
            _export_memory_row(self.memory, self._parent_memory[0])


def _as_int64(actions: Any, shape: tuple[int, ...]) -> Ints:
    """Return actions as int64 or raise `_InvalidAction`; the host checks their range."""
    array = np.asarray(actions)
    reason = find_invalid_action_reason(array, shape)
    if reason:
        raise _InvalidAction(reason)
    return array.astype(np.int64)


def memory_bytes_per_agent(layout: MemoryLayout) -> int:
    """Return the bytes of policy memory per agent."""
    return sum(math.prod(field.shape) * np.dtype(field.dtype).itemsize for field in layout.values())


def _export_memory_row(memory: dict[str, AnyArray], out: AnyArray) -> None:
    """Copy row 0 of all memory arrays into the bytes `out`."""
    offset = 0
    for array in memory.values():
        flat = np.ascontiguousarray(array[0]).reshape(-1).view(np.uint8)
        out[offset : offset + flat.size] = flat
        offset += flat.size


def _import_memory_row(blob: AnyArray, memory: dict[str, AnyArray], row: int) -> None:
    """Copy exported bytes into one row of all memory arrays.

    Args:
        blob: Bytes that `_export_memory_row` wrote.
        memory: Memory arrays by name, written.
        row: Their row.
    """
    offset = 0
    for array in memory.values():
        size = array[row].nbytes
        array[row] = blob[offset : offset + size].view(array.dtype).reshape(array.shape[1:])
        offset += size


def set_resource_limits(memory_mb: int | None, cpu_seconds: float | None) -> None:
    """Limit the memory and CPU time of this process, and disable core dumps; None: no limit."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_mb is not None:
        # On Linux RLIMIT_DATA does not count mapped files and shared memory, which libraries need.
        kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
        resource.setrlimit(kind, (memory_mb * 2**20, memory_mb * 2**20))
    if cpu_seconds is not None:
        seconds = max(1, math.ceil(cpu_seconds))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def private_memory_mb(pid: int) -> float:
    """Return the memory in MB that no other process shares, such as the one it was forked from.

    Returns 0 where the system has no `/proc/PID/smaps_rollup`.
    """
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            lines = file.read().splitlines()
    except OSError:
        return 0.0
    private = [line.split()[1] for line in lines if line.startswith("Private_")]
    return sum(map(int, private)) / 1024
