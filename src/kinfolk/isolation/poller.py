"""Waits for the replies of many workers that were sent requests together."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from select import POLLIN, poll

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.isolation.forkserver import ForkServerClient
from kinfolk.isolation.shared_buffers import REPLY_NS
from kinfolk.isolation.worker import Worker, WorkerError

# A wake-up can be missed if host and worker go to sleep at the same moment; so sleeps are short.
_MAX_WAIT_SECONDS = 0.02


class WorkerPoller:
    """Waits for replies of workers and records their latencies.

    Args:
        forkserver: Reports processes that have exited.
    """

    def __init__(self, forkserver: ForkServerClient) -> None:
        self._forkserver = forkserver
        self._polls: dict[Worker, poll] = {}
        # Nanoseconds of replies by the workers' clocks, of sending and of receiving.
        self._times: list[tuple[AnyArray, int, int]] = []

    def add(self, worker: Worker) -> None:
        """Watch a worker: its replies, and the fork server's reports of exits."""
        poller = self._polls[worker] = poll()
        poller.register(worker.fileno(), POLLIN)
        poller.register(self._forkserver.fileno(), POLLIN)

    def record_times(self, replied_ns: AnyArray, sent_ns: int, received_ns: int) -> None:
        """Record the times of a request; latencies are computed on demand.

        Args:
            replied_ns: `[workers]`, times of the replies by the workers' clocks.
            sent_ns: Time of sending.
            received_ns: Time at which the host saw the replies.
        """
        self._times.append((replied_ns, sent_ns, received_ns))

    @property
    def latencies(self) -> AnyArray:
        """Seconds from each request to its reply.

        Workers report the time of their reply themselves; it is clipped to the time that passed.
        """
        durations = [
            np.clip(replied, sent, received) - sent for replied, sent, received in self._times
        ]
        return 1e-9 * np.concatenate([np.zeros(0), *durations])

    def remove(self, worker: Worker) -> None:
        """Stop watching a worker; called before it is closed."""
        self._polls.pop(worker, None)

    def collect(
        self,
        workers: Iterable[Worker],
        timeout: float,
        start_timeout: float = 0.0,
        elapsed: float = 0.0,
    ) -> Iterator[tuple[Worker, WorkerError | str]]:
        """Wait for the replies of workers to their last requests.

        Args:
            workers: Workers with a pending request.
            timeout: Seconds until a worker without a reply has failed.
            start_timeout: Seconds instead of `timeout` if this is larger and a worker has not acted
                yet, because libraries load and kernels compile then.
            elapsed: Seconds that have passed already since the requests were sent.

        Yields:
            Each worker with "" for success, the reason of invalid actions, or its error.
        """
        pending = list(workers)
        if start_timeout and any(not worker.has_acted for worker in pending):
            timeout = max(timeout, start_timeout)
        deadline = time.monotonic() + timeout - elapsed
        # Wait for the last worker first: when it has replied, most others have too. The host is then
        # woken once or twice, not once per worker, and does not compete with them for a core.
        for worker in reversed(pending):
            reply = self._wait_for_reply(worker, deadline)
            if not isinstance(reply, WorkerError):
                replied_ns = np.array([worker.buffer.header[REPLY_NS]])
                self.record_times(replied_ns, worker.sent_ns, time.perf_counter_ns())
            elif reply.cause == "timeout":
                reply = WorkerError("timeout", f"{timeout:g}")
            yield worker, reply

    def wait_briefly(self, worker: Worker) -> bool:
        """Sleep until a worker has replied or 20 ms have passed; return whether it has replied."""
        worker.set_host_waiting(True)
        if not worker.has_replied():
            self._polls[worker].poll(1000.0 * _MAX_WAIT_SECONDS)
        worker.set_host_waiting(False)
        replied = worker.has_replied()
        worker.drain_wakeups(replied)
        return replied

    def _wait_for_reply(self, worker: Worker, deadline: float) -> WorkerError | str:
        """Wait for a reply until `deadline` on the monotonic clock."""
        reply = worker.poll()
        while reply is None:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return WorkerError("timeout", "")
            # A child of an exited process may hold its pipe open, so ask the fork server too.
            if worker.has_exited():
                last_reply = worker.poll()  # sent before it exited
                return worker.describe_exit() if last_reply is None else last_reply
            worker.set_host_waiting(True)
            reply = worker.poll()
            if reply is None:
                self._polls[worker].poll(1000.0 * min(remaining, _MAX_WAIT_SECONDS))
                reply = worker.poll()
            worker.set_host_waiting(False)
        return reply
