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
from kinfolk.evaluation.failures import explain_policy, fault_of
from kinfolk.evaluation.sandbox import shut_in
from kinfolk.evaluation.wire import (
    ANSWERED,
    ANSWERED_NS,
    ASK,
    BEGIN,
    EXPORT,
    HOST_ASLEEP,
    KIND,
    LEAVE,
    NONSENSE,
    OUTCOME,
    PEAK_KB,
    PLACE_BYTES,
    PRINTED,
    QUESTION,
    RAISED,
    READY,
    Wire,
    WireShape,
    fence,
    mapped,
)
from kinfolk.policies.base import MemoryLayout, Policy, allocate, founder_rows
from kinfolk.policies.resolve import ResolvedPolicy, build

SEATS_OF_PARENTS = (1, 2)  # places that hold what parents left, in a process of one agent

_INT64 = np.dtype(np.int64)


def live(handles: Sequence[int], asked: dict[str, Any]) -> None:
    """Build the policy, then answer questions until told to leave or the host is gone.

    Args:
        handles: Of a socket for memory that comes later, of a pipe with wake-ups, of one to wake the
            host, of the wire's memory, and of that with the policy and the spec of the world.
        asked: Sizes, limits and the like.
    """
    shape = WireShape(asked["capacity"], asked["row_bytes"], asked["heads"])
    sock, woken, bell, wire_handle, payload_handle = handles
    wire = Wire(shape, wire_handle)
    sys.stdout = sys.stderr = _Counted(wire)
    _let_the_host_finish()
    guest = _Guest(wire, woken, bell, asked, payload_handle)
    going = guest.answer(guest.start)
    if going and asked["heirs"]:
        guest.take_heirlooms(socket.socket(fileno=sock))
    if going:
        guest.serve()


def _let_the_host_finish() -> None:
    """Do not take the core from a host that is still asking the others.

    Woken in the middle of its round, guests would push it aside once for each of them.
    """
    if hasattr(os, "SCHED_BATCH"):
        with suppress(OSError):  # some containers forbid it
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def read_payload(handle: int, size: int) -> tuple[ResolvedPolicy, WorldSpec, list[str]]:
    """The policy, the spec of its world, and where modules are looked for."""
    with mapped(handle, size) as memory:
        data = memory[:]
    length = int.from_bytes(data[:8], "little")
    about = json.loads(data[8 : 8 + length])
    resolved = ResolvedPolicy(about["class_path"], about["settings"], load(data[8 + length :]))
    return resolved, WorldSpec.from_dict(about["spec"]), about["sys_path"]


def warm_up(handle: int, size: int) -> None:
    """Make a policy and ask it once, so that what it loads and compiles is there for its guests.

    For policies of our own only: a stranger's runs in its own process and nowhere else.
    """
    resolved, spec, _ = read_payload(handle, size)
    policy = build(resolved, spec)
    memory = allocate(policy.memory, 1)
    for group in range(len(spec.groups)):
        rows, key = founder_rows(0, group), np.zeros(1, dtype=np.int64)
        policy.begin(rows, memory, key)
        policy.ask(np.zeros((1, spec.row_bytes), dtype=np.uint8), rows, memory, key)
        policy.answer()
    policy.close()


