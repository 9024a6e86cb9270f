"""The worker processes of one slot: started, restarted after failures, released and reset."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.isolation import shared_buffers as shared
from kinfolk.isolation.batched_call import note_replies
from kinfolk.isolation.failures import WHOLE_SLOT, FailureLog, WorkerError
from kinfolk.isolation.limits import ResourceLimits, Usage, WorkerStats
from kinfolk.isolation.shared_buffers import (
    AGENT_INDEX_COLUMN,
    PARENT_INDEX_COLUMNS,
    WORLD_COLUMN,
)
from kinfolk.isolation.supervised_worker import SupervisedWorker
from kinfolk.isolation.worker import Worker
from kinfolk.isolation.worker_pool import WorkerPool

_SIZE_CHECK_SECONDS = 0.05  # between checks of limits of memory and processes
# Workers, each with the slice of a block of rows that it plays.
WorkerParts: TypeAlias = Sequence[tuple[SupervisedWorker, slice]]


class WorkerGroup:
    """The workers of one slot: one per agent, or one per world for its agents there.

    Blocks of rows are as `pack_rows` returns them.

    Args:
        failure_log: Names the policy and records its failures.
        pool: Starts workers and ends them.
        rows: Largest number of live agents in a world.
        per_agent: Whether every agent has its own worker.

    Attributes:
        agents_per_worker: Capacity of a worker.
        n_restarts: Number of restarts in all episodes.
        peak_processes: Largest number of workers at a time.
        latencies: Seconds from each request to the replies of all workers.
        limits: Limits of time and memory.
        match_usage: Seconds that the slot has used in all episodes of the match.
        task_usage: Seconds of them that this group has used.
    """

    def __init__(
        self, failure_log: FailureLog, pool: WorkerPool, rows: int, per_agent: bool
    ) -> None:
        self.limits = ResourceLimits(failure_log.settings)
        self.match_usage, self.task_usage = Usage(), Usage()
        self._last_size_check = 0.0
        self._failure_log, self._settings = failure_log, failure_log.settings
        self._pool, self.per_agent = pool, per_agent
        self.agents_per_worker = 1 if per_agent else rows
        self._workers: defaultdict[int, SupervisedWorker] = defaultdict(SupervisedWorker)
        self.n_restarts = self.peak_processes = 0
        self.latencies: list[float] = []
        self._released_stats = WorkerStats()
        self._seen_ns: dict[Worker, int] = {}  # when replies of the last `collect` were seen

    @property
    def stats(self) -> WorkerStats:
        """Counts over all workers of the slot so far."""
        counts = self._released_stats
        for worker in self._running():
            counts = counts.merge(worker.stats)
        return counts

    def start_episode(self) -> None:
        """End the workers of the last episode, with all that the policy kept in them."""
        self.close()

    def clear_failures(self) -> None:
        """Forget failures, so that failed workers are started again."""
        for supervised in self._workers.values():
            supervised.clear_failures()

    def get_unit(self, row: AnyArray) -> int:
        """Return which worker plays a row of a block: the agent's own, or that of its world."""
        return int(row[AGENT_INDEX_COLUMN]) // self.agents_per_worker

    def split_rows(self, row_block: AnyArray) -> WorkerParts:
        """Return the worker of each part of a block of rows, and the part as a slice."""
        if not len(row_block):
            return []
        units = row_block[:, AGENT_INDEX_COLUMN] // self.agents_per_worker  # in ascending order
        starts = [0, *(np.flatnonzero(np.diff(units)) + 1).tolist()]
        parts = []
        for start, stop in pairwise([*starts, len(units)]):
            parts.append((self._workers[int(units[start])], slice(start, stop)))
        return parts

    def localize(self, row_block: AnyArray) -> None:
        """Number the agents of a block as their workers do, which know nothing of other worlds."""
        row_block[:, AGENT_INDEX_COLUMN] %= self.agents_per_worker
        if not self.per_agent:  # whose parents are in other workers
            parents = row_block[:, PARENT_INDEX_COLUMNS]
            parents[...] = np.where(parents >= 0, parents % self.agents_per_worker, -1)
            worlds = row_block[:, WORLD_COLUMN]
            worlds[...] = np.minimum(worlds, 0)  # -1 marks a batch of `ResetArguments`

    def reset_agents(self, row_block: AnyArray) -> None:
        """Reset new agents in their workers and wait for all of them, starting workers as needed."""
        parts = self.split_rows(row_block)
        for supervised, part in parts:
            if self.per_agent:  # a new agent starts without failures
                supervised.clear_failures()
            for row in row_block[part]:
                supervised.initial_rows[int(row[AGENT_INDEX_COLUMN])] = row.copy()
        exceeded = self.limits.explain_match(self.match_usage)
        if exceeded:
            for supervised, _ in parts:
                self.handle_failure(supervised, WorkerError("limit", exceeded), "reset_agents")
        self._start([supervised for supervised, _ in parts if not supervised.has_failed])
        if self.per_agent:
            self._copy_parent_memory(parts, row_block)
        self._send_resets([(supervised, row_block[part]) for supervised, part in parts])

    def restart_failed(self, parts: WorkerParts, row_block: AnyArray) -> None:
        """Start failed workers that may be restarted, and reset their agents without memory.

        Args:
            parts: Workers with their parts of the block.
            row_block: Rows of the live agents.
        """
        while failed := [(s, part) for s, part in parts if s.worker is None and not s.has_failed]:
            self._start([supervised for supervised, _ in failed])
            resets = []
            for supervised, part in failed:
                indices = row_block[part, AGENT_INDEX_COLUMN].tolist()
                rows = np.array([supervised.initial_rows[index] for index in indices])
                rows[:, PARENT_INDEX_COLUMNS] = -1
                resets.append((supervised, rows))
            self._send_resets(resets)

    def release_dead(self, row_block: AnyArray) -> None:
        """Release the workers of agents that are not in a block of live rows.

        Called after new agents were reset, because they copy memory from workers of dead parents.
        """
        live = set(row_block[:, AGENT_INDEX_COLUMN].tolist())
        for index in [index for index in self._workers if index not in live]:
            self._release(self._workers.pop(index))

    def collect_calls(
        self, workers: Collection[Worker], elapsed: float = 0.0
    ) -> dict[Worker, WorkerError | str]:
        """Wait for the replies of workers that were asked to reset agents or to act.

        A worker that has not acted yet has the timeout of the start, if that is larger, because libraries
        load and kernels compile then. If a worker of the same policy has exceeded it before, it has the
        timeout of a step: a policy that hangs would cost that time in every episode.

        Args:
            workers: Workers with a pending request.
            elapsed: Seconds that have passed already since the requests were sent.
        """
        settings, timeouts = self._settings, dict[Worker, float]()
        for worker in workers:
            timeouts[worker] = settings.step_timeout
            if not (worker.has_acted or worker.payload.first_call_timed_out):
                timeouts[worker] = max(settings.step_timeout, settings.start_timeout)
        replies = self.collect(timeouts, elapsed)
        for worker, reply in replies.items():
            is_timeout = isinstance(reply, WorkerError) and reply.cause == "timeout"
            if is_timeout and not worker.has_acted:
                worker.payload.first_call_timed_out = True
                # Without seconds: they depend on what this process has played before.
                replies[worker] = WorkerError("timeout", "in its first call")
        return replies

    def collect(
        self, timeouts: Mapping[Worker, float], elapsed: float = 0.0
    ) -> dict[Worker, WorkerError | str]:
        """Wait for the replies of workers to their last requests.

        Args:
            timeouts: Seconds until a worker without a reply has failed, by worker.
            elapsed: Seconds that have passed already since the requests were sent.

        Returns:
            By worker, "" for success, the reason of invalid actions, or its error.
        """
        start = time.monotonic() - elapsed
        replies = {}
        self._seen_ns.clear()

        def note_all_replies() -> None:
            """Note the time of replies of these and of other workers, after each sleep."""
            note_replies()
            for worker in (worker for worker in timeouts if worker.has_replied()):
                self._seen_ns.setdefault(worker, time.perf_counter_ns())

        # Wait for the last worker first: when it has replied, most others have too. The host is then
        # woken once or twice, not once per worker, and does not compete with them for a core.
        last_first = list(timeouts)[::-1]
        for worker in sorted(last_first, key=timeouts.__getitem__):
            timeout = timeouts[worker]
            replies[worker] = worker.wait(timeout, start + timeout, note_all_replies)
            self._seen_ns.setdefault(worker, time.perf_counter_ns())
            worker.has_failed = isinstance(replies[worker], WorkerError)
        return {worker: replies[worker] for worker in timeouts}

    def charge(
        self, supervised: SupervisedWorker, wall_seconds: float, of_episode: bool = True
    ) -> WorkerError | None:
        """Charge a worker's time since its last request, and check all limits of time.

        Args:
            supervised: The worker, which is running.
            wall_seconds: How long it took to reply.
            of_episode: Whether the time counts for the episode too; else for the match only.

        Returns:
            An error if a limit is exceeded.
        """
        worker, limits = supervised.worker, self.limits
        assert worker is not None
        cpu_seconds = worker.meter.take_cpu_seconds() if limits.measures_cpu else 0.0
        self.match_usage.add(wall_seconds, cpu_seconds)
        self.task_usage.add(wall_seconds, cpu_seconds)
        exceeded = limits.explain_match(self.match_usage)
        if of_episode:
            supervised.usage.add(wall_seconds, cpu_seconds)
            exceeded = exceeded or limits.explain_episode(supervised.usage)
            exceeded = exceeded or limits.explain_step(cpu_seconds, 0.0)
        return WorkerError("limit", exceeded) if exceeded else None

    def check_size(self) -> bool:
        """End workers that exceed limits of memory or processes; return whether one was ended."""
        now, is_ended = time.monotonic(), False
        if now - self._last_size_check < _SIZE_CHECK_SECONDS:
            return is_ended
        self._last_size_check = now
        for supervised in self._workers.values():
            worker = supervised.worker
            exceeded = worker.meter.explain_size() if worker is not None else ""
            if exceeded:
                self.handle_failure(supervised, WorkerError("limit", exceeded), "act_async")
                is_ended = True
        return is_ended

    def handle_failure(self, supervised: SupervisedWorker, error: WorkerError, method: str) -> None:
        """End a failed worker and record the failure, or raise as the settings say.

        A worker that has exceeded a limit is not restarted in this episode.

        Args:
            supervised: The worker; it may be restarted later unless `has_failed` is set here.
            error: What happened.
            method: Method of the policy that was called.

        Raises:
            RetrySerially: Several episodes are played side by side.
            PolicyFailedError: `on_failure` is `abort`.
        """
        worker, is_final = supervised.worker, error.cause == "limit"
        if worker is not None and self.limits.measures_time:  # of the request that failed
            self.charge(supervised, 1e-9 * (time.perf_counter_ns() - worker.sent_ns))
        self._release(supervised)
        supervised.has_failed = True
        agent = supervised.first_uid if self.per_agent else WHOLE_SLOT
        n_restarts = self._settings.max_restarts if is_final else supervised.n_restarts
        may_restart = self._failure_log.handle_failure(
            agent, error.cause, error.describe(method), error.error, n_restarts
        )
        supervised.n_restarts += may_restart
        self.n_restarts += may_restart
        supervised.has_failed = not may_restart

    def close(self) -> None:
        """End all workers."""
        for supervised in self._workers.values():
            self._release(supervised)
        self._workers.clear()

    def _start(self, workers: Sequence[SupervisedWorker]) -> None:
        """Start those workers that are not running, concurrently, and handle failures of starting."""
        log, starting = self._failure_log, dict[Worker, SupervisedWorker]()
        start_timeout = self._settings.start_timeout
        stopped = [supervised for supervised in workers if supervised.worker is None]
        if self._pool.get_payload(log.resolved, log.spec).start_timed_out:
            for supervised in stopped:
                timed_out = WorkerError("timeout", f"after {start_timeout:g} s")
                self.handle_failure(supervised, timed_out, "start")
            return
        for supervised in stopped:
            supervised.worker = self._pool.acquire(
                log.slot, log.resolved, log.spec, self.agents_per_worker, self.per_agent
            )
            self.peak_processes = max(self.peak_processes, len(self._running()))
            supervised.worker.meter.usages = (self.match_usage,)
            starting[supervised.worker] = supervised
        replies = self.collect(dict.fromkeys(starting, start_timeout))
        errors = {
            worker: reply if isinstance(reply, WorkerError) else worker.share_parent_memory()
            for worker, reply in replies.items()
        }
        for worker, error in errors.items():
            if error is not None and error.cause == "timeout":
                worker.payload.start_timed_out = True
            if error is None and self.limits.measures_time:
                seconds = 1e-9 * (self._seen_ns[worker] - worker.sent_ns)
                error = self.charge(starting[worker], seconds, of_episode=False)
            if error is not None:
                self.handle_failure(starting[worker], error, "start")

    def _send_resets(self, parts: Sequence[tuple[SupervisedWorker, AnyArray]]) -> None:
        """Send reset commands to workers and wait for their replies, handling failures."""
        sent: dict[Worker, SupervisedWorker] = {}
        for supervised, block in parts:
            if supervised.worker is not None:
                rows = block.copy()
                self.localize(rows)
                supervised.worker.meter.usages = (self.match_usage, supervised.usage)
                supervised.worker.send(shared.CMD_RESET, rows)
                sent[supervised.worker] = supervised
        replies = self.collect_calls(sent)
        for worker, supervised in sorted(sent.items(), key=lambda item: item[1].first_uid):
            reply = replies[worker]
            error = reply if isinstance(reply, WorkerError) else None
            if error is None and self.limits.measures_time:
                error = self.charge(supervised, 1e-9 * (self._seen_ns[worker] - worker.sent_ns))
            if error is not None:
                self.handle_failure(supervised, error, "reset_agents")

    def _copy_parent_memory(self, parts: WorkerParts, row_block: AnyArray) -> None:
        """Copy the policy memory of parents from their workers to the workers of their children.

        Args:
            parts: Workers of the children, with their row of the block.
            row_block: Rows of the children; memory indices of their parents become the rows of
                their worker's memory to which those of the parents were copied, or -1.
        """
        parents = sorted(set(row_block[:, PARENT_INDEX_COLUMNS].ravel().tolist()))
        workers = {
            parent: worker
            for parent in parents
            if parent in self._workers and (worker := self._workers[parent].worker) is not None
        }
        for worker in workers.values():
            worker.send(shared.CMD_EXPORT_MEMORY)
        replies = self.collect(dict.fromkeys(workers.values(), self._settings.step_timeout))
        memories = {
            parent: None if worker.parent_memory is None else worker.parent_memory[0].copy()
            for parent, worker in workers.items()
            if not isinstance(replies[worker], WorkerError)  # handled when its own agent acts next
        }
        for supervised, part in parts:
            parent_indices = row_block[part.start, PARENT_INDEX_COLUMNS]
            for side, parent in enumerate(parent_indices.tolist()):
                parent_indices[side] = 1 + side if parent in memories else -1
                memory, worker = memories.get(parent), supervised.worker
                if memory is not None and worker is not None and worker.parent_memory is not None:
                    worker.parent_memory[1 + side] = memory

    def _running(self) -> list[Worker]:
        """Return the workers whose process is running."""
        workers = (supervised.worker for supervised in self._workers.values())
        return [worker for worker in workers if worker is not None]

    def _release(self, supervised: SupervisedWorker) -> None:
        """End a worker, and keep its counts."""
        worker, supervised.worker = supervised.worker, None
        if worker is not None:
            self._released_stats = self._released_stats.merge(worker.stats)
            self._pool.release(worker)
