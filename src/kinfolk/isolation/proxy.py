"""Policies in worker processes: one process per agent, or one per game for all agents of a slot."""

from __future__ import annotations

import time

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.spaces import WorldSpec
from kinfolk.isolation import shared_buffers as shared
from kinfolk.isolation.batched_call import BatchedCall
from kinfolk.isolation.failures import FailureLog, IsolationSettings, TickGetter, WorkerError
from kinfolk.isolation.supervised_worker import SupervisedWorker
from kinfolk.isolation.worker import Worker
from kinfolk.isolation.worker_group import WorkerGroup
from kinfolk.isolation.worker_pool import WorkerPool
from kinfolk.policies.base import AgentBatch, Memory, MemoryLayout
from kinfolk.policies.build import ResolvedPolicy


class IsolatedPolicy:
    """Fulfils the contract of a policy by calling worker processes, which keep the memory.

    Args:
        slot: Id of the slot.
        resolved: Class, settings and weights of the policy.
        spec: Spec of the world.
        pool: Supplies the workers.
        settings: Timeouts, and what happens after a failure.
        get_tick: Returns the current tick, for records of failures.
        n_worlds: Number of worlds in the batch. With several, a failure raises `RetrySerially`.
        rows: Largest number of live agents in a world.
        per_agent: Whether every agent has its own worker; else there is one per world.

    Attributes:
        failure_log: Failures and invalid actions of the current episode.
        workers: The workers, with counts and latencies.
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
        n_worlds: int,
        rows: int,
        per_agent: bool,
    ) -> None:
        self.failure_log = FailureLog(slot, resolved, spec, settings, get_tick, n_worlds == 1)
        self.workers = WorkerGroup(self.failure_log, pool, rows, per_agent)
        layout = shared.BufferLayout(self.workers.agents_per_worker, spec.row_bytes, spec.n_heads)
        self._buffers = shared.SharedBufferArray(layout, n_worlds * rows if per_agent else n_worlds)
        self._attached: dict[int, Worker] = {}  # by index of the buffer
        self._batch: AgentBatch | None = None
        # The request that is repeated while the same agents live; None if workers have changed.
        self._call: BatchedCall | None = None
        # Memory indices of the last batch, and all of its columns, as bytes for comparison.
        self._batch_order = self._fingerprint = b""
        self._called: dict[Worker, tuple[SupervisedWorker, slice]] = {}
        self._n_called_rows = 0  # agents whose worker is running
        self.agent_steps, self.policy_seconds = 0, 0.0

    @property
    def memory_layout(self) -> MemoryLayout:
        """Empty layout, as the workers keep the memory."""
        return {}

    def start_episode(self) -> None:
        """Clear failures and end the workers: a new episode has new ones."""
        self._end_call()
        self.failure_log.start_episode()
        self.workers.start_episode()

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Reset new agents in their workers and wait for all of them."""
        self._end_call()
        self.workers.reset_agents(shared.pack_rows(batch, keys))

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Send observations to all workers without waiting for actions."""
        start = time.perf_counter()
        call, fingerprint, self._batch = self._call, shared.fingerprint_rows(batch), batch
        if call is None or fingerprint != self._fingerprint:
            block = shared.pack_rows(batch, keys)
            order = batch.memory_index.tobytes()
            if call is None or order != self._batch_order:
                self._batch_order, call = order, self._arrange_call(block)
            self.workers.localize(block)
            self._fingerprint, self._call = fingerprint, call
            call.write_rows(block)
        call.send(keys, observations)
        self.agent_steps += len(keys)
        self.policy_seconds += time.perf_counter() - start

    def act_wait(self) -> Ints:
        """Return the actions, with noop in place of missing and invalid ones."""
        call, batch = self._call, self._batch
        assert call is not None  # set by act_async
        assert batch is not None
        start = time.perf_counter()
        try:
            actions = self._wait_for_actions(call, batch)
        except BaseException:
            call.hand_over()  # nobody measures it any more
            raise
        self.policy_seconds += time.perf_counter() - start
        return actions

    def _wait_for_actions(self, call: BatchedCall, batch: AgentBatch) -> Ints:
        """Return the actions of a batch, and charge the time they took."""
        log = self.failure_log
        late = call.collect()
        actions = call.read_actions(late, lambda: log.noop_actions(batch))
        n_missing = self._collect_late(late, actions, call.elapsed) if late else 0
        self.workers.latencies.append(call.elapsed)
        if self.workers.limits.measures_time:
            self._charge_step(call)
        if self.workers.limits.measures_size:
            self._call = None if self.workers.check_size() else self._call
        return log.validate_actions(actions, batch, self._n_called_rows - n_missing)

    def close(self) -> None:
        """End the workers and unmap their buffers; may be called twice."""
        self._end_call()
        self.workers.close()
        self._buffers.close()

    def _collect_late(self, late: list[Worker], actions: Ints, elapsed: float) -> int:
        """Wait for workers one by one, copy their actions and handle their failures.

        Args:
            late: Workers that `BatchedCall.collect` returned.
            actions: `[n, heads]`, written for workers that reply with valid actions.
            elapsed: Seconds since the request was sent.

        Returns:
            Number of agents without an action of their policy.
        """
        failed, n_missing, group = [], 0, self.workers
        replies = group.collect_calls(late, elapsed)
        for worker, reply in replies.items():
            supervised, part = self._called[worker]
            n_rows = part.stop - part.start
            n_missing += n_rows if reply else 0
            if isinstance(reply, WorkerError):
                failed.append((supervised, reply))
                continue
            worker.has_acted = True
            if reply:
                self.failure_log.invalid_actions[reply] += 1
            else:
                actions[part] = worker.buffer.actions[:n_rows]
        if failed:
            self._call = None
        for supervised, error in failed:
            group.handle_failure(supervised, error, "act_async")
        return n_missing

    def _charge_step(self, call: BatchedCall) -> None:
        """Charge the time of a step to the workers that are still running, and end those above a limit."""
        for worker, seconds in zip(call.workers, call.measure_seconds().tolist(), strict=True):
            supervised, _ = self._called[worker]
            if supervised.worker is worker:
                error = self.workers.charge(supervised, seconds)
                if error is not None:
                    self._call = None
                    self.workers.handle_failure(supervised, error, "act_async")

    def _end_call(self) -> None:
        """End the batched call before agents are born or workers are released."""
        call, self._call = self._call, None
        if call is not None:
            call.hand_over()

    def _arrange_call(self, block: AnyArray) -> BatchedCall:
        """Restart failed workers, release those of dead agents and return a call of the others."""
        self._end_call()
        group = self.workers
        parts = group.split_rows(block)
        group.restart_failed(parts, block)
        if group.per_agent:
            group.release_dead(block)
        self._called = {
            supervised.worker: (supervised, part)
            for supervised, part in parts
            if supervised.worker is not None
        }
        buffer_indices: list[int] = []
        parts_called: list[slice] = []
        for worker, (_, part) in self._called.items():
            index = group.get_unit(block[part.start])
            if self._attached.get(index) is not worker:
                self._buffers.attach(index, worker.buffer_fd)
                self._attached[index] = worker
            buffer_indices.append(index)
            parts_called.append(part)
        self._n_called_rows = sum(part.stop - part.start for part in parts_called)
        measured = group.limits.measures_time
        return BatchedCall(
            self._buffers, list(self._called), buffer_indices, parts_called, measured
        )
