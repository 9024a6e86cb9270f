"""Policies in worker processes: one process for all agents of a slot, or one per agent."""

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
    """Fulfils the contract of a policy by calling worker processes, which keep the memory.

    Args:
        slot: Id of the slot.
        resolved: Class, settings and weights of the policy.
        spec: Spec of the world.
        pool: Supplies the workers.
        settings: Timeouts, and what happens after a failure.
        get_tick: Returns the current tick, for records of failures.
        max_agents: Largest number of live agents.
        per_agent: Whether every agent has its own worker.
        single_episode: Whether the batch has one world only, so that a failure can be recorded
            instead of raising `RetrySerially`.

    Attributes:
        failure_log: Failures and invalid actions of the current episode.
        agent_steps: Number of actions so far.
        policy_seconds: Seconds spent in `act_async` and `act_wait`.
    """

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
        self._group = WorkerGroup(
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
        layout = BufferLayout(self._group.agents_per_worker, spec.row_bytes, spec.n_heads)
        self._buffers = SharedBufferArray(layout, max_agents if per_agent else 1)
        self._attached: dict[int, Worker] = {}  # by index of the buffer
        self._batch: AgentBatch | None = None
        # Memory indices of the last batch, and all of its columns, as bytes for comparison.
        self._batch_order = self._fingerprint = b""
        self._called: dict[Worker, tuple[SupervisedWorker, slice]] = {}
        self._n_called_rows = 0  # agents whose worker is running
        self.agent_steps, self.policy_seconds = 0, 0.0

    @property
    def memory_layout(self) -> MemoryLayout:
        """Empty, as the memory is kept in the workers."""
        return {}

    @property
    def stats(self) -> WorkerStats:
        """Counts over all workers of the slot so far."""
        return self._group.stats

    @property
    def n_restarts(self) -> int:
        """Number of restarts of workers so far."""
        return self._group.n_restarts

    @property
    def peak_processes(self) -> int:
        """Largest number of workers at a time."""
        return self._group.peak_processes

    @property
    def latencies(self) -> AnyArray:
        """Seconds from each request to its reply."""
        return self._group.poller.latencies

    def start_episode(self) -> None:
        """Clear the failure log for a new episode."""
        self._group.start_episode()

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Reset new agents in their workers and wait for all of them."""
        self._group.cancel_call()
        reset_agents(self._group, pack_rows(batch, keys))

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Send observations to all workers without waiting for actions."""
        start = time.perf_counter()
        group, fingerprint, self._batch = self._group, fingerprint_rows(batch), batch
        if group.current_call is None or fingerprint != self._fingerprint:
            block = pack_rows(batch, keys)
            order = block[:, AGENT_INDEX_COLUMN].tobytes()
            if group.current_call is None or order != self._batch_order:
                self._batch_order, group.current_call = order, self._arrange_call(block)
            if group.per_agent:
                block[:, AGENT_INDEX_COLUMN] = 0
            self._fingerprint = fingerprint
            group.current_call.write_rows(block)
        group.current_call.send(keys, observations)
        self.agent_steps += len(keys)
        self.policy_seconds += time.perf_counter() - start

    def act_wait(self) -> Ints:
        """Return the actions, with noop in place of missing and invalid ones."""
        call, poller, batch = self._group.current_call, self._group.poller, self._batch
        assert batch is not None  # set by act_async
        assert call is not None
        start = time.perf_counter()
        late = call.collect(poller)
        actions = call.read_actions(poller, late, lambda: self.failure_log.noop_actions(batch))
        n_missing = self._collect_late(late, actions, call.elapsed) if late else 0
        valid_actions = self.failure_log.validate_actions(
            actions, batch, self._n_called_rows - n_missing
        )
        if self.failure_log.invalid_actions and not self._group.single_episode:
            raise RetrySerially(f"Slot '{self.failure_log.slot}' returned invalid actions.")
        self.policy_seconds += time.perf_counter() - start
        return valid_actions

    def _collect_late(self, late: list[Worker], actions: Ints, elapsed: float) -> int:
        """Wait for workers one by one, copy their actions and handle their failures.

        Args:
            late: Workers that `BatchedCall.collect` returned.
            actions: `[n, heads]`, written for workers that reply with valid actions.
            elapsed: Seconds since the request was sent.

        Returns:
            Number of agents without an action of their policy.
        """
        failed, n_missing = [], 0
        assert self._batch is not None
        poller, settings = self._group.poller, self._group.settings
        for worker, reply in poller.collect(
            late, settings.step_timeout, settings.start_timeout, elapsed
        ):
            supervised, part = self._called[worker]
            n_missing += (part.stop - part.start) if reply else 0
            if isinstance(reply, WorkerError):
                failed.append((part.start, supervised, part, reply))
                continue
            worker.has_acted = True
            if reply:
                self.failure_log.invalid_actions[reply] += 1
            else:
                actions[part] = worker.buffer.actions[: part.stop - part.start]
        for _, supervised, part, error in sorted(failed, key=lambda item: item[0]):
            self._group.handle_failure(supervised, error, "act_async", self._batch.uid[part])
        return n_missing

    def close(self) -> None:
        """Release the workers for other tasks and unmap their buffers."""
        self._group.close()
        self._buffers.close()

    def _arrange_call(self, block: AnyArray) -> BatchedCall:
        """Restart failed workers, release those of dead agents and return a call of the others."""
        group = self._group
        parts = list(group.split_rows(block))
        restart_failed(group, parts, block)
        if group.per_agent:
            group.release_dead(block)
        running = [
            (supervised.worker, supervised, part)
            for supervised, part in parts
            if supervised.worker is not None
        ]
        self._called = {worker: (supervised, part) for worker, supervised, part in running}
        buffer_indices = [
            int(block[part.start, AGENT_INDEX_COLUMN]) if group.per_agent else 0
            for _, _, part in running
        ]
        for (worker, _, _), index in zip(running, buffer_indices, strict=True):
            if self._attached.get(index) is not worker:
                self._buffers.attach(index, worker.buffer_fd)
                self._attached[index] = worker
        rows = [row for _, _, part in running for row in range(part.start, part.stop)]
        self._n_called_rows = len(rows)
        return BatchedCall(self._buffers, list(self._called), buffer_indices, rows)
