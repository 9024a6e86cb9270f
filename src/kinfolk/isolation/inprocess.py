"""Policies in the evaluating process whose failures are recorded instead of raised."""

from __future__ import annotations

import time
from typing import Any

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.isolation.failures import WHOLE_SLOT, FailureLog
from kinfolk.isolation.validation import summarize_policy_error
from kinfolk.play.slots import SlotRegistry
from kinfolk.policies.base import AgentBatch, Memory, MemoryLayout, Policy


class GuardedPolicy:
    """A policy in this process whose exceptions are recorded; hangs and crashes are not covered.

    Args:
        failure_log: Names the policy and records its failures.
        registry: Loads the policy and caches it for later tasks.
        owner: Separates the policy from that of another slot with the same content; slots with a
            common instance would receive each other's actions and fail together.

    Attributes:
        agent_steps: Number of actions so far.
        policy_seconds: Seconds spent in `act_async` and `act_wait`.
    """

    def __init__(self, failure_log: FailureLog, registry: SlotRegistry, owner: str = "") -> None:
        self.failure_log = failure_log
        self._registry, self._owner = registry, owner
        self._policy: Policy | None = self._load()
        self._memory_layout = self._policy.memory_layout
        self._initial_rows: dict[int, tuple[AgentBatch, Ints]] = {}
        self._batch: AgentBatch | None = None
        self._n_restarts, self._restart_pending = 0, False
        self.policy_seconds, self.agent_steps = 0.0, 0

    @property
    def unwrapped(self) -> Policy | None:
        """The policy itself, for explanations; None after it failed."""
        return self._policy

    @property
    def memory_layout(self) -> MemoryLayout:
        """The memory layout of the policy."""
        return self._memory_layout

    def start_episode(self) -> None:
        """Clear the failure log; build the policy again if it failed in the last episode."""
        self.failure_log.start_episode()
        self._n_restarts, self._restart_pending = 0, False
        self._initial_rows.clear()
        if self._policy is None:
            self._policy = self._load()

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Reset the memory of new agents, if the policy has not failed."""
        if self.failure_log.settings.on_failure == "restart":
            for i, index in enumerate(batch.memory_index.tolist()):
                agent = AgentBatch(*(column[i : i + 1].copy() for column in batch))
                self._initial_rows[index] = (agent, keys[i : i + 1].copy())
        self._call_policy("reset_agents", batch, memory, keys)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Start the computation of actions, if the policy has not failed."""
        self._batch = batch
        if self._restart_pending:
            self._restart(batch, memory)
        start = time.perf_counter()
        self._call_policy("act_async", observations, batch, memory, keys)
        self.policy_seconds += time.perf_counter() - start
        self.agent_steps += len(keys)

    def act_wait(self) -> Ints:
        """Return the policy's actions, with noop in place of missing and invalid ones."""
        batch = self._batch
        assert batch is not None  # set by act_async
        start = time.perf_counter()
        actions = self._call_policy("act_wait")
        self.policy_seconds += time.perf_counter() - start
        if self._policy is None:
            return self.failure_log.noop_actions(batch)
        return self.failure_log.validate_actions(actions, batch, len(batch.group))

    def end_episode(self, world: Any, index: int, memory: Memory) -> None:
        """Let a policy learn that does so between episodes, if it has not failed in this one."""
        if hasattr(self._policy, "end_episode"):
            self._call_policy("end_episode", world, index, memory)

    def close(self) -> None:
        """Discard a policy that has learned; the registry keeps any other for the next task."""
        if hasattr(self._loaded, "end_episode"):
            self._registry.discard(self._loaded)

    def _load(self) -> Policy:
        """Return the policy from the registry, which builds it if needed."""
        log = self.failure_log
        self._loaded = self._registry.load(log.resolved, log.spec, owner=self._owner)
        return self._loaded

    def _call_policy(self, method: str, *arguments: Any) -> Any:
        """Call a method of the policy and return its result; None if the policy has failed.

        Raises:
            PolicyFailedError: The policy raised, and the settings or the batch do not allow it to
                continue.
        """
        policy = self._policy
        if policy is None:
            return None
        try:
            return getattr(policy, method)(*arguments)
        except (Exception, SystemExit) as error:
            summary = summarize_policy_error(error)
        self._policy = None
        if not hasattr(policy, "end_episode"):  # what it has learned is not lost by a failure
            self._registry.discard(policy)
        description = f"{method} raised {summary.message}"
        self._restart_pending = self.failure_log.handle_failure(
            WHOLE_SLOT, "raised", description, summary, self._n_restarts
        )
        return None

    def _restart(self, batch: AgentBatch, memory: Memory) -> None:
        """Build the policy again and reset its live agents, without their memory and parents."""
        self._restart_pending = False
        self._n_restarts += 1
        self._policy = self._load()
        for array in memory.values():
            array[batch.memory_index] = 0
        for index in batch.memory_index.tolist():
            agent, key = self._initial_rows[index]
            orphan = agent._replace(parent_memory_index=agent.parent_memory_index * 0 - 1)
            self._call_policy("reset_agents", orphan, memory, key)
