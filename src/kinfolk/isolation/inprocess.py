"""Slots that are judged: their policies may fail, and the game goes on without them.

Both kinds keep the contract of a policy and never raise for what a policy does, with one exception:
when several worlds are played side by side, the first fault raises `Spoilt`, and the episodes are
played again one by one. So what a bad policy does in one episode never reaches another, and a
result does not depend on which episodes were played together.
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

TickGetter = Callable[[], int]


class RetrySerially(PolicyFailedError):  # noqa: N818, a turn in the game more than an error
    """A policy failed while several episodes were played side by side."""


class GuardedPolicy:
    """A slot whose policy lives in this process. A policy that hangs or crashes is not covered.

    Args:
        slot: Its name.
        resolved: The policy.
        spec: Of the world.
        registry: Where policies are loaded, and kept for the next match.
        care: What to do when the policy fails.
        tick: Tells the time of a failure.
        alone: Whether no other episode is played beside it, that a failure would spoil.
        owner: Keeps the policy apart from that of another slot with the same content. Slots that
            shared one would take each other's answers, and fail together.
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
        """The policy itself, for those who ask it why; None after it failed."""
        return self._policy

    @property
    def memory_layout(self) -> MemoryLayout:
        """What the policy remembers."""
        return self._memory_layout

    def start_episode(self) -> None:
        """Begin an episode: a policy that failed in the last one is made anew."""
        self.failure_log.start_episode()
        self._restarts, self._restart_pending = 0, False
        self._initial_rows.clear()
        if self._policy is None:
            self._policy = self._load()

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Lives that start now."""
        if self._settings.on_failure == "restart":
            for i, place in enumerate(batch.memory_index.tolist()):
                one = slice(i, i + 1)
                self._initial_rows[place] = (
                    AgentBatch(*(c[one].copy() for c in batch)),
                    keys[one].copy(),
                )
        if self._policy is not None:
            self._call_policy(
                "reset_agents", lambda policy: policy.reset_agents(batch, memory, keys)
            )

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Forward it, if the policy still plays."""
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
        """What the policy chose; what agents do that do nothing, where it did not."""
        assert self._batch is not None  # it was asked
        actions: object = None
        start = time.perf_counter()

        def take(policy: Policy) -> None:
            nonlocal actions
            actions = policy.act_wait()

        if self._policy is not None:
            self._call_policy("act_wait", take)
        self.policy_seconds += time.perf_counter() - start
        if self._policy is None or self._restart_pending:
            return self.failure_log.noop_actions(self._batch)
        sound = self.failure_log.validate_actions(actions, self._batch, len(self._batch.group))
        if self.failure_log.invalid_actions and not self._single_episode:
            raise RetrySerially(f"Slot '{self.failure_log.slot}' gave an answer that is no action.")
        return sound

    def close(self) -> None:
        """The registry keeps the policy for the next match."""

    def _load(self) -> Policy:
        return self._registry.load(self._resolved, self._spec, owner=self._owner)

    def _call_policy(self, method: str, call: Callable[[Policy], None]) -> None:
        assert self._policy is not None
        try:
            call(self._policy)
        except (Exception, SystemExit) as error:
            explained = summarize_policy_error(error)
            self._handle_failure(f"{method} raised {explained.message}", explained)

    def _handle_failure(self, description: str, error: ErrorSummary) -> None:
        policy, self._policy = self._policy, None
        if policy is not None:
            self._registry.discard(policy)
        if not self._single_episode:
            raise RetrySerially(f"Slot '{self.failure_log.slot}': {description}.")
        self._restart_pending = (
            self._settings.on_failure == "restart" and self._restarts < self._settings.max_restarts
        )
        note = self.failure_log.record_failure(
            WHOLE_SLOT, self._get_tick(), "raised", description, error, self._restart_pending
        )
        if self._settings.on_failure == "abort":
            raise make_abort_error(note)

    def _restart(self, batch: AgentBatch, memory: Memory) -> None:
        """A new policy, and all that the old one remembered is lost."""
        self._restart_pending = False
        self._restarts += 1
        self._policy = self._load()
        for array in memory.values():
            array[batch.memory_index] = 0
        for place in batch.memory_index.tolist():
            life, key = self._initial_rows[place]
            orphan = life._replace(parent_memory_index=life.parent_memory_index * 0 - 1)
            if self._policy is not None:
                self._call_policy(
                    "reset_agents",
                    lambda policy: policy.reset_agents(orphan, memory, key),  # noqa: B023
                )
