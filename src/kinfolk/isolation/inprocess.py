"""Policies in the evaluating process whose failures are recorded instead of raised.

`GuardedPolicy` here and `IsolatedPolicy` in `proxy.py` fulfil the contract of a policy and do not
raise if the policy fails, with one exception: with several worlds in the batch the first failure
raises `RetrySerially`, and the episodes are played again one by one. So a failure in one episode
cannot affect another, and a result does not depend on which episodes were played together.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.errors import PolicyFailedError
from kinfolk.core.spaces import WorldSpec
from kinfolk.core.tracebacks import ErrorSummary
from kinfolk.isolation.failures import (
    WHOLE_SLOT,
    FailureLog,
    make_abort_error,
    summarize_policy_error,
)
from kinfolk.isolation.settings import IsolationSettings
from kinfolk.play.slots import SlotRegistry
from kinfolk.policies.base import AgentBatch, Memory, MemoryLayout, Policy
from kinfolk.policies.resolve import ResolvedPolicy

TickGetter = Callable[[], int]  # returns the current tick, for records of failures


class RetrySerially(PolicyFailedError):  # noqa: N818, control flow more than an error
    """A policy failed in a batch of several worlds; the episodes must be played one by one."""


class GuardedPolicy:
    """A policy in this process whose exceptions are recorded; hangs and crashes are not covered.

    Args:
        slot: Id of the slot.
        resolved: Class, settings and weights of the policy.
        spec: Spec of the world.
        registry: Loads the policy and caches it for later tasks.
        settings: What happens after a failure.
        get_tick: Returns the current tick, for records of failures.
        single_episode: Whether the batch has one world only, so that a failure can be recorded
            instead of raising `RetrySerially`.
        owner: Separates the policy from that of another slot with the same content; slots with a
            common instance would receive each other's actions and fail together.
    """

    def __init__(
        self,
        slot: str,
        resolved: ResolvedPolicy,
        spec: WorldSpec,
        registry: SlotRegistry,
        settings: IsolationSettings,
        get_tick: TickGetter,
        single_episode: bool,
        owner: str = "",
    ) -> None:
        self.failure_log = FailureLog(slot, resolved.class_path, spec)
        self._resolved, self._spec, self._registry, self._settings = (
            resolved,
            spec,
            registry,
            settings,
        )
        self._get_tick, self._single_episode, self._owner = get_tick, single_episode, owner
        self._policy: Policy | None = self._load()
        self._memory_layout = self._policy.memory_layout
        self._initial_rows: dict[int, tuple[AgentBatch, Ints]] = {}
        self._batch: AgentBatch | None = None
        self._restarts = 0
        self._restart_pending = False
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
        self._restarts, self._restart_pending = 0, False
        self._initial_rows.clear()
        if self._policy is None:
            self._policy = self._load()

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Reset the memory of new agents, if the policy has not failed."""
        if self._settings.on_failure == "restart":
            for i, index in enumerate(batch.memory_index.tolist()):
                agent = AgentBatch(*(column[i : i + 1].copy() for column in batch))
                self._initial_rows[index] = (agent, keys[i : i + 1].copy())
        if self._policy is not None:
            self._call_policy(
                "reset_agents", lambda policy: policy.reset_agents(batch, memory, keys)
            )

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Start the computation of actions, if the policy has not failed."""
        self._batch = batch
        if self._restart_pending:
            self._restart(batch, memory)
        start = time.perf_counter()
        if self._policy is not None:
            self._call_policy(
                "act_async", lambda policy: policy.act_async(observations, batch, memory, keys)
            )
        self.policy_seconds += time.perf_counter() - start
        self.agent_steps += len(keys)

    def act_wait(self) -> Ints:
        """Return the policy's actions, with noop in place of missing and invalid ones."""
        assert self._batch is not None  # set by act_async
        actions: object = None
        start = time.perf_counter()

        def receive(policy: Policy) -> None:
            nonlocal actions
            actions = policy.act_wait()

        if self._policy is not None:
            self._call_policy("act_wait", receive)
        self.policy_seconds += time.perf_counter() - start
        if self._policy is None or self._restart_pending:
            return self.failure_log.noop_actions(self._batch)
        valid_actions = self.failure_log.validate_actions(
            actions, self._batch, len(self._batch.group)
        )
        if self.failure_log.invalid_actions and not self._single_episode:
            raise RetrySerially(f"Slot '{self.failure_log.slot}' returned invalid actions.")
        return valid_actions

    def close(self) -> None:
        """Do nothing: the registry keeps the policy for the next task."""

    def _load(self) -> Policy:
        return self._registry.load(self._resolved, self._spec, owner=self._owner)

    def _call_policy(self, method: str, call: Callable[[Policy], None]) -> None:
        """Call the policy and handle what it raises; `method` is named in the record."""
        assert self._policy is not None
        try:
            call(self._policy)
        except (Exception, SystemExit) as error:
            summary = summarize_policy_error(error)
            self._handle_failure(f"{method} raised {summary.message}", summary)

    def _handle_failure(self, description: str, error: ErrorSummary) -> None:
        """Discard the failed policy and record the failure, or raise as the settings say."""
        policy, self._policy = self._policy, None
        if policy is not None:
            self._registry.discard(policy)
        if not self._single_episode:
            raise RetrySerially(f"Slot '{self.failure_log.slot}': {description}.")
        self._restart_pending = (
            self._settings.on_failure == "restart" and self._restarts < self._settings.max_restarts
        )
        failure = self.failure_log.record_failure(
            WHOLE_SLOT, self._get_tick(), "raised", description, error, self._restart_pending
        )
        if self._settings.on_failure == "abort":
            raise make_abort_error(failure)

    def _restart(self, batch: AgentBatch, memory: Memory) -> None:
        """Build the policy again and reset its live agents, without their memory and parents."""
        self._restart_pending = False
        self._restarts += 1
        self._policy = self._load()
        for array in memory.values():
            array[batch.memory_index] = 0
        for index in batch.memory_index.tolist():
            agent, key = self._initial_rows[index]
            orphan = agent._replace(parent_memory_index=agent.parent_memory_index * 0 - 1)
            if self._policy is not None:
                self._call_policy(
                    "reset_agents",
                    lambda policy: policy.reset_agents(orphan, memory, key),  # noqa: B023
                )
