"""A policy in a process of its own, behind the same contract."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import wait
from typing import NoReturn

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.errors import PolicyFailedError
from kinfolk.core.spaces import WorldSpec
from kinfolk.evaluation.guest import host_policy
from kinfolk.evaluation.wire import ASK, BEGIN, LEAVE, RAISED, Wire, WireShape
from kinfolk.policies.base import Memory, MemoryLayout, Rows
from kinfolk.policies.resolve import ResolvedPolicy

START_SECONDS = 60.0
_LEAVE_SECONDS = 1.0


class Isolated:
    """Runs a policy in a fresh process and gives it `patience` seconds per answer.

    Its memory lives there too: only observations and actions cross. Starting a process is our
    cost, not the policy's, so it has a limit of its own.

    Covered: a policy that raises, hangs, crashes or answers late. After any of these it is gone.
    Not covered: a hostile policy. It shares our user, files and network.
    """

    def __init__(
        self,
        name: str,
        resolved: ResolvedPolicy,
        spec: WorldSpec,
        capacity: int,
        patience: float = 1.0,
        start_patience: float = START_SECONDS,
    ) -> None:
        shape = WireShape(capacity, spec.row_bytes, spec.heads)
        self._name, self._patience = name, patience
        self._wire = Wire(shape)
        self._question, self._rows, self._closed = 0, 0, False
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=host_policy,
            args=(theirs, self._wire.segment.name, shape, resolved, spec.to_dict()),
            name=f"kinfolk policy {name}",
            daemon=True,
        )
        self._process.start()
        theirs.close()
        self._gather("start", start_patience)

    @property
    def memory(self) -> MemoryLayout:
        """Nothing that the loop would have to keep."""
        return {}

    @property
    def pid(self) -> int:
        """The process it runs in."""
        return self._process.pid or 0

    def begin(self, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Forward; wait until it is done."""
        self._still_there("begin")
        self._wire.put_rows(rows, keys)
        self._send(BEGIN, "begin")
        self._gather("begin", self._patience)

    def ask(self, observations: Bytes, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Forward and come back at once: every slot is asked before the first answer is taken."""
        self._still_there("ask")
        self._rows = len(keys)
        self._wire.put_rows(rows, keys)
        self._wire.observations[: self._rows] = observations
        self._send(ASK, "ask")

    def answer(self) -> Ints:
        """Wait for the actions.

        Raises:
            PolicyFailedError: The policy raised, died or gave no answer in time.
        """
        self._gather("ask", self._patience)
        actions: Ints = self._wire.actions[: self._rows].copy()
        return actions

    def close(self) -> None:
        """Ask it to leave, end it if it does not, and take the shared memory down."""
        if self._closed:
            return
        self._closed = True
        if self._process.is_alive():
            self._wire.header[1] = LEAVE
            try:
                self._pipe.send_bytes(b".")
                self._process.join(_LEAVE_SECONDS)
            except OSError:
                pass  # it has just died by itself
        self._process.kill()
        self._process.join()
        self._pipe.close()
        self._wire.close(remove=True)

    def _still_there(self, method: str) -> None:
        if self._closed:
            raise PolicyFailedError(f"{self._name} has ended and cannot be asked to {method}.")

    def _send(self, kind: int, method: str) -> None:
        self._question += 1
        self._wire.header[:2] = self._question, kind
        try:
            self._pipe.send_bytes(b".")
        except OSError:
            self._fail(f"{self._name} died before {method}")

    def _gather(self, method: str, seconds: float) -> None:
        """Wait for one wake-up, and see that it answers the question that was asked."""
        awake = wait([self._pipe, self._process.sentinel], seconds)
        if self._pipe in awake and self._pipe.poll():
            try:
                self._pipe.recv_bytes(1)
            except (EOFError, OSError):
                self._died(method)
            if self._wire.header[3] != self._question:
                answered = int(self._wire.header[3])
                self._fail(f"{self._name} answered question {answered}, not {self._question}")
            if self._wire.header[4] == RAISED:
                self._fail(f"{self._name} failed in {method}: {self._wire.get_text()}")
        elif awake:
            self._died(method)
        else:
            self._fail(f"{self._name} gave no answer to {method} in {seconds} s")

    def _died(self, method: str) -> NoReturn:
        self._process.join(_LEAVE_SECONDS)
        self._fail(f"{self._name} died in {method} with exit code {self._process.exitcode}")

    def _fail(self, sentence: str) -> NoReturn:
        self._process.kill()
        self.close()
        raise PolicyFailedError(f"{sentence}.")