class _Counted(io.TextIOBase):
    """Where a policy's words go: nowhere, but they are counted."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def write(self, text: str) -> int:
        self._wire.header[PRINTED] += len(text)
        return len(text)


class _Nonsense(Exception):  # noqa: N818, not an error of ours
    """An answer that is no action."""


class _Guest:
    """One policy and what it remembers."""

    policy: Policy
    memory: dict[str, AnyArray]

    def __init__(
        self, wire: Wire, woken: int, bell: int, asked: dict[str, Any], payload_handle: int
    ) -> None:
        self._wire, self._woken, self._bell = wire, woken, bell
        self._asked, self._payload = asked, payload_handle
        self._answered = 0
        self._heirlooms: AnyArray | None = None

    def serve(self) -> None:
        """Answer whatever is asked, until told to leave or the host is gone."""
        header, woken, read = self._wire.header, self._woken, os.read
        methods = {BEGIN: self.begin, ASK: self.ask, EXPORT: self.export}
        while read(woken, 1):
            if header[QUESTION] == self._answered:
                continue  # woken twice for one question
            kind = header[KIND]
            if kind == LEAVE:
                self.policy.close()
                return
            if not self.answer(methods[kind]):
                return

    def answer(self, question: Callable[[], None]) -> bool:
        """Do what was asked, say how it went, and wake the host."""
        header = self._wire.header
        asked = header[QUESTION]
        try:
            question()
            outcome = READY
        except _Nonsense as nonsense:
            self._wire.put_text(str(nonsense))
            outcome = NONSENSE
        except BaseException as error:  # even SystemExit: the host must hear of it
            self._wire.put_text("\n".join(explain_policy(error)))
            outcome = RAISED
        header[ANSWERED_NS] = time.perf_counter_ns()
        header[OUTCOME] = outcome
        fence()
        header[ANSWERED] = self._answered = asked
        if header[HOST_ASLEEP]:
            try:
                os.write(self._bell, b".")
            except OSError:
                return False  # the host is gone
        return outcome != RAISED

    def start(self) -> None:
        """Shut the process in, then let the policy's code in."""
        resolved, spec, paths = read_payload(self._payload, self._asked["payload_bytes"])
        sys.path[:] = paths
        limit(self._asked["memory_limit"], self._asked["cpu_limit"])
        if self._asked["scratch"]:
            shut_in(Path(self._asked["scratch"]))
        self.policy = build(resolved, spec)
        extra = len(SEATS_OF_PARENTS) if self._asked["heirs"] else 0
        self.memory = allocate(self.policy.memory, self._wire.rows.shape[0] + extra)
        self._wire.header[PLACE_BYTES] = place_bytes(self.policy.memory)

    def take_heirlooms(self, sock: socket.socket) -> None:
        """Receive the memory through which parents pass on what they remember."""
        size = self._wire.header[PLACE_BYTES]
        if size:
            _, handles, _, _ = socket.recv_fds(sock, 1, 1)
            self._heirlooms = np.frombuffer(mapped(handles[0], 3 * size), np.uint8).reshape(3, size)

    def begin(self) -> None:
        """Lives that start."""
        self._wire.header[PEAK_KB] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rows, keys, _, _ = self._wire.asked()
        for array in self.memory.values():
            array[rows.place] = 0
        if self._heirlooms is not None:
            for seat in SEATS_OF_PARENTS:
                _unpack(self._heirlooms[seat], self.memory, seat)
        self.policy.begin(rows, self.memory, keys)

    def ask(self) -> None:
        """A question, and the answer to it."""
        rows, keys, seen, out = self._wire.asked()
        policy = self.policy
        policy.ask(seen, rows, self.memory, keys)
        actions = policy.answer()
        plain = type(actions) is np.ndarray and actions.dtype is _INT64
        out[...] = actions if plain and actions.shape == out.shape else _whole(actions, out.shape)

    def export(self) -> None:
        """Lay down what the one agent here remembers."""
        if self._heirlooms is not None:
            _pack(self.memory, self._heirlooms[0])


def _whole(actions: Any, shape: tuple[int, ...]) -> Ints:
    """The actions as whole numbers of the right shape; what they stand for the host checks."""
    array = np.asarray(actions)
    fault = fault_of(array, shape)
    if fault:
        raise _Nonsense(fault)
    return array.astype(np.int64)


def place_bytes(layout: MemoryLayout) -> int:
    """How much a policy remembers of one life."""
    return sum(math.prod(cell.shape) * np.dtype(cell.dtype).itemsize for cell in layout.values())


def _pack(memory: dict[str, AnyArray], out: AnyArray) -> None:
    at = 0
    for array in memory.values():
        flat = np.ascontiguousarray(array[0]).reshape(-1).view(np.uint8)
        out[at : at + flat.size] = flat
        at += flat.size


def _unpack(blob: AnyArray, memory: dict[str, AnyArray], place: int) -> None:
    at = 0
    for array in memory.values():
        size = array[place].nbytes
        array[place] = blob[at : at + size].view(array.dtype).reshape(array.shape[1:])
        at += size


def limit(megabytes: int | None, seconds: float | None) -> None:
    """Bounds that the system keeps: memory of the process's own, and time on a core."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if megabytes is not None:
        # On Linux what is mapped from files and shared is not counted, which libraries need.
        kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
        resource.setrlimit(kind, (megabytes * 2**20, megabytes * 2**20))
    if seconds is not None:
        whole = max(1, math.ceil(seconds))
        resource.setrlimit(resource.RLIMIT_CPU, (whole, whole))
