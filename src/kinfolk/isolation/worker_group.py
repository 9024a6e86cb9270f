"""The worker processes of one slot: started, restarted after failures, released, and told which agents begin."""

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

AGENT_INDEX_COLUMN, UID_COLUMN, PARENT_INDEX_COLUMNS = (
    1,
    4,
    slice(9, 11),
)  # columns of a block of rows


@dataclass
class SupervisedWorker:
    """Agents that share a process."""

    worker: Worker | None = None
    n_restarts: int = 0
    has_failed: bool = False  # has failed, and does nothing until the episode or the life ends
    initial_rows: dict[int, AnyArray] = field(default_factory=dict)  # by place, as they began


class WorkerStats(NamedTuple):
    """Of guests: answers to old questions, characters printed, the most memory one has held."""

    stale_replies: int = 0
    printed_chars: int = 0
    peak_megabytes: float = 0.0

    def add_worker(self, worker: Worker) -> WorkerStats:
        """One more."""
        peak = max(self.peak_megabytes, worker.peak_megabytes)
        return WorkerStats(
            self.stale_replies + worker.stale_replies,
            self.printed_chars + worker.printed_chars,
            peak,
        )


class WorkerGroup:
    """One process for all agents of a slot, or one each.

    Args:
        ledger: Where failures are noted.
        resolved: The policy that every process makes.
        spec: Of the world.
        pool: Where processes come from, and go back to.
        care: How long to wait, and what to do when one fails.
        tick: Tells the time of a failure.
        places: Agents that may live at once.
        by_agent: Whether each has a process of its own.
        alone: Whether no other match is played beside it, that a failure would spoil.
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
        self.failure_log, self.settings, self.per_agent, self.single_episode = (
            failure_log,
            settings,
            per_agent,
            single_episode,
        )
        self.poller = WorkerPoller(pool.forkserver)
        self._resolved, self._spec, self._pool, self._get_tick = resolved, spec, pool, get_tick
        self.agents_per_worker = 1 if per_agent else max_agents  # agents of a process
        self.current_call: BatchedCall | None = None  # of those who are asked together at present
        self._workers: dict[int, SupervisedWorker] = {}
        self.n_restarts = self.peak_processes = 0  # all of them; the most at once
        self._stats = WorkerStats()

    @property
    def stats(self) -> WorkerStats:
        """What was counted of all its processes so far."""
        counts = self._stats
        for unit in self._workers.values():
            counts = counts.add_worker(unit.worker) if unit.worker is not None else counts
        return counts

    def start_episode(self) -> None:
        """Whoever failed may try again."""
        self.failure_log.start_episode()
        for unit in self._workers.values():
            unit.n_restarts, unit.has_failed = 0, False
            unit.initial_rows.clear()

    def split_rows(self, row_block: AnyArray) -> Iterator[tuple[SupervisedWorker, slice]]:
        """Who sits with whom, and where in the block."""
        if not self.per_agent:
            yield self._workers.setdefault(0, SupervisedWorker()), slice(0, len(row_block))
            return
        for i, place in enumerate(row_block[:, AGENT_INDEX_COLUMN].tolist()):
            unit = self._workers.get(place)
            if unit is None:
                unit = self._workers[place] = SupervisedWorker()
            yield unit, slice(i, i + 1)

    def worker_at(self, agent_index: int) -> Worker | None:
        """The process of the agent at a place, if it has one of its own."""
        return self._workers[agent_index].worker if agent_index in self._workers else None

    def start_workers(self, workers: list[SupervisedWorker]) -> None:
        """Start what has to be started, all at once."""
        fresh: dict[Worker, SupervisedWorker] = {}
        for unit in workers:
            if unit.worker is None:
                unit.worker, starts = self._pool.acquire(
                    self._resolved,
                    self._spec,
                    self.agents_per_worker,
                    inherits_memory=self.per_agent,
                )
                self.poller.add(unit.worker)
                self.peak_processes = max(self.peak_processes, self._count_running())
                if starts:
                    fresh[unit.worker] = unit
        if not fresh:
            return
        failed = []
        for guest, said in self.poller.collect(fresh, self.settings.start_timeout):
            if isinstance(said, WorkerError):
                failed.append((fresh[guest], said))
            else:
                guest.share_parent_memory()
        for unit, trouble in sorted(failed, key=lambda one: workers.index(one[0])):
            uids = np.array([row[UID_COLUMN] for row in unit.initial_rows.values()], dtype=np.int64)
            self.handle_failure(unit, trouble, "start", uids)

    def handle_failure(
        self, supervised: SupervisedWorker, error: WorkerError, method: str, uids: Ints
    ) -> None:
        """Note that a process failed, end it, and see whether it may be started again."""
        self._release(supervised, reusable=False)
        what = error.describe(method)
        if not self.single_episode:
            raise RetrySerially(f"Slot '{self.failure_log.slot}': {what}.")
        again = (
            self.settings.on_failure == "restart"
            and supervised.n_restarts < self.settings.max_restarts
        )
        supervised.n_restarts += again
        self.n_restarts += again
        supervised.has_failed = not again
        agent = int(uids[0]) if self.per_agent else WHOLE_SLOT
        note = self.failure_log.record_failure(
            agent, self._get_tick(), error.cause, what, error.error, again
        )
        if self.settings.on_failure == "abort":
            raise make_abort_error(note)

    def release_dead(self, row_block: AnyArray) -> None:
        """Give back the processes of lives that have ended; their children have begun by now."""
        if len(self._workers) == len(row_block):
            return
        living = set(row_block[:, AGENT_INDEX_COLUMN].tolist())
        for place in [place for place in self._workers if place not in living]:
            self._release(self._workers.pop(place), reusable=True)

    def close(self) -> None:
        """Give all processes back for the next match."""
        for unit in self._workers.values():
            self._release(unit, reusable=True)
        self._workers.clear()

    def cancel_call(self) -> None:
        """End the round: somebody begins or leaves, and the next one is asked anew."""
        broken, self.current_call = self.current_call, None
        if broken is not None:
            broken.cancel()

    def _count_running(self) -> int:
        return sum(unit.worker is not None for unit in self._workers.values())

    def _release(self, supervised: SupervisedWorker, reusable: bool) -> None:
        guest, supervised.worker = supervised.worker, None
        if guest is None:
            return
        self.cancel_call()
        self.poller.remove(guest)
        self._stats = self._stats.add_worker(guest)
        self._pool.release(guest, reusable and not guest.pending)


def reset_agents(group: WorkerGroup, row_block: AnyArray) -> None:
    """Forward to every process that has lives to begin, and wait for all of them."""
    parts = list(group.split_rows(row_block))
    if group.per_agent:  # another agent sits here now, and has failed in nothing
        for unit, _ in parts:
            unit.has_failed, unit.n_restarts = False, 0
            unit.initial_rows.clear()
    for unit, part in parts:
        unit.initial_rows |= {int(row[AGENT_INDEX_COLUMN]): row.copy() for row in row_block[part]}
    group.start_workers([unit for unit, _ in parts if not unit.has_failed])
    if group.per_agent:
        _copy_parent_memory(group, [(unit, row_block[part][0]) for unit, part in parts])
    _send_resets(group, [(unit, row_block[part]) for unit, part in parts])


def restart_failed(
    group: WorkerGroup, parts: Sequence[tuple[SupervisedWorker, slice]], row_block: AnyArray
) -> None:
    """Processes that failed and may go on: made anew, told of their lives, all else lost."""
    again = [(unit, part) for unit, part in parts if unit.worker is None and not unit.has_failed]
    if not again:
        return
    group.start_workers([unit for unit, _ in again])
    told = []
    for unit, part in again:
        lives = np.array(
            [unit.initial_rows[place] for place in row_block[part, AGENT_INDEX_COLUMN].tolist()]
        )
        lives[:, PARENT_INDEX_COLUMNS] = -1
        told.append((unit, lives))
    _send_resets(group, told)


def _send_resets(group: WorkerGroup, parts: Sequence[tuple[SupervisedWorker, AnyArray]]) -> None:
    """Send the beginnings of lives, and wait until they have been heard."""
    care = group.settings
    where = {}
    for unit, block in parts:
        if unit.worker is None:
            continue
        if group.per_agent:
            block = block.copy()
            block[:, AGENT_INDEX_COLUMN] = 0
        unit.worker.send(CMD_RESET, as_bytes(block))
        where[unit.worker] = unit, block[:, UID_COLUMN]
    failed = [
        (where[guest], said)
        for guest, said in group.poller.collect(where, care.step_timeout, care.start_timeout)
        if isinstance(said, WorkerError)
    ]
    for (unit, uids), trouble in sorted(failed, key=lambda one: int(one[0][1][0])):
        group.handle_failure(unit, trouble, "reset_agents", uids)


def _copy_parent_memory(
    group: WorkerGroup, parts: Sequence[tuple[SupervisedWorker, AnyArray]]
) -> None:
    """Carry what parents remember from their processes to their children's."""
    wanted = sorted({p for _, row in parts for p in row[PARENT_INDEX_COLUMNS].tolist() if p >= 0})
    givers = {p: guest for p in wanted if (guest := group.worker_at(p)) is not None}
    for guest in givers.values():
        guest.send(CMD_EXPORT_MEMORY)
    for guest, said in group.poller.collect(givers.values(), group.settings.step_timeout):
        if isinstance(said, WorkerError):  # its own agent will meet the same at its next question
            givers = {p: other for p, other in givers.items() if other is not guest}
    left = {
        p: guest.parent_memory[0].copy()
        for p, guest in givers.items()
        if guest.parent_memory is not None
    }
    for unit, row in parts:
        for side, parent in enumerate(row[PARENT_INDEX_COLUMNS].tolist()):
            row[PARENT_INDEX_COLUMNS.start + side] = 1 + side if parent in givers else -1
            if parent in left and unit.worker is not None and unit.worker.parent_memory is not None:
                unit.worker.parent_memory[1 + side] = left[parent]
