"""Slots whose policies live in processes of their own: one for all of its agents, or one each."""

from __future__ import annotations

import time

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.spaces import WorldSpec
from kinfolk.isolation.batch_call import BatchedCall
from kinfolk.isolation.failures import FailureLog
from kinfolk.isolation.inprocess import RetrySerially, TickGetter
from kinfolk.isolation.settings import IsolationSettings
from kinfolk.isolation.shared_buffers import (
    BufferLayout,
    SharedBufferArray,
    fingerprint_rows,
    pack_rows,
)
from kinfolk.isolation.worker import Worker, WorkerError
from kinfolk.isolation.worker_group import (
    AGENT_INDEX_COLUMN,
    SupervisedWorker,
    WorkerGroup,
    WorkerStats,
    reset_agents,
    restart_failed,
)
from kinfolk.isolation.worker_pool import WorkerPool
from kinfolk.policies.base import AgentBatch, Memory, MemoryLayout
from kinfolk.policies.resolve import ResolvedPolicy


class IsolatedPolicy:
    """A slot in processes of its own. What it remembers lives there too."""

    def __init__(
        self,
        slot: str,
        resolved: ResolvedPolicy,
        spec: WorldSpec,
        pool: WorkerPool,
        settings: IsolationSettings,
        get_tick: TickGetter,
        max_agents: int,
        per_agent: bool,
        single_episode: bool,
    ) -> None:
        self.failure_log = FailureLog(slot, resolved.class_path, spec)
        self._group = house = WorkerGroup(
            self.failure_log,
            resolved,
            spec,
            pool,
            settings,
            get_tick,
            max_agents,
            per_agent=per_agent,
            single_episode=single_episode,
        )
        shape = BufferLayout(house.agents_per_worker, spec.row_bytes, spec.n_heads)
        self._buffers = SharedBufferArray(shape, max_agents if per_agent else 1)
        self._attached: dict[int, Worker] = {}
        self._batch: AgentBatch | None = None
        self._batch_order = self._fingerprint = (
            b""  # places of the agents asked last; all that is told of them
        )
        self._called: dict[Worker, tuple[SupervisedWorker, slice]] = {}
        self._n_called_rows = 0  # agents of those who are asked
        self.agent_steps, self.policy_seconds = 0, 0.0

    @property
    def memory_layout(self) -> MemoryLayout:
        """Nothing that the loop would have to keep."""
        return {}

    @property
    def stats(self) -> WorkerStats:
        """What was counted of all its processes so far."""
        return self._group.stats

    @property
    def n_restarts(self) -> int:
        """How often a process was started again."""
        return self._group.n_restarts

    @property
    def peak_processes(self) -> int:
        """The most that there were at once."""
        return self._group.peak_processes

    @property
    def latencies(self) -> AnyArray:
        """Seconds from each question to its answer."""
        return self._group.poller.latencies

    def start_episode(self) -> None:
        """Begin an episode."""
        self._group.start_episode()

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Forward to every process that has lives to begin, and wait for all of them."""
        self._group.cancel_call()
        reset_agents(self._group, pack_rows(batch, keys))

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Ask every process and come back at once."""
        start = time.perf_counter()
        house, mark, self._batch = self._group, fingerprint_rows(batch), batch
        if house.current_call is None or mark != self._fingerprint:
            block = pack_rows(batch, keys)
            order = block[:, AGENT_INDEX_COLUMN].tobytes()
            if house.current_call is None or order != self._batch_order:
                self._batch_order, house.current_call = order, self._arrange_call(block)
            if house.per_agent:
                block[:, AGENT_INDEX_COLUMN] = 0
            self._fingerprint = mark
            house.current_call.write_rows(block)
        house.current_call.send(keys, observations)
        self.agent_steps += len(keys)
        self.policy_seconds += time.perf_counter() - start

    def act_wait(self) -> Ints:
        """Gather the answers; what agents do that do nothing, where there is none."""
        asked, circle, rows = self._group.current_call, self._group.poller, self._batch
        assert rows is not None  # it was asked
        assert asked is not None
        start = time.perf_counter()
        late = asked.collect(circle)
        actions = asked.read_actions(circle, late, lambda: self.failure_log.noop_actions(rows))
        silent = self._collect_late(late, actions, asked.elapsed) if late else 0
        sound = self.failure_log.validate_actions(actions, rows, self._n_called_rows - silent)
        if self.failure_log.invalid_actions and not self._group.single_episode:
            raise RetrySerially(f"Slot '{self.failure_log.slot}' gave an answer that is no action.")
        self.policy_seconds += time.perf_counter() - start
        return sound

    def _collect_late(self, late: list[Worker], actions: Ints, elapsed: float) -> int:
        """Take the answers of the others, one by one; for how many agents there was none."""
        failed, silent = [], 0
        assert self._batch is not None
        circle, care = self._group.poller, self._group.settings
        for guest, said in circle.collect(late, care.step_timeout, care.start_timeout, elapsed):
            unit, part = self._called[guest]
            silent += (part.stop - part.start) if said else 0
            if isinstance(said, WorkerError):
                failed.append((part.start, unit, part, said))
                continue
            guest.has_acted = True
            if said:
                self.failure_log.invalid_actions[said] += 1
            else:
                actions[part] = guest.buffer.actions[: part.stop - part.start]
        for _, unit, part, trouble in sorted(failed, key=lambda one: one[0]):
            self._group.handle_failure(unit, trouble, "act_async", self._batch.uid[part])
        return silent

    def close(self) -> None:
        """Give the processes back for the next match."""
        self._group.close()
        self._buffers.close()

    def _arrange_call(self, block: AnyArray) -> BatchedCall:
        """Who is to be asked; who has failed and may go on, is started again."""
        house = self._group
        parts = list(house.split_rows(block))
        restart_failed(house, parts, block)
        if house.per_agent:
            house.release_dead(block)
        playing = [(unit.worker, unit, part) for unit, part in parts if unit.worker is not None]
        self._called = {guest: (unit, part) for guest, unit, part in playing}
        seats = [
            int(block[part.start, AGENT_INDEX_COLUMN]) if house.per_agent else 0
            for _, _, part in playing
        ]
        for (guest, _, _), seat in zip(playing, seats, strict=True):
            if self._attached.get(seat) is not guest:
                self._buffers.attach(seat, guest.buffer_fd)
                self._attached[seat] = guest
        rows = [row for _, _, part in playing for row in range(part.start, part.stop)]
        self._n_called_rows = len(rows)
        return BatchedCall(self._buffers, list(self._called), seats, rows)
