"""Guests that are asked together: all are asked first, then all answers are gathered."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from select import POLLIN, poll

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.isolation.forkserver import ForkServerClient
from kinfolk.isolation.shared_buffers import REPLY_NS
from kinfolk.isolation.worker import Worker, WorkerError

# A wake-up can be missed when both ends go to sleep in the same moment; so neither sleeps longer.
_MAX_WAIT_SECONDS = 0.02


class WorkerPoller:
    """Waits for many guests."""

    def __init__(self, forkserver: ForkServerClient) -> None:
        self._forkserver = forkserver
        self._polls: dict[Worker, poll] = {}
        # When guests say they answered, when they were asked and when they were heard, in ns.
        self._times: list[tuple[AnyArray, int, int]] = []

    def add(self, worker: Worker) -> None:
        """Wait for this one too: for its word, and for the news that a process has ended."""
        ear = self._polls[worker] = poll()
        ear.register(worker.fileno(), POLLIN)
        ear.register(self._forkserver.fileno(), POLLIN)

    def record_times(self, replied_ns: AnyArray, sent_ns: int, received_ns: int) -> None:
        """Write down when guests answered; reckoned only when somebody wants to know."""
        self._times.append((replied_ns, sent_ns, received_ns))

    @property
    def latencies(self) -> AnyArray:
        """Seconds from each question to its answer.

        By the guests' own watches, which cannot tell of more than has passed.
        """
        spent = [np.clip(told, asked, heard) - asked for told, asked, heard in self._times]
        return 1e-9 * np.concatenate([np.zeros(0), *spent])

    def remove(self, worker: Worker) -> None:
        """Before it is closed."""
        self._polls.pop(worker, None)

    def collect(
        self,
        workers: Iterable[Worker],
        timeout: float,
        start_timeout: float = 0.0,
        elapsed: float = 0.0,
    ) -> Iterator[tuple[Worker, WorkerError | str]]:
        """What each says to what it was asked last: trouble, a fault, or "" for an answer.

        Whoever says nothing for `timeout` is in trouble; a process that has not played yet has
        `start_timeout` instead, because libraries load and compile then. `elapsed` of it has passed already.
        """
        pending = list(workers)
        if start_timeout and any(not guest.has_acted for guest in pending):
            timeout = max(timeout, start_timeout)
        end = time.monotonic() + timeout - elapsed
        # Who was asked last is waited for first: when it has answered, most others have too. So
        # the host is woken once or twice, not once for each of them, and takes no core from them.
        for guest in reversed(pending):
            said = self._wait_for_reply(guest, end)
            if not isinstance(said, WorkerError):
                told = np.array([guest.buffer.header[REPLY_NS]])
                self.record_times(told, guest.sent_ns, time.perf_counter_ns())
            elif said.cause == "timeout":
                said = WorkerError("timeout", f"{timeout:g}")
            yield guest, said

    def wait_briefly(self, worker: Worker) -> bool:
        """Sleep until this one has answered; False if something else came, or nothing."""
        worker.set_host_waiting(True)
        if not worker.has_replied():
            self._polls[worker].poll(1000.0 * _MAX_WAIT_SECONDS)
        worker.set_host_waiting(False)
        answered = worker.has_replied()
        worker.drain_wakeups(answered)
        return answered

    def _wait_for_reply(self, worker: Worker, deadline: float) -> WorkerError | str:
        said = worker.poll()
        while said is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return WorkerError("timeout", "")
            # The pipe of a process that has ended may be held open by a child it left behind.
            if worker.has_exited():
                last = worker.poll()  # it may have spoken before
                return worker.describe_exit() if last is None else last
            worker.set_host_waiting(True)
            said = worker.poll()
            if said is None:
                self._polls[worker].poll(1000.0 * min(left, _MAX_WAIT_SECONDS))
                said = worker.poll()
            worker.set_host_waiting(False)
        return said
