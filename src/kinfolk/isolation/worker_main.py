"""The main loop of a worker process, which runs one policy."""

from __future__ import annotations

import io
import math
import os
import resource
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.errors import UsageError
from kinfolk.core.trust import find_modules_in, trust_files
from kinfolk.isolation import shared_buffers as shared
from kinfolk.isolation.payload import read_payload
from kinfolk.isolation.sandbox.landlock import is_landlock_supported, restrict_to_folder
from kinfolk.isolation.sandbox.namespaces import SCRATCH
from kinfolk.isolation.sandbox.seccomp import install_seccomp_filter
from kinfolk.isolation.validation import find_invalid_action_reason, summarize_policy_error
from kinfolk.policies.base import MemoryLayout, Policy, allocate_memory, single_agent_batch
from kinfolk.policies.build import build_policy

PARENT_MEMORY_ROWS = (1, 2)  # memory rows for the two parents' memory, in a worker of one agent

_INT64 = np.dtype(np.int64)
_HIDDEN_FILE_ERRORS = (ImportError, FileNotFoundError, UsageError)
_SANDBOX_HINT = (
    "; in the sandbox a policy sees its own module or package, and what --sandbox-read names"
)
# Of sandboxed policies. What lies in the buffers of sockets and pipes is counted by no limit of a
# process. Threads and queued signals are counted for all agents of a slot, and the latter for the
# user's own processes too; so agents must not take what others need (see `MAX_THREADS` of one agent).
_MAX_OPEN_FILES, _MAX_SLOT_THREADS, _MAX_QUEUED_SIGNALS = 256, 4096, 256


class _ThisProcess:
    """Says whether this process was forked as a worker."""

    is_worker = False


def is_worker_process() -> bool:
    """Return whether this process runs the policy of a worker."""
    return _ThisProcess.is_worker


def run_worker(fds: Sequence[int], config: dict[str, Any]) -> None:
    """Load the policy, then serve requests until an exit command or the end of the host.

    Args:
        fds: Descriptors of a socket for memory that is sent later, the pipe that wakes the worker,
            the pipe that wakes the host, the shared buffer, and the payload.
        config: Sizes and limits, as `Worker` sends them.
    """
    _ThisProcess.is_worker = True
    with suppress(OSError):  # tells the host the id of this process, which the kernel adds
        os.write(fds[0], b".")
    worker_loop = _WorkerLoop(fds, config)
    if hasattr(os, "SCHED_BATCH"):  # a woken worker does not preempt a host that still wakes others
        with suppress(OSError):  # some containers forbid it
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    if worker_loop.execute(worker_loop.load_policy):
        worker_loop.receive_parent_memory()
        worker_loop.serve()


def preload_policy(fd: int, size: int) -> None:
    """Build a policy and call it once, so that workers forked later need not import and compile.

    Only for policies of this package; others run nowhere but in their worker.
    """
    resolved, spec = read_payload(fd, size)
    policy = build_policy(resolved, spec)
    memory = allocate_memory(policy.memory_layout, 1)
    for group in range(len(spec.groups)):
        batch, keys = single_agent_batch(0, group), np.zeros(1, dtype=np.int64)
        policy.reset_agents(batch, memory, keys)
        policy.act_async(np.zeros((1, spec.row_bytes), dtype=np.uint8), batch, memory, keys)
        policy.act_wait()
    policy.close()


class _InvalidAction(Exception):  # noqa: N818, reported as a reply
    """The policy returned invalid actions; the message is the reason."""


