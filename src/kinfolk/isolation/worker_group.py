"""The worker processes of one slot: started, restarted after failures, released and reset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.spaces import WorldSpec
from kinfolk.isolation.batch_call import BatchedCall
from kinfolk.isolation.failures import WHOLE_SLOT, FailureLog, make_abort_error
from kinfolk.isolation.inprocess import RetrySerially, TickGetter
from kinfolk.isolation.poller import WorkerPoller
from kinfolk.isolation.settings import IsolationSettings
from kinfolk.isolation.shared_buffers import CMD_EXPORT_MEMORY, CMD_RESET, as_bytes
from kinfolk.isolation.worker import Worker, WorkerError
from kinfolk.isolation.worker_pool import WorkerPool
from kinfolk.policies.resolve import ResolvedPolicy

# Columns of a block of rows; see `pack_rows`.
AGENT_INDEX_COLUMN, UID_COLUMN, PARENT_INDEX_COLUMNS = 1, 4, slice(9, 11)


@dataclass
class SupervisedWorker:
    """A worker that is restarted after failures, with the agents it plays."""

    worker: Worker | None = None  # None before its start and after a failure
    n_restarts: int = 0  # in this episode
    has_failed: bool = False  # for good: its agents act as noop until the episode or agent ends
    # Packed rows of its agents when they were new, by memory index; sent again after a restart.
    initial_rows: dict[int, AnyArray] = field(default_factory=dict)


class WorkerStats(NamedTuple):
    """Counts over the workers of a slot."""

    stale_replies: int = 0  # replies to requests that were no longer current
    printed_chars: int = 0  # characters that policies printed
    peak_megabytes: float = 0.0  # largest peak memory of a worker

    def add_worker(self, worker: Worker) -> WorkerStats:
        """Return the counts with those of another worker."""
        peak = max(self.peak_megabytes, worker.peak_megabytes)
        return WorkerStats(
            self.stale_replies + worker.stale_replies,
            self.printed_chars + worker.printed_chars,
            peak,
        )


class WorkerGroup:
    """The workers of one slot: one for all of its agents, or one per agent.

    Args:
        failure_log: Records failures.
        resolved: Class, settings and weights of the policy.
        spec: Spec of the world.
        pool: Supplies workers and takes them back.
        settings: Timeouts, and what happens after a failure.
        get_tick: Returns the current tick, for records of failures.
        max_agents: Largest number of live agents.
        per_agent: Whether every agent has its own worker.
        single_episode: Whether the batch has one world only, so that a failure can be recorded
            instead of raising `RetrySerially`.

    Attributes:
        agents_per_worker: Capacity of a worker.
        current_call: The batched call of the workers while the same agents live.
        n_restarts: Number of restarts in all episodes.
        peak_processes: Largest number of workers at a time.
    """

    def __init__(
        self,
        failure_log: FailureLog,
        resolved: ResolvedPolicy,
        spec: WorldSpec,
        pool: WorkerPool,
        settings: IsolationSettings,
        get_tick: TickGetter,
        max_agents: int,
        *,
        per_agent: bool,
        single_episode: bool,
    ) -> None:
        self.failure_log, self.settings = failure_log, settings
        self.per_agent, self.single_episode = per_agent, single_episode
        self.poller = WorkerPoller(pool.forkserver)
        self._resolved, self._spec, self._pool, self._get_tick = resolved, spec, pool, get_tick
        self.agents_per_worker = 1 if per_agent else max_agents
        self.current_call: BatchedCall | None = None
        self._workers: dict[int, SupervisedWorker] = {}
        self.n_restarts = self.peak_processes = 0
        self._stats = WorkerStats()

    @property
    def stats(self) -> WorkerStats:
        """Counts over all workers of the slot so far."""
        counts = self._stats
        for supervised in self._workers.values():
            counts = (
                counts.add_worker(supervised.worker) if supervised.worker is not None else counts
            )
        return counts

    def start_episode(self) -> None:
        """Clear the failures of the last episode, so that failed workers are started again."""
        self.failure_log.start_episode()
        for supervised in self._workers.values():
            supervised.n_restarts, supervised.has_failed = 0, False
            supervised.initial_rows.clear()

    def split_rows(self, row_block: AnyArray) -> Iterator[tuple[SupervisedWorker, slice]]:
        """Yield the worker of each part of a block of rows, and the part as a slice."""
        if not self.per_agent:
            yield self._workers.setdefault(0, SupervisedWorker()), slice(0, len(row_block))
            return
        for i, index in enumerate(row_block[:, AGENT_INDEX_COLUMN].tolist()):
            supervised = self._workers.get(index)
            if supervised is None:
                supervised = self._workers[index] = SupervisedWorker()
            yield supervised, slice(i, i + 1)

    def worker_at(self, agent_index: int) -> Worker | None:
        """Return the worker of an agent that has its own, by memory index; else None."""
        return self._workers[agent_index].worker if agent_index in self._workers else None

    def start_workers(self, workers: list[SupervisedWorker]) -> None:
        """Start those workers that are not running, concurrently, and handle failures of starting."""
        starting: dict[Worker, SupervisedWorker] = {}
        for supervised in workers:
            if supervised.worker is None:
                supervised.worker, is_new = self._pool.acquire(
                    self._resolved,
                    self._spec,
                    self.agents_per_worker,
                    inherits_memory=self.per_agent,
                )
                self.poller.add(supervised.worker)
                self.peak_processes = max(self.peak_processes, self._count_running())
                if is_new:
                    starting[supervised.worker] = supervised
        if not starting:
            return
        failed = []
        for worker, reply in self.poller.collect(starting, self.settings.start_timeout):
            if isinstance(reply, WorkerError):
                failed.append((starting[worker], reply))
            else:
                worker.share_parent_memory()
        for supervised, error in sorted(failed, key=lambda item: workers.index(item[0])):
            uids = np.array(
                [row[UID_COLUMN] for row in supervised.initial_rows.values()], dtype=np.int64
            )
            self.handle_failure(supervised, error, "start", uids)

    def handle_failure(
        self, supervised: SupervisedWorker, error: WorkerError, method: str, uids: Ints
    ) -> None:
        """End a failed worker and record the failure, or raise as the settings say.

        Args:
            supervised: The worker; it may be restarted later unless `has_failed` is set here.
            error: What happened.
            method: Method of the policy that was called.
            uids: Uids of the agents it played.

        Raises:
            RetrySerially: Several episodes are played side by side.
            PolicyFailedError: `on_failure` is `abort`.
        """
        self._release(supervised, reusable=False)
        description = error.describe(method)
        if not self.single_episode:
            raise RetrySerially(f"Slot '{self.failure_log.slot}': {description}.")
        may_restart = (
            self.settings.on_failure == "restart"
            and supervised.n_restarts < self.settings.max_restarts
        )
        supervised.n_restarts += may_restart
        self.n_restarts += may_restart
        supervised.has_failed = not may_restart
        agent = int(uids[0]) if self.per_agent else WHOLE_SLOT
        failure = self.failure_log.record_failure(
            agent, self._get_tick(), error.cause, description, error.error, may_restart
        )
        if self.settings.on_failure == "abort":
            raise make_abort_error(failure)

    def release_dead(self, row_block: AnyArray) -> None:
        """Release the workers of agents that are not in a block of live rows.

        Called after new agents were reset, because they copy memory from workers of dead parents.
        """
        if len(self._workers) == len(row_block):
            return
        live = set(row_block[:, AGENT_INDEX_COLUMN].tolist())
        for index in [index for index in self._workers if index not in live]:
            self._release(self._workers.pop(index), reusable=True)

    def close(self) -> None:
        """Release all workers for other tasks."""
        for supervised in self._workers.values():
            self._release(supervised, reusable=True)
        self._workers.clear()

    def cancel_call(self) -> None:
        """Drop the batched call, because agents are born or workers are released."""
        call, self.current_call = self.current_call, None
        if call is not None:
            call.cancel()

    def _count_running(self) -> int:
        return sum(supervised.worker is not None for supervised in self._workers.values())

    def _release(self, supervised: SupervisedWorker, reusable: bool) -> None:
        worker, supervised.worker = supervised.worker, None
        if worker is None:
            return
        self.cancel_call()
        self.poller.remove(worker)
        self._stats = self._stats.add_worker(worker)
        self._pool.release(worker, reusable and not worker.pending)


def reset_agents(group: WorkerGroup, row_block: AnyArray) -> None:
    """Reset new agents in their workers and wait for all of them, starting workers as needed."""
    parts = list(group.split_rows(row_block))
    if group.per_agent:  # a new agent starts without failures
        for supervised, _ in parts:
            supervised.has_failed, supervised.n_restarts = False, 0
            supervised.initial_rows.clear()
    for supervised, part in parts:
        supervised.initial_rows |= {
            int(row[AGENT_INDEX_COLUMN]): row.copy() for row in row_block[part]
        }
    group.start_workers([supervised for supervised, _ in parts if not supervised.has_failed])
    if group.per_agent:
        _copy_parent_memory(group, [(supervised, row_block[part][0]) for supervised, part in parts])
    _send_resets(group, [(supervised, row_block[part]) for supervised, part in parts])


def restart_failed(
    group: WorkerGroup, parts: Sequence[tuple[SupervisedWorker, slice]], row_block: AnyArray
) -> None:
    """Start failed workers that may be restarted, and reset their agents without memory.

    Args:
        group: The workers of the slot.
        parts: Workers with their parts of the block.
        row_block: Rows of the live agents, as `pack_rows` returns them.
    """
    restarting = [
        (supervised, part)
        for supervised, part in parts
        if supervised.worker is None and not supervised.has_failed
    ]
    if not restarting:
        return
    group.start_workers([supervised for supervised, _ in restarting])
    resets = []
    for supervised, part in restarting:
        rows = np.array(
            [
                supervised.initial_rows[index]
                for index in row_block[part, AGENT_INDEX_COLUMN].tolist()
            ]
        )
        rows[:, PARENT_INDEX_COLUMNS] = -1
        resets.append((supervised, rows))
    _send_resets(group, resets)


def _send_resets(group: WorkerGroup, parts: Sequence[tuple[SupervisedWorker, AnyArray]]) -> None:
    """Send reset commands to workers and wait for their replies, handling failures."""
    settings = group.settings
    sent = {}
    for supervised, block in parts:
        if supervised.worker is None:
            continue
        if group.per_agent:
            block = block.copy()
            block[:, AGENT_INDEX_COLUMN] = 0
        supervised.worker.send(CMD_RESET, as_bytes(block))
        sent[supervised.worker] = supervised, block[:, UID_COLUMN]
    failed = [
        (sent[worker], reply)
        for worker, reply in group.poller.collect(
            sent, settings.step_timeout, settings.start_timeout
        )
        if isinstance(reply, WorkerError)
    ]
    for (supervised, uids), error in sorted(failed, key=lambda item: int(item[0][1][0])):
        group.handle_failure(supervised, error, "reset_agents", uids)


def _copy_parent_memory(
    group: WorkerGroup, parts: Sequence[tuple[SupervisedWorker, AnyArray]]
) -> None:
    """Copy the policy memory of parents from their workers to the workers of their children."""
    parent_indices = sorted(
        {p for _, row in parts for p in row[PARENT_INDEX_COLUMNS].tolist() if p >= 0}
    )
    parent_workers = {
        p: worker for p in parent_indices if (worker := group.worker_at(p)) is not None
    }
    for worker in parent_workers.values():
        worker.send(CMD_EXPORT_MEMORY)
    for worker, reply in group.poller.collect(parent_workers.values(), group.settings.step_timeout):
        if isinstance(reply, WorkerError):  # handled when its own agent acts next
            parent_workers = {
                p: other for p, other in parent_workers.items() if other is not worker
            }
    memories = {
        p: worker.parent_memory[0].copy()
        for p, worker in parent_workers.items()
        if worker.parent_memory is not None
    }
    for supervised, row in parts:
        for side, parent in enumerate(row[PARENT_INDEX_COLUMNS].tolist()):
            row[PARENT_INDEX_COLUMNS.start + side] = 1 + side if parent in parent_workers else -1
            if (
                parent in memories
                and supervised.worker is not None
                and supervised.worker.parent_memory is not None
            ):
                supervised.worker.parent_memory[1 + side] = memories[parent]
