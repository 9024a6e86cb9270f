"""One request to many workers at once, and their actions if they reply in time.

From step to step mostly the same workers are called, so requests and replies of all of them are
written and read in a few array operations. Workers that are late, have failed or returned invalid
actions are left to `WorkerGroup.collect`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.isolation import shared_buffers as shared
from kinfolk.isolation.worker import Worker, draw_request_id, wake_workers

# How long the host spins: a few times what sixteen fast policies take. If that was too short, then
# policies are slow or cores are busy, and the host sleeps at once in the next calls.
_SPIN_NS, _SPIN_BACKOFF_CALLS = 400_000, 8

_measured_calls: list[BatchedCall] = []  # without all replies, of all slots of this process


def note_replies() -> None:
    """Note which workers have replied by now, in all calls whose time is measured.

    Called whenever the host has slept, so that no slot is charged for the time that another took.
    """
    for call in _measured_calls:
        call.note_replies()


class BatchedCall:
    """A request for actions to several workers, repeated as long as the same agents live.

    Args:
        buffers: Shared buffers of the workers.
        workers: The workers to call.
        buffer_indices: Index of each worker's buffer in `buffers`.
        parts: Rows of the batch that each of them plays.
        is_measured: Whether the time of every worker is measured; see `measure_seconds`.
    """

    def __init__(
        self,
        buffers: shared.SharedBufferArray,
        workers: Sequence[Worker],
        buffer_indices: Sequence[int],
        parts: Sequence[slice],
        is_measured: bool = False,
    ) -> None:
        self._buffers, self.workers, self._is_measured = buffers, workers, is_measured
        self._seen_ns: Ints | None = None  # when each reply was first seen; None: all at once
        self._unseen_ns: Ints = np.zeros(0, dtype=np.int64)  # when it was last not there
        self._buffer_indices = _as_slice_or_array(buffer_indices)
        n_rows = [part.stop - part.start for part in parts]
        self._rows = _as_slice_or_array(
            [row for part in parts for row in range(part.start, part.stop)]
        )
        self._worker_of_row = np.repeat(np.arange(len(workers)), n_rows)
        # Where the rows lie in `buffers`: in one buffer, at the start of each, or anywhere.
        self._row_index: tuple[Any, Any]
        if len(workers) == 1:
            self._row_index = (buffer_indices[0], slice(n_rows[0]))
        elif max(n_rows, default=1) == 1:
            self._row_index = (self._buffer_indices, 0)
        else:
            within = np.concatenate([np.arange(n) for n in n_rows])
            self._row_index = (np.repeat(buffer_indices, n_rows), within)
        buffers.header[self._buffer_indices, shared.N_ROWS] = n_rows
        buffers.header[self._buffer_indices, shared.COMMAND] = shared.CMD_ACT
        self._wake_fds = [worker.wake_fd for worker in workers]
        self._key_index = (*self._row_index, 0)
        self._request_id = self._sent_ns = self._spin_backoff = 0
        self._pending = self._all_have_acted = self._covers_batch = False

    def write_rows(self, row_block: AnyArray) -> None:
        """Write the agents of the batch; needed again when more than their keys has changed.

        Args:
            row_block: Rows of the whole batch, as `pack_rows` returns them.
        """
        # `_rows` is an array if some rows are skipped; comparing that with a slice is elementwise.
        rows = self._rows
        self._covers_batch = isinstance(rows, slice) and rows == slice(0, len(row_block))
        self._buffers.rows[self._row_index] = row_block[rows]
        self._buffers.header[self._buffer_indices, shared.ROWS_VERSION] = next(shared.row_versions)

    def send(self, keys: Ints, observations: Bytes) -> None:
        """Send a request for actions to all workers without waiting.

        Args:
            keys: `[n]`, random keys of the whole batch.
            observations: `[n, row_bytes]`, observations of the whole batch.
        """
        buffers = self._buffers
        buffers.rows[self._key_index] = keys[self._rows]
        buffers.observations[self._row_index] = observations[self._rows]
        self._request_id, self._sent_ns = draw_request_id(), time.perf_counter_ns()
        self._pending = True
        if self._is_measured:
            self._seen_ns = None
            _measured_calls.append(self)
        shared.memory_fence()
        buffers.header[self._buffer_indices, shared.REQUEST_ID] = self._request_id
        wake_workers(self._wake_fds)

    def collect(self) -> list[Worker]:
        """Wait until all workers have replied, or a worker that is waited for does not reply soon.

        Returns:
            The workers without valid actions: late, failed or with an invalid reply.
        """
        indices, header, request_id = self._buffer_indices, self._buffers.header, self._request_id
        n_workers = n_waits_left = len(self.workers)
        spin_end = 0 if self._spin_backoff else time.perf_counter_ns() + _SPIN_NS
        self._spin_backoff = max(0, self._spin_backoff - 1)
        reply_ids = header[indices, shared.REPLY_ID].tolist()
        while reply_ids.count(request_id) < n_workers:
            if time.perf_counter_ns() < spin_end:
                os.sched_yield()
            else:
                if spin_end:
                    self._spin_backoff, spin_end = _SPIN_BACKOFF_CALLS, 0
                # Wait for the last worker first: when it has replied, most others have too. The
                # host is then woken once or twice, not once per worker.
                last = max(i for i, reply_id in enumerate(reply_ids) if reply_id != request_id)
                worker = self.workers[last]
                worker.set_pending(request_id, self._sent_ns)
                n_waits_left -= 1  # bounded: a worker may retract its reply
                has_replied = worker.wait_briefly()
                note_replies()
                if not has_replied or not n_waits_left:
                    break
                worker.pending = False
            reply_ids = header[indices, shared.REPLY_ID].tolist()
        shared.memory_fence()
        statuses = header[indices, shared.STATUS].tolist()
        self._pending = False
        if reply_ids.count(request_id) == statuses.count(shared.STATUS_OK) == n_workers:
            return []  # the usual case, once per step
        late = [
            worker
            for worker, reply_id, status in zip(self.workers, reply_ids, statuses, strict=True)
            if reply_id != request_id or status != shared.STATUS_OK
        ]
        for worker in late:
            worker.set_pending(request_id, self._sent_ns)
        return late

    def read_actions(
        self, late_workers: Sequence[Worker], get_noop_actions: Callable[[], Ints]
    ) -> Ints:
        """Return the actions of the whole batch.

        Args:
            late_workers: Workers without valid actions, from `collect`.
            get_noop_actions: Returns noop actions of the whole batch, which are used for late
                workers and for rows that no worker plays.

        Returns:
            `[n, heads]`, int64.
        """
        actions: Ints = self._buffers.actions[self._row_index]
        if late_workers:
            on_time = np.array([worker not in late_workers for worker in self.workers])
            out = get_noop_actions()
            is_answered = on_time[self._worker_of_row]
            out[np.arange(len(out))[self._rows][is_answered]] = actions[is_answered]
        elif self._covers_batch:
            out = actions.copy()
        else:
            out = get_noop_actions()
            out[self._rows] = actions
        if not self._all_have_acted:
            for worker in self.workers:
                worker.has_acted = worker.has_acted or worker not in late_workers
            self._all_have_acted = not late_workers
        return out

    def note_replies(self) -> None:
        """Note when each reply was first seen, and when it was last not there."""
        now = time.perf_counter_ns()
        replied = self._buffers.header[self._buffer_indices, shared.REPLY_ID] == self._request_id
        if self._seen_ns is None:
            self._seen_ns = np.zeros(len(self.workers), dtype=np.int64)
            self._unseen_ns = np.full(len(self.workers), self._sent_ns, dtype=np.int64)
        self._seen_ns[replied & (self._seen_ns == 0)] = now
        self._unseen_ns[~replied] = now

    def measure_seconds(self) -> AnyArray:
        """Return how long each worker took, once all have replied or failed.

        The worker's own time of its reply counts only between the host's looks around it. If the host
        did not have to sleep, nothing is charged: that is less than half a millisecond.
        """
        if self in _measured_calls:
            _measured_calls.remove(self)
        if self._seen_ns is None:
            return np.zeros(len(self.workers))
        self.note_replies()
        claimed = self._buffers.header[self._buffer_indices, shared.REPLY_NS]
        seen = np.where(self._seen_ns > 0, self._seen_ns, time.perf_counter_ns())
        seconds: AnyArray = 1e-9 * (np.clip(claimed, self._unseen_ns, seen) - self._sent_ns)
        return seconds

    @property
    def elapsed(self) -> float:
        """Seconds since the request was sent."""
        return 1e-9 * (time.perf_counter_ns() - self._sent_ns)

    def hand_over(self) -> None:
        """Stop waiting for the batch as a whole, and leave replies to the workers' own handles.

        Requests already sent are not withdrawn: each worker is marked as having a pending request,
        to be collected separately.
        """
        if self in _measured_calls:
            _measured_calls.remove(self)
        if self._pending:
            for worker in self.workers:
                worker.set_pending(self._request_id, self._sent_ns)


def _as_slice_or_array(indices: Sequence[int]) -> Any:
    """Return an index for an array: a slice if the numbers are consecutive, which is faster."""
    first, count = (indices[0], len(indices)) if indices else (0, 0)
    if list(indices) == list(range(first, first + count)):
        return slice(first, first + count)
    return np.array(indices, dtype=np.int64)
