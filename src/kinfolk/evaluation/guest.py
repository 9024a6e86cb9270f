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
from kinfolk.core.scratch import Scratch
from kinfolk.core.spaces import WorldSpec
from kinfolk.core.tracebacks import NOTHING_RAISED, Explained
from kinfolk.evaluation.care import Care
from kinfolk.evaluation.failures import FAULTS
from kinfolk.evaluation.failures import NONSENSE as UNNAMED_FAULT
from kinfolk.evaluation.nursery import Nursery
from kinfolk.evaluation.wire import (
    ANSWERED,
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
    ROW_BYTES,
    ROWS,
    VERSION,
    Wire,
    WireShape,
    anonymous_memory,
    fence,
    mapped,
    new_version,
)
from kinfolk.policies.resolve import ResolvedPolicy

Raw: TypeAlias = bytes | memoryview
LEAVE_SECONDS = 1.0
_LARGEST_HEIRLOOM = 256 * 2**20
_ROOM = 65536  # bytes of wake-ups, as many as a pipe holds; one is usual


@dataclass(frozen=True)
class Trouble:
    """Why a guest is of no more use: `cause` is raised, hung or died."""

    cause: str
    detail: str
    explained: Explained = NOTHING_RAISED

    def told(self, method: str) -> str:
        """What happened, as the end of a sentence."""
        if self.cause == "raised":
            return f"{method} raised {self.detail}"
        if self.cause == "hung":
            return f"no answer to {method} in {self.detail} s"
        return f"its process died in {method} with exit code {self.detail}"