class _WorkerLoop:
    """Runs the policy of a worker and replies to requests in the shared buffer.

    Args:
        fds: Descriptors, as `run_worker` takes them.
        config: Sizes and limits, as `Worker` sends them.
    """

    policy: Policy
    memory: dict[str, AnyArray]

    def __init__(self, fds: Sequence[int], config: dict[str, Any]) -> None:
        self._socket_fd, self._wake_fd, self._reply_fd, buffer_fd, self._payload_fd = fds
        layout = shared.BufferLayout(*config["layout"])
        self._buffer, self._config = shared.SharedBuffer(layout, buffer_fd), config
        # Unbuffered, as the fork server counts what arrives.
        sys.stdout = sys.stderr = io.TextIOWrapper(
            io.FileIO(1, "w", closefd=False), errors="backslashreplace", write_through=True
        )
        self._last_request_id = 0
        self._parent_memory: AnyArray | None = None

    def serve(self) -> None:
        """Execute commands until an exit command, an error or the end of the host."""
        header, wake_fd, read = self._buffer.header, self._wake_fd, os.read
        methods = {
            shared.CMD_RESET: self.reset_agents,
            shared.CMD_ACT: self.compute_actions,
            shared.CMD_EXPORT_MEMORY: self.export_memory,
        }
        while read(wake_fd, 1):
            if header[shared.REQUEST_ID] == self._last_request_id:
                continue  # woken twice for one request
            command = header[shared.COMMAND]
            if command == shared.CMD_EXIT:
                self.policy.close()
                return
            if not self.execute(methods[command]):
                return

    def execute(self, command: Callable[[], None]) -> bool:
        """Execute a command, write the reply and wake the host.

        Returns:
            False if the worker must exit.
        """
        header = self._buffer.header
        request_id = header[shared.REQUEST_ID]
        try:
            command()
            status = shared.STATUS_OK
        except _InvalidAction as error:
            self._buffer.write_text(str(error))
            status = shared.STATUS_INVALID_ACTION
        except BaseException as error:  # including SystemExit, which the host must record
            summary = summarize_policy_error(error)
            if self._config["sandbox"] and isinstance(error, _HIDDEN_FILE_ERRORS):
                summary = summary._replace(message=f"{summary.message}{_SANDBOX_HINT}")
            self._buffer.write_text("\n".join(summary))
            status = shared.STATUS_RAISED
        header[shared.REPLY_NS] = time.perf_counter_ns()
        header[shared.STATUS] = status
        shared.memory_fence()
        header[shared.REPLY_ID] = self._last_request_id = request_id
        if header[shared.HOST_WAITING]:
            try:
                os.write(self._reply_fd, b".")
            except OSError:
                return False  # the host has exited
        return status != shared.STATUS_RAISED

    def load_policy(self) -> None:
        """Set limits and enter the sandbox, then import and build the policy."""
        config = self._config
        set_resource_limits(config)
        if config["sandbox"]:
            _restrict_process(allow_processes=config["process_limit"] > 0)
        sys.path[:0] = config["import_paths"]
        resolved, spec = read_payload(self._payload_fd, config["payload_bytes"])
        os.close(self._payload_fd)
        may_name_code = trust_files(config["sandbox"])  # there it may run what it likes
        with may_name_code, find_modules_in(config["working_folder"]):
            self.policy = build_policy(resolved, spec)
        extra = len(PARENT_MEMORY_ROWS) if self._config["inherits_memory"] else 0
        self.memory = allocate_memory(self.policy.memory_layout, self._buffer.rows.shape[0] + extra)
        self._buffer.header[shared.MEMORY_BYTES] = memory_bytes_per_agent(self.policy.memory_layout)

    def receive_parent_memory(self) -> None:
        """Receive and map the memory through which agents inherit; see `Worker.share_parent_memory`."""
        size = self._buffer.header[shared.MEMORY_BYTES]
        if self._config["inherits_memory"] and size:
            _, fds, _, _ = socket.recv_fds(socket.socket(fileno=self._socket_fd), 1, 1)
            memory = np.frombuffer(shared.map_memory(fds[0], 3 * size), np.uint8)
            self._parent_memory = memory.reshape(3, size)

    def reset_agents(self) -> None:
        """Reset the memory of new agents."""
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
        if not (is_int64 and actions.shape == out.shape):
            actions = _as_int64(actions, out.shape)
        out[...] = actions

    def export_memory(self) -> None:
        """Write the memory of the only agent into shared memory, for its children."""
        if self._parent_memory is not None:
            exported = b"".join(array[0].tobytes() for array in self.memory.values())
            self._parent_memory[0] = np.frombuffer(exported, np.uint8)


def _as_int64(actions: Any, shape: tuple[int, ...]) -> Ints:
    """Return actions as int64; the host checks their range.

    Raises:
        _InvalidAction: Type or shape are wrong.
    """
    array = np.asarray(actions)
    reason = find_invalid_action_reason(array, shape)
    if reason:
        raise _InvalidAction(reason)
    return array.astype(np.int64)


def memory_bytes_per_agent(layout: MemoryLayout) -> int:
    """Return the bytes of policy memory per agent."""
    return sum(math.prod(field.shape) * np.dtype(field.dtype).itemsize for field in layout.values())


def _import_memory_row(blob: AnyArray, memory: dict[str, AnyArray], row: int) -> None:
    """Copy exported bytes into one row of all memory arrays.

    Args:
        blob: Bytes that `_WorkerLoop.export_memory` wrote.
        memory: Memory arrays by name, written.
        row: Row of the arrays to write.
    """
    offset = 0
    for array in memory.values():
        size = array[row].nbytes
        array[row] = blob[offset : offset + size].view(array.dtype).reshape(array.shape[1:])
        offset += size


def _restrict_process(allow_processes: bool) -> None:
    """Enter the last layers of the sandbox, permanently, in the scratch folder."""
    os.chdir(SCRATCH)
    if is_landlock_supported():
        restrict_to_folder(SCRATCH)
    install_seccomp_filter(allow_processes)


def set_resource_limits(config: Mapping[str, Any]) -> None:
    """Limit the resources of this process, and disable core dumps.

    Args:
        config: `memory_limit` and `file_size_limit` in MB, `cpu_limit` in seconds, `process_limit`,
            and `sandbox`, which limits the number of threads and of descriptors too. None is no limit.
    """
    memory_mb, cpu_seconds = config["memory_limit"], config["cpu_limit"]
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, config["file_size_limit"] * 2**20)
    if memory_mb is not None:
        # On Linux RLIMIT_DATA does not count mapped files and shared memory, which libraries need.
        linux = sys.platform == "linux"
        _limit(resource.RLIMIT_DATA if linux else resource.RLIMIT_AS, memory_mb * 2**20)
    if cpu_seconds is not None:
        # The host looks and names the limit; the kernel ends what escapes its looks, a second later.
        _limit(resource.RLIMIT_CPU, math.ceil(cpu_seconds) + 1)
    if config["sandbox"]:
        _limit(resource.RLIMIT_NPROC, config["process_limit"] + _MAX_SLOT_THREADS)
        _limit(resource.RLIMIT_SIGPENDING, _MAX_QUEUED_SIGNALS)
        _limit(resource.RLIMIT_MEMLOCK, 0)
        _limit(resource.RLIMIT_NOFILE, _MAX_OPEN_FILES)
        _limit(resource.RLIMIT_MSGQUEUE, 0)
        for kind in (resource.RLIMIT_RTPRIO, resource.RLIMIT_NICE):  # some users may starve others
            _limit(kind, 0)


def _limit(kind: int, value: int) -> None:
    """Set a resource limit, but not above the one that is in force."""
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


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
