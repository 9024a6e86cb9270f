"""The far end of isolation: what runs in the process in which one policy lives."""

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

PARENT_MEMORY_ROWS = (1, 2)  # places that hold what parents left, in a process of one agent

_INT64 = np.dtype(np.int64)


def run_worker(fds: Sequence[int], config: dict[str, Any]) -> None:
    """Build the policy, then answer questions until told to leave or the host is gone.

    Args:
        fds: Of a socket for memory that comes later, of a pipe with wake-ups, of one to wake the
            host, of the wire's memory, and of that with the policy and the spec of the world.
        config: Sizes, limits and the like.
    """
    shape = BufferLayout(config["capacity"], config["row_bytes"], config["heads"])
    sock, woken, bell, wire_handle, payload_handle = fds
    wire = SharedBuffer(shape, wire_handle)
    sys.stdout = sys.stderr = _CountingStdout(wire)
    _use_batch_scheduling()
    guest = _WorkerLoop(wire, woken, bell, config, payload_handle)
    going = guest.execute(guest.load_policy)
    if going and config["inherits_memory"]:
        guest.receive_parent_memory(socket.socket(fileno=sock))
    if going:
        guest.serve()


def _use_batch_scheduling() -> None:
    """Do not take the core from a host that is still asking the others.

    Woken in the middle of its round, guests would push it aside once for each of them.
    """
    if hasattr(os, "SCHED_BATCH"):
        with suppress(OSError):  # some containers forbid it
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def read_payload(fd: int, size: int) -> tuple[ResolvedPolicy, WorldSpec, list[str]]:
    """The policy, the spec of its world, and where modules are looked for."""
    with map_memory(fd, size) as memory:
        data = memory[:]
    length = int.from_bytes(data[:8], "little")
    about = json.loads(data[8 : 8 + length])
    resolved = ResolvedPolicy(about["class_path"], about["settings"], load(data[8 + length :]))
    return resolved, WorldSpec.from_dict(about["spec"]), about["sys_path"]


def preload_policy(fd: int, size: int) -> None:
    """Make a policy and ask it once, so that what it loads and compiles is there for its guests.

    For policies of our own only: a stranger's runs in its own process and nowhere else.
    """
    resolved, spec, _ = read_payload(fd, size)
    policy = build_policy(resolved, spec)
    memory = allocate_memory(policy.memory_layout, 1)
    for group in range(len(spec.groups)):
        rows, key = single_agent_batch(0, group), np.zeros(1, dtype=np.int64)
        policy.reset_agents(rows, memory, key)
        policy.act_async(np.zeros((1, spec.row_bytes), dtype=np.uint8), rows, memory, key)
        policy.act_wait()
    policy.close()


class _CountingStdout(io.TextIOBase):
    """Where a policy's words go: nowhere, but they are counted."""

    def __init__(self, buffer: SharedBuffer) -> None:
        self._buffer = buffer

    def write(self, text: str) -> int:
        self._buffer.header[PRINTED_CHARS] += len(text)
        return len(text)


class _InvalidAction(Exception):  # noqa: N818, not an error of ours
    """An answer that is no action."""


