"""One question to many guests at once, and the answers of those that gave a sound one in time.

What is asked from step to step, mostly of the same guests, is written and read for all of them in a
few operations. Whoever is late, has failed or answered nonsense is left to `Circle.gather`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.isolation.poller import WorkerPoller
from kinfolk.isolation.shared_buffers import (
    CMD_ACT,
    COMMAND,
    N_ROWS,
    REPLY_ID,
    REPLY_NS,
    REQUEST_ID,
    ROWS_VERSION,
    SPIN_BACKOFF_CALLS,
    SPIN_NS,
    STATUS,
    STATUS_OK,
    SharedBufferArray,
    memory_fence,
    next_rows_version,
)
from kinfolk.isolation.worker import Worker, draw_request_id, wake_workers


class BatchedCall:
    """Guests at a table who are asked together, as long as the same agents play.

    Either each of them plays one row, or there is one guest, who plays all.

    Args:
        table: Where they sit.
        guests: Who is asked.
        seats: Where each of them sits.
        rows: Which rows of the batch they play.
    """

    def __init__(
        self,
        buffers: SharedBufferArray,
        workers: Sequence[Worker],
        buffer_indices: Sequence[int],
        rows: Sequence[int],
    ) -> None:
        self._buffers, self.workers = buffers, workers
        self._buffer_indices, self._rows = (
            _as_slice_or_array(buffer_indices),
            _as_slice_or_array(rows),
        )
        alone = len(workers) == 1
        self._row_index = (
            (buffer_indices[0], slice(len(rows))) if alone else (self._buffer_indices, 0)
        )
        buffers.header[self._buffer_indices, N_ROWS] = len(rows) if alone else 1
        buffers.header[self._buffer_indices, COMMAND] = CMD_ACT
        self._wake_fds, self._key_index = (
            [guest.wake_fd for guest in workers],
            (*self._row_index, 0),
        )
        self._request_id = self._sent_ns = self._spin_backoff = 0
        self._pending = self._all_have_acted = self._covers_batch = False

    def write_rows(self, row_block: AnyArray) -> None:
        """Tell who the agents are; said again when more has changed than their keys.

        Args:
            row_block: The rows of the whole batch, as `lay_rows` makes them.
        """
        # An array when some in between are not asked; it compares with a slice item by item.
        rows = self._rows
        self._covers_batch = isinstance(rows, slice) and rows == slice(0, len(row_block))
        self._buffers.rows[self._row_index] = row_block[self._rows]
        self._buffers.header[self._buffer_indices, ROWS_VERSION] = next_rows_version()

    def send(self, keys: Ints, observations: Bytes) -> None:
        """Ask all, and come back at once.

        Args:
            keys: Of the whole batch.
            observations: What it sees.
        """
        table, seats = self._buffers, self._buffer_indices
        table.rows[self._key_index] = keys[self._rows]
        table.observations[self._row_index] = observations[self._rows]
        self._request_id, self._sent_ns = draw_request_id(), time.perf_counter_ns()
        self._pending = True
        memory_fence()
        table.header[seats, REQUEST_ID] = self._request_id
        wake_workers(self._wake_fds)

    def collect(self, poller: WorkerPoller) -> list[Worker]:
        """Wait until all have answered, or something else happens; who gave no sound answer."""
        seats, header, question = self._buffer_indices, self._buffers.header, self._request_id
        many = naps_left = len(self.workers)
        end = 0 if self._spin_backoff else time.perf_counter_ns() + SPIN_NS
        self._spin_backoff = max(0, self._spin_backoff - 1)
        answered = header[seats, REPLY_ID].tolist()
        while answered.count(question) < many:
            if time.perf_counter_ns() < end:
                os.sched_yield()
            else:
                if end:
                    self._spin_backoff, end = SPIN_BACKOFF_CALLS, 0
                # Who was asked last is waited for first: when it has answered, most others have
                # too. So the host is woken once or twice, not once for each of them.
                last = max(i for i, number in enumerate(answered) if number != question)
                self._set_pending(self.workers[last])
                naps_left -= 1  # one for each at most: a guest may take its answer back
                if not poller.wait_briefly(self.workers[last]) or not naps_left:
                    break
                self.workers[last].pending = False
            answered = header[seats, REPLY_ID].tolist()
        memory_fence()
        outcomes = header[seats, STATUS].tolist()
        self._pending = False
        if answered.count(question) == outcomes.count(STATUS_OK) == many:
            return []
        late = [
            guest
            for guest, number, outcome in zip(self.workers, answered, outcomes, strict=True)
            if number != question or outcome != STATUS_OK
        ]
        for guest in late:
            self._set_pending(guest)
        return late

    def read_actions(
        self,
        poller: WorkerPoller,
        late_workers: Sequence[Worker],
        get_noop_actions: Callable[[], Ints],
    ) -> Ints:
        """The actions of the whole batch; of `late_workers` and of who is not asked, what `get_noop_actions` gives."""
        actions, told = (
            self._buffers.actions[self._row_index],
            self._buffers.header[self._buffer_indices, REPLY_NS],
        )
        if late_workers:
            sound = np.array([guest not in late_workers for guest in self.workers])
            out, told = get_noop_actions(), told[sound]
            if len(sound) == len(actions):
                out[np.arange(len(out))[self._rows][sound]] = actions[sound]
        elif self._covers_batch:
            out = actions.copy()
        else:
            out = get_noop_actions()
            out[self._rows] = actions
        if not self._all_have_acted:
            for guest in self.workers:
                guest.has_acted = guest.has_acted or guest not in late_workers
            self._all_have_acted = not late_workers
        poller.record_times(told.copy(), self._sent_ns, time.perf_counter_ns())
        return out

    @property
    def elapsed(self) -> float:
        """Seconds since they were asked."""
        return 1e-9 * (time.perf_counter_ns() - self._sent_ns)

    def cancel(self) -> None:
        """They are asked together no more; who has not been heard is awaited still."""
        if self._pending:
            for guest in self.workers:
                self._set_pending(guest)

    def _set_pending(self, worker: Worker) -> None:
        if worker.request_id != self._request_id:
            worker.set_pending(self._request_id, self._sent_ns)
        worker.pending = True


def _as_slice_or_array(indices: Sequence[int]) -> Any:
    """An index for these numbers: a slice where they follow each other, which is quicker."""
    first, many = (indices[0], len(indices)) if indices else (0, 0)
    if list(indices) == list(range(first, first + many)):
        return slice(first, first + many)
    return np.array(indices, dtype=np.int64)
