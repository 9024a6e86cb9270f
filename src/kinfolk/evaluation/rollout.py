"""Tasks of an evaluation: policies may fail, and may be kept in processes of their own."""

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
from kinfolk.play.results import EpisodeResult, joined_columns
from kinfolk.play.slots import LoadedSlot, SlotMap, SlotRegistry
from kinfolk.play.task import EpisodeRunner, RolloutResult, RolloutTask, WorldRef, reusable_world
from kinfolk.policies.resolve import ResolvedPolicy
from kinfolk.worlds.base import World

_MAX_POLICIES = 16
_registry = SlotRegistry(max_policies=_MAX_POLICIES)  # of this process; a worker runs many tasks
_WEAKER_ISOLATION = {"agent": "slot", "slot": "none"}
_ISOLATION_TEXTS = {"slot": "one process for the slot", "none": "no process of its own"}
SlotTimings: TypeAlias = dict[str, SlotTiming]


class GuardedSlots(Observer[SlotTimings]):
    """Plays each slot as `Isolation` says; failures of policies become part of the results."""

    def build_slots(self) -> Sequence[LoadedSlot]:
        """Return the slots; policies in this process come from its registry."""
        isolation, world, policies = _isolation_of(self.task), self.world, self.task.resolved
        care, modes, alone = isolation.care, isolation.modes(policies), world.n_worlds == 1
        places = world.n_worlds * world.spec.rows

        def tick() -> int:
            return int(world.tick[0])

        _registry.ensure_capacity(len(policies))
        self._guards: list[GuardedPolicy | IsolatedPolicy] = []
        with ExitStack() as stack:  # closes those that were opened if one cannot be
            for name, resolved in policies.items():
                guard: GuardedPolicy | IsolatedPolicy
                if modes[name] == "none":
                    twins = sum(resolved == other for other in policies.values())
                    owner = name if twins > 1 else ""
                    guard = GuardedPolicy(
                        name, resolved, world.spec, _registry, care, tick, alone, owner
                    )
                else:
                    by_agent = modes[name] == "agent"
                    guard = IsolatedPolicy(
                        name, resolved, world.spec, get_pool(care), care, tick, places, by_agent,
                        alone,
                    )  # fmt: skip
                stack.callback(guard.close)
                self._guards.append(guard)
            stack.pop_all()
        return [LoadedSlot(guard.failure_log.slot, guard) for guard in self._guards]

    def start(self) -> None:
        """Begin an episode: policies that failed in the last one are made anew."""
        for guard in self._guards:
            guard.start_episode()

    def after_step(self, ended: list[EpisodeResult]) -> list[EpisodeResult]:
        """Add the failures; there are none where several episodes are played side by side."""
        ledgers = [guard.failure_log for guard in self._guards]
        return [
            replace(
                result,
                failures=tuple(failure for one in ledgers for failure in one.failures),
                never_acted=tuple(one.slot for one in ledgers if one.never_acted),
                invalid_actions={
                    one.slot: dict(sorted(one.invalid_actions.items()))
                    for one in ledgers
                    if one.invalid_actions
                },
            )
            for result in ended
        ]

    def finish(self) -> SlotTimings:
        """Return what each slot has taken so far."""
        return {guard.failure_log.slot: SlotTiming.from_slot(guard) for guard in self._guards}


@dataclass(frozen=True)
class Isolation:
    """How policies are kept apart from the evaluation, and from each other.

    Args:
        isolate: `none`, `slot` or `agent`: what has a process of its own.
        care: Timeouts, limits, and what to do when a policy fails.
        isolate_slots: By slot, where one differs from `isolate`.
    """

    isolate: str = "none"
    care: IsolationSettings = field(default_factory=IsolationSettings)
    isolate_slots: Mapping[str, str] = field(default_factory=dict)

    def modes(self, slots: Mapping[str, object]) -> dict[str, str]:
        """Return how each slot is kept: none, slot or agent."""
        return {name: self.isolate_slots.get(name, self.isolate) for name in slots}

    def __call__(self, task: RolloutTask[Any], world: World) -> GuardedSlots:
        """Return the observer that keeps the policies so."""
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
        world: Where.
        policies: By slot.
        seed: The seed of all randomness.
        episodes: Their numbers.
        slot_map: Which slot plays whom; None: the first slot plays everybody.
        isolation: How policies are kept apart; None: they play in the process of the task.
        inherit_slot: A newborn is played by its first parent's slot.
    """
    return RolloutTask(
        world, policies, seed, episodes, slot_map,
        inherit_slot=inherit_slot, log_agents=True, observer=isolation or Isolation(),
    )  # fmt: skip


def run_evaluation(task: RolloutTask[SlotTimings]) -> RolloutResult[RolloutTiming]:
    """Play a task, with less isolation than asked for where the system has no processes for it.

    Raises:
        EngineError: There are no processes, and the task is strict or wants a sandbox.
    """
    start, warnings, wanted = time.perf_counter(), [], task
    care = _isolation_of(task).care
    while True:
        try:
            result = _run(wanted)
            break
        except ProcessLimitError as error:
            if care.strict or care.sandbox:
                raise EngineError(
                    f"{error} Nothing less is done under --strict or --sandbox."
                ) from None
            isolation = _isolation_of(wanted)
            modes = isolation.modes(task.resolved)
            slot, mode = next((s, m) for s, m in modes.items() if m in _WEAKER_ISOLATION)
            fewer = replace(isolation, isolate_slots={**modes, slot: _WEAKER_ISOLATION[mode]})
            wanted = replace(wanted, observer=fewer)
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


def _run(task: RolloutTask[SlotTimings]) -> RolloutResult[SlotTimings]:
    """Side by side while all goes well; one by one where agents are apart or something failed."""
    if "agent" not in _isolation_of(task).modes(task.resolved).values():
        try:
            with EpisodeRunner(task, reusable_world(task.world, task.batch)) as runner:
                return runner.run()
        except RetrySerially:
            pass
    alone = replace(task, worlds=1)
    with EpisodeRunner(alone) as runner:
        parts = [runner.run(replace(alone, episodes=(number,))) for number in task.episodes]
    return replace(parts[-1], episodes=joined_columns(part.episodes for part in parts))


def _isolation_of(task: RolloutTask[Any]) -> Isolation:
    """Return how a task of `evaluation_task` keeps its policies."""
    assert isinstance(task.observer, Isolation)
    return task.observer