class _WorkerLoop:
    """One policy and what it remembers."""

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
        """Answer whatever is asked, until told to leave or the host is gone."""
        header, woken, read = self._buffer.header, self._wake_fd, os.read
        methods = {
            CMD_RESET: self.reset_agents,
            CMD_ACT: self.compute_actions,
            CMD_EXPORT_MEMORY: self.export_memory,
        }
        while read(woken, 1):
            if header[REQUEST_ID] == self._last_request_id:
                continue  # woken twice for one question
            kind = header[COMMAND]
            if kind == CMD_EXIT:
                self.policy.close()
                return
            if not self.execute(methods[kind]):
                return

    def execute(self, command: Callable[[], None]) -> bool:
        """Do what was asked, say how it went, and wake the host."""
        header = self._buffer.header
        asked = header[REQUEST_ID]
        try:
            command()
            outcome = STATUS_OK
        except _InvalidAction as nonsense:
            self._buffer.write_text(str(nonsense))
            outcome = STATUS_INVALID_ACTION
        except BaseException as error:  # even SystemExit: the host must hear of it
            self._buffer.write_text("\n".join(summarize_policy_error(error)))
            outcome = STATUS_RAISED
        header[REPLY_NS] = time.perf_counter_ns()
        header[STATUS] = outcome
        memory_fence()
        header[REPLY_ID] = self._last_request_id = asked
        if header[HOST_WAITING]:
            try:
                os.write(self._reply_fd, b".")
            except OSError:
                return False  # the host is gone
        return outcome != STATUS_RAISED

    def load_policy(self) -> None:
        """Shut the process in, then let the policy's code in."""
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
        """Receive the memory through which parents pass on what they remember."""
        size = self._buffer.header[MEMORY_BYTES]
        if size:
            _, handles, _, _ = socket.recv_fds(sock, 1, 1)
            self._parent_memory = np.frombuffer(map_memory(handles[0], 3 * size), np.uint8).reshape(
                3, size
            )

    def reset_agents(self) -> None:
        """Lives that start."""
        self._buffer.header[PEAK_KB] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rows, keys, _, _ = self._buffer.read_request()
        for array in self.memory.values():
            array[rows.memory_index] = 0
        if self._parent_memory is not None:
            for seat in PARENT_MEMORY_ROWS:
                _import_memory_row(self._parent_memory[seat], self.memory, seat)
        self.policy.reset_agents(rows, self.memory, keys)

    def compute_actions(self) -> None:
        """A question, and the answer to it."""
        rows, keys, seen, out = self._buffer.read_request()
        policy = self.policy
        policy.act_async(seen, rows, self.memory, keys)
        actions = policy.act_wait()
        plain = type(actions) is np.ndarray and actions.dtype is _INT64
        out[...] = (
            actions if plain and actions.shape == out.shape else _as_int64(actions, out.shape)
        )

    def export_memory(self) -> None:
        """Lay down what the one agent here remembers."""
        if self._parent_memory is not None:
            _export_memory_row(self.memory, self._parent_memory[0])


def _as_int64(actions: Any, shape: tuple[int, ...]) -> Ints:
    """The actions as whole numbers of the right shape; what they stand for the host checks."""
    array = np.asarray(actions)
    fault = find_invalid_action_reason(array, shape)
    if fault:
        raise _InvalidAction(fault)
    return array.astype(np.int64)


def memory_bytes_per_agent(layout: MemoryLayout) -> int:
    """How much a policy remembers of one life."""
    return sum(math.prod(cell.shape) * np.dtype(cell.dtype).itemsize for cell in layout.values())


def _export_memory_row(memory: dict[str, AnyArray], out: AnyArray) -> None:
    at = 0
    for array in memory.values():
        flat = np.ascontiguousarray(array[0]).reshape(-1).view(np.uint8)
        out[at : at + flat.size] = flat
        at += flat.size


def _import_memory_row(blob: AnyArray, memory: dict[str, AnyArray], agent_index: int) -> None:
    at = 0
    for array in memory.values():
        size = array[agent_index].nbytes
        array[agent_index] = blob[at : at + size].view(array.dtype).reshape(array.shape[1:])
        at += size


def set_resource_limits(memory_mb: int | None, cpu_seconds: float | None) -> None:
    """Bounds that the system keeps: memory of the process's own, and time on a core."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_mb is not None:
        # On Linux what is mapped from files and shared is not counted, which libraries need.
        kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
        resource.setrlimit(kind, (memory_mb * 2**20, memory_mb * 2**20))
    if cpu_seconds is not None:
        whole = max(1, math.ceil(cpu_seconds))
        resource.setrlimit(resource.RLIMIT_CPU, (whole, whole))


def private_memory_mb(pid: int) -> float:
    """What would be free if it ended; 0 where the system does not tell.

    Pages that it shares with the process it was forked from are not counted.
    """
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            lines = file.read().splitlines()
    except OSError:
        return 0.0
    private = [line.split()[1] for line in lines if line.startswith("Private_")]
    return sum(map(int, private)) / 1024
