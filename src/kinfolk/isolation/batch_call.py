"""One request to many workers at once, and their actions if they reply in time.

From step to step mostly the same workers are called, so requests and replies of all of them are
written and read in a few array operations. Workers that are late, have failed or returned invalid
actions are left to `WorkerPoller.collect`.
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
    """A request for actions to several workers, repeated as long as the same agents live.

    Either each worker plays one row of the batch, or a single worker plays all rows.

    Args:
        buffers: Shared buffers of the workers.
        workers: The workers to call.
        buffer_indices: Index of each worker's buffer in `buffers`.
        rows: Rows of the batch that they play.
    """

    def __init__(
        self,
        buffers: SharedBufferArray,
        workers: Sequence[Worker],
        buffer_indices: Sequence[int],
        rows: Sequence[int],
    ) -> None:
        self._buffers, self.workers = buffers, workers
        self._buffer_indices = _as_slice_or_array(buffer_indices)
        self._rows = _as_slice_or_array(rows)
        single = len(workers) == 1
        self._row_index = (
            (buffer_indices[0], slice(len(rows))) if single else (self._buffer_indices, 0)
        )
        buffers.header[self._buffer_indices, N_ROWS] = len(rows) if single else 1
        buffers.header[self._buffer_indices, COMMAND] = CMD_ACT
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
        self._buffers.rows[self._row_index] = row_block[self._rows]
        self._buffers.header[self._buffer_indices, ROWS_VERSION] = next_rows_version()

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
        memory_fence()
        buffers.header[self._buffer_indices, REQUEST_ID] = self._request_id
        wake_workers(self._wake_fds)

    def collect(self, poller: WorkerPoller) -> list[Worker]:
        """Wait until all workers have replied, or one of them takes long.

        Returns:
            The workers without valid actions: late, failed or with an invalid reply.
        """
        indices, header, request_id = self._buffer_indices, self._buffers.header, self._request_id
        n_workers = n_waits_left = len(self.workers)
        spin_end = 0 if self._spin_backoff else time.perf_counter_ns() + SPIN_NS
        self._spin_backoff = max(0, self._spin_backoff - 1)
        reply_ids = header[indices, REPLY_ID].tolist()
        while reply_ids.count(request_id) < n_workers:
            if time.perf_counter_ns() < spin_end:
                os.sched_yield()
            else:
                if spin_end:
                    self._spin_backoff, spin_end = SPIN_BACKOFF_CALLS, 0
                # Wait for the last worker first: when it has replied, most others have too. The
                # host is then woken once or twice, not once per worker.
                last = max(i for i, reply_id in enumerate(reply_ids) if reply_id != request_id)
                self._set_pending(self.workers[last])
                n_waits_left -= 1  # bounded: a worker may retract its reply
                if not poller.wait_briefly(self.workers[last]) or not n_waits_left:
                    break
                self.workers[last].pending = False
            reply_ids = header[indices, REPLY_ID].tolist()
        memory_fence()
        statuses = header[indices, STATUS].tolist()
        self._pending = False
        if reply_ids.count(request_id) == statuses.count(STATUS_OK) == n_workers:
            return []
        late = [
            worker
            for worker, reply_id, status in zip(self.workers, reply_ids, statuses, strict=True)
            if reply_id != request_id or status != STATUS_OK
        ]
        for worker in late:
            self._set_pending(worker)
        return late

    def read_actions(
        self,
        poller: WorkerPoller,
        late_workers: Sequence[Worker],
        get_noop_actions: Callable[[], Ints],
    ) -> Ints:
        """Return the actions of the whole batch, and record the latencies of the replies.

        Args:
            poller: Records the latencies.
            late_workers: Workers without valid actions, from `collect`.
            get_noop_actions: Returns noop actions of the whole batch, which are used for late
                workers and for rows that no worker plays.

        Returns:
            `[n, heads]`, int64.
        """
        actions = self._buffers.actions[self._row_index]
        replied_ns = self._buffers.header[self._buffer_indices, REPLY_NS]
        if late_workers:
            on_time = np.array([worker not in late_workers for worker in self.workers])
            out, replied_ns = get_noop_actions(), replied_ns[on_time]
            if len(on_time) == len(actions):
                out[np.arange(len(out))[self._rows][on_time]] = actions[on_time]
        elif self._covers_batch:
            out = actions.copy()
        else:
            out = get_noop_actions()
            out[self._rows] = actions
        if not self._all_have_acted:
            for worker in self.workers:
                worker.has_acted = worker.has_acted or worker not in late_workers
            self._all_have_acted = not late_workers
        poller.record_times(replied_ns.copy(), self._sent_ns, time.perf_counter_ns())
        return out

    @property
    def elapsed(self) -> float:
        """Seconds since the request was sent."""
        return 1e-9 * (time.perf_counter_ns() - self._sent_ns)

    def cancel(self) -> None:
        """End the batched call; workers that have not replied become pending one by one."""
        if self._pending:
            for worker in self.workers:
                self._set_pending(worker)

    def _set_pending(self, worker: Worker) -> None:
        if worker.request_id != self._request_id:
            worker.set_pending(self._request_id, self._sent_ns)
        worker.pending = True


def _as_slice_or_array(indices: Sequence[int]) -> Any:
    """Return an index for an array: a slice if the numbers are consecutive, which is faster."""
    first, count = (indices[0], len(indices)) if indices else (0, 0)
    if list(indices) == list(range(first, first + count)):
        return slice(first, first + count)
    return np.array(indices, dtype=np.int64)