class Payload:
    """A policy and a world's spec, laid down once for all guests that play them."""

    def __init__(self, resolved: ResolvedPolicy, spec: WorldSpec) -> None:
        about = {
            "class_path": resolved.class_path,
            "settings": dict(resolved.settings),
            "spec": spec.to_dict(),
            "sys_path": [path or os.getcwd() for path in sys.path],
        }
        data = json.dumps(about).encode()
        data = len(data).to_bytes(8, "little") + data + _packed(resolved.arrays)
        self.resolved, self.spec, self.size = resolved, spec, len(data)
        self.handle = anonymous_memory(self.size)
        with mapped(self.handle, self.size) as memory:
            memory[:] = data

    def close(self) -> None:
        """Let go of it."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1


class Guest:
    """A process with one policy. Ask it with `post`, and `gather` what it says.

    `heirs` is for a process of a single agent, which can pass on what it remembers to its
    children's processes.
    """

    def __init__(
        self, nursery: Nursery, payload: Payload, capacity: int, care: Care, heirs: bool = False
    ) -> None:
        shape = WireShape(capacity, payload.spec.row_bytes, payload.spec.heads)
        size = sum(shape.parts)
        self._nursery, self.payload, self.capacity, self.heirs = nursery, payload, capacity, heirs
        self._scratch = Scratch("guest-") if care.sandbox else None
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        # Pipes wake a process in two thirds of the time that a socket takes.
        woken, self.bell = os.pipe()
        self._ear, spoken = os.pipe()
        for end in (self.bell, self._ear):
            os.set_blocking(end, False)  # whatever is done at the other end, the host never waits
        self.handle = anonymous_memory(size)
        self.wire = Wire(shape, self.handle)
        self.question = self.wire.header[QUESTION] = draw_question()
        self._stale = self._printed_before = self._rings_owed = 0
        self._dozed = False  # while it was asked the present question
        self.has_played = False
        self.heirlooms: AnyArray | None = None
        self.closed = False
        self.awaited = True  # it has not answered yet; at first, that it has started
        asked = {
            "capacity": capacity,
            "row_bytes": shape.row_bytes,
            "heads": shape.heads,
            "payload_bytes": payload.size,
            "memory_limit": care.memory_limit,
            "cpu_limit": care.cpu_limit,
            "scratch": str(self._scratch.folder) if self._scratch else "",
            "heirs": heirs,
        }
        self.posted = time.perf_counter_ns()
        try:
            handles = [theirs.fileno(), woken, spoken, self.handle, payload.handle]
            self.pid = nursery.fork(asked, handles)
        except BaseException:
            self._let_go()
            raise
        finally:
            theirs.close()
            for end in (woken, spoken):
                os.close(end)

    def fileno(self) -> int:
        """What becomes readable when it has answered."""
        return self._ear

    @property
    def printed(self) -> int:
        """Characters that its policy printed, to nobody, since it was taken."""
        return int(self.wire.header[PRINTED]) - self._printed_before

    def forget_counts(self) -> None:
        """Somebody else takes it over."""
        self.hear_rings(answered=True)
        self._stale, self._printed_before = 0, int(self.wire.header[PRINTED])

    def post(self, kind: int, rows: Raw = b"", seen: Raw = b"") -> None:
        """Ask, and come back at once; if it has died, `gather` will find that.

        Args:
            kind: BEGIN, ASK and so on.
            rows: Bytes of the rows it is about, as `lay_rows` makes them.
            seen: Bytes of what they see.
        """
        header = self.wire.header
        if rows:
            header[ROWS], header[VERSION] = len(rows) // ROW_BYTES, new_version()
            self.wire.row_bytes[: len(rows)] = rows
            self.wire.seen_bytes[: len(seen)] = seen
        self.expect(draw_question(), time.perf_counter_ns())
        header[KIND] = kind
        fence()
        header[QUESTION] = self.question
        self.rouse()

    def expect(self, question: int, posted: int) -> None:
        """It is asked this, at this time; what it says from now on is compared to it."""
        self.question, self.posted, self.awaited, self._dozed = question, posted, True, False

    def rouse(self) -> None:
        """Wake it."""
        rouse((self.bell,))

    def doze(self, asleep: bool) -> None:
        """Say whether the host wants to be woken by its answer."""
        self.wire.header[HOST_ASLEEP] = asleep
        if asleep and not self._dozed:
            # The wake-up may still be under way when its answer has long been seen.
            self._dozed, self._rings_owed = True, min(2, self._rings_owed + 1)

    def has_spoken(self) -> bool:
        """Whether its last word is about the present question."""
        return self.wire.header[ANSWERED] == self.question

    def hear_rings(self, answered: bool) -> bool:
        """Count wake-ups that come with no answer; False if it can wake us no more."""
        try:
            data = os.read(self._ear, _ROOM)
        except BlockingIOError:
            return True
        owed = self._rings_owed - (self._dozed and not answered)
        explained = min(owed, len(data))
        self._rings_owed -= explained
        self._stale += len(data) - explained
        return bool(data)

    def listen(self) -> Trouble | str | None:
        """What it said: trouble, "" for an answer, the fault of a faulty one, None for nothing."""
        header = self.wire.header
        answered = self.awaited and self.has_spoken()
        if not answered:
            return None if self.hear_rings(answered=False) else self.died()
        fence()
        if self._dozed:
            self.hear_rings(answered=True)
        self.awaited = False
        outcome = header[OUTCOME]
        if outcome == RAISED:
            what, where, trace = (*self.wire.get_text().split("\n", 2), "", "")[:3]
            return Trouble("raised", what, Explained(what, where, trace))
        if outcome != NONSENSE:
            return ""
        said = self.wire.get_text()
        return said if said in FAULTS else UNNAMED_FAULT

    @property
    def stale(self) -> int:
        """Wake-ups without an answer to the question that was asked, since it was taken."""
        if not self.closed:
            self.hear_rings(answered=not self.awaited)
        return self._stale

    def died(self) -> Trouble:
        """It has ended, or is ending: how."""
        code = self._nursery.exit_code(self.pid, LEAVE_SECONDS)
        return Trouble("died", str(code))

    def has_died(self) -> bool:
        """Whether its process is known to have ended."""
        return self._nursery.exit_code(self.pid) is not None

    def share_heirlooms(self) -> None:
        """After its start: give it the memory through which it passes on what it remembers."""
        size = int(self.wire.header[PLACE_BYTES])
        if not self.heirs or size <= 0:
            return
        size = min(size, _LARGEST_HEIRLOOM)
        handle = anonymous_memory(3 * size)
        self.heirlooms = np.frombuffer(mapped(handle, 3 * size), np.uint8).reshape(3, size)
        socket.send_fds(self._socket, [b"."], [handle])
        os.close(handle)

    @property
    def peak_megabytes(self) -> float:
        """The most memory it says it has held."""
        return int(self.wire.header[PEAK_KB]) / 1024

    def close(self, politely: bool = False) -> None:
        """End it; `politely` gives its policy a moment to close by itself. May be called twice."""
        if self.closed:
            return
        if politely:
            self.post(LEAVE)
            self._nursery.exit_code(self.pid, LEAVE_SECONDS)
        self._nursery.kill(self.pid)
        self._let_go()

    def _let_go(self) -> None:
        self.closed = True
        self.heirlooms = None
        self._socket.close()
        os.close(self.bell)
        os.close(self._ear)
        os.close(self.handle)
        self.wire.close()
        if self._scratch is not None:
            self._scratch.remove()


def rouse(bells: Sequence[int]) -> None:
    """Wake all who listen at these handles."""
    write = os.write
    for bell in bells:
        try:  # noqa: SIM105, once per agent and step: `suppress` takes as long as the write
            write(bell, b".")
        except OSError:  # it has died, or has many wake-ups to read
            pass


def draw_question() -> int:
    """A number for a question: drawn, so that none can be answered before it is asked."""
    return random.getrandbits(62)


def _packed(arrays: Arrays) -> bytes:
    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
