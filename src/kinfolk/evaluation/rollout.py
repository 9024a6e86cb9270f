"""Rollout tasks of evaluations: policies may fail and may run in worker processes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from kinfolk.core.errors import EngineError
from kinfolk.evaluation.timing import RolloutTiming, SlotTiming
from kinfolk.isolation.forkserver import ProcessLimitError
from kinfolk.isolation.inprocess import GuardedPolicy, RetrySerially
from kinfolk.isolation.proxy import IsolatedPolicy
from kinfolk.isolation.settings import IsolationSettings
from kinfolk.isolation.worker_pool import get_pool
from kinfolk.play.observer import Observer
from kinfolk.play.results import EpisodeResult, concatenate_columns
from kinfolk.play.slots import LoadedSlot, SlotMap, SlotRegistry
from kinfolk.play.task import EpisodeRunner, RolloutResult, RolloutTask, WorldRef, reuse_world
from kinfolk.policies.resolve import ResolvedPolicy
from kinfolk.worlds.base import World

_MAX_POLICIES = 16
_registry = SlotRegistry(max_policies=_MAX_POLICIES)  # of this process, which runs many tasks
_WEAKER_ISOLATION = {"agent": "slot", "slot": "none"}
_ISOLATION_TEXTS = {"slot": "one process for the slot", "none": "no process of its own"}
SlotTimings: TypeAlias = dict[str, SlotTiming]


class GuardedSlots(Observer[SlotTimings]):
    """Builds policies with the isolation of the task and adds their failures to the results."""

    def build_slots(self) -> Sequence[LoadedSlot]:
        """Build the slots, each with a guarded or an isolated policy."""
        isolation, world, policies = _get_isolation(self.task), self.world, self.task.resolved
        settings, modes = isolation.settings, isolation.modes(policies)
        single_episode = world.n_worlds == 1
        max_agents = world.n_worlds * world.spec.rows

        def get_tick() -> int:
            return int(world.tick[0])

        _registry.ensure_capacity(len(policies))
        self._guards: list[GuardedPolicy | IsolatedPolicy] = []
        with ExitStack() as stack:  # closes the policies built so far if one fails
            for name, resolved in policies.items():
                guard: GuardedPolicy | IsolatedPolicy
                if modes[name] == "none":
                    n_equal = sum(resolved == other for other in policies.values())
                    owner = name if n_equal > 1 else ""
                    guard = GuardedPolicy(
                        name, resolved, world.spec, _registry, settings, get_tick, single_episode,
                        owner,
                    )  # fmt: skip
                else:
                    per_agent = modes[name] == "agent"
                    guard = IsolatedPolicy(
                        name, resolved, world.spec, get_pool(settings), settings, get_tick,
                        max_agents, per_agent, single_episode,
                    )  # fmt: skip
                stack.callback(guard.close)
                self._guards.append(guard)
            stack.pop_all()
        return [LoadedSlot(guard.failure_log.slot, guard) for guard in self._guards]

    def start(self) -> None:
        """Clear failures, so that policies that failed in the last episode are built again."""
        for guard in self._guards:
            guard.start_episode()

    def after_step(self, ended: list[EpisodeResult]) -> list[EpisodeResult]:
        """Add failures and invalid actions; with several worlds they raise `RetrySerially` instead."""
        logs = [guard.failure_log for guard in self._guards]
        return [
            replace(
                result,
                failures=tuple(failure for log in logs for failure in log.failures),
                never_acted=tuple(log.slot for log in logs if log.never_acted),
                invalid_actions={
                    log.slot: dict(sorted(log.invalid_actions.items()))
                    for log in logs
                    if log.invalid_actions
                },
            )
            for result in ended
        ]

    def finish(self) -> SlotTimings:
        """Return the time and resources that each slot has used so far."""
        return {guard.failure_log.slot: SlotTiming.from_slot(guard) for guard in self._guards}


@dataclass(frozen=True)
class Isolation:
    """Observer factory that isolates policies in worker processes.

    Args:
        isolate: `none`, `slot` or `agent`: which unit has its own process.
        settings: Timeouts, limits, and what happens after a failure.
        isolate_slots: Modes of single slots that differ from `isolate`.
    """

    isolate: str = "none"
    settings: IsolationSettings = field(default_factory=IsolationSettings)
    isolate_slots: Mapping[str, str] = field(default_factory=dict)

    def modes(self, slots: Mapping[str, object]) -> dict[str, str]:
        """Return the isolation mode of each slot: none, slot or agent."""
        return {name: self.isolate_slots.get(name, self.isolate) for name in slots}

    def __call__(self, task: RolloutTask[Any], world: World) -> GuardedSlots:
        """Return the observer that builds the policies with this isolation."""
        return GuardedSlots(task, world)


def evaluation_task(
    world: WorldRef,
    policies: Mapping[str, ResolvedPolicy],
    seed: int,
    episodes: Sequence[int],
    slot_map: SlotMap | None = None,
    isolation: Isolation | None = None,
    inherit_slot: bool = False,
) -> RolloutTask[SlotTimings]:
    """Return the task of evaluating policies on some episodes, for `run_evaluation`.

    Args:
        world: The world to play on.
        policies: The policy of each slot.
        seed: Seed of all randomness.
        episodes: Numbers of the episodes.
        slot_map: Slot of each group or row; None: the first slot plays every agent.
        isolation: Isolation of the policies; None: they run in the process that plays the task.
        inherit_slot: Whether a newborn is played by its first parent's slot.
    """
    return RolloutTask(
        world, policies, seed, episodes, slot_map,
        inherit_slot=inherit_slot, log_agents=True, observer=isolation or Isolation(),
    )  # fmt: skip


def run_evaluation(task: RolloutTask[SlotTimings]) -> RolloutResult[RolloutTiming]:
    """Play a task of `evaluation_task`, with weaker isolation if processes cannot be started.

    Returns:
        The result; `observed` has the timing and warnings of weaker isolation.

    Raises:
        EngineError: Processes cannot be started, and the task is strict or has a sandbox.
    """
    start, warnings, attempt = time.perf_counter(), [], task
    settings = _get_isolation(task).settings
    while True:
        try:
            result = _run_isolated(attempt)
            break
        except ProcessLimitError as error:
            if settings.strict or settings.sandbox:
                raise EngineError(
                    f"{error} --strict and --sandbox do not allow weaker isolation."
                ) from None
            isolation = _get_isolation(attempt)
            modes = isolation.modes(task.resolved)
            slot, mode = next((s, m) for s, m in modes.items() if m in _WEAKER_ISOLATION)
            weaker = replace(isolation, isolate_slots={**modes, slot: _WEAKER_ISOLATION[mode]})
            attempt = replace(attempt, observer=weaker)
            warnings.append(
                f"{error} Slot '{slot}' gets {_ISOLATION_TEXTS[_WEAKER_ISOLATION[mode]]}."
            )
    timing = RolloutTiming(
        episodes=len(result.episodes),
        ticks=int(result.episodes.arrays["ticks"].sum()),
        seconds=time.perf_counter() - start,
        slots=result.observed,
        warnings=tuple(warnings),
    )
    return RolloutResult(
        result.episodes, result.ticks, result.totals, result.counters, result.snapshot, timing
    )


def _run_isolated(task: RolloutTask[SlotTimings]) -> RolloutResult[SlotTimings]:
    """Play episodes side by side, or one by one with a process per agent or after a failure."""
    if "agent" not in _get_isolation(task).modes(task.resolved).values():
        try:
            with EpisodeRunner(task, reuse_world(task.world, task.batch_size)) as runner:
                return runner.run()
        except RetrySerially:
            pass
    serial = replace(task, worlds=1)
    with EpisodeRunner(serial) as runner:
        parts = [runner.run(replace(serial, episodes=(number,))) for number in task.episodes]
    return replace(parts[-1], episodes=concatenate_columns(part.episodes for part in parts))


def _get_isolation(task: RolloutTask[Any]) -> Isolation:
    """Return the isolation of a task that `evaluation_task` built."""
    assert isinstance(task.observer, Isolation)
    return task.observer
