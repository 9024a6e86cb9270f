"""Rollout tasks of evaluations: policies may fail and may run in worker processes."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from kinfolk.core.errors import EngineError
from kinfolk.engines.base import Engine
from kinfolk.isolation.failures import FailureLog, IsolationSettings, RetrySerially
from kinfolk.isolation.forkserver import ProcessLimitError
from kinfolk.isolation.inprocess import GuardedPolicy
from kinfolk.isolation.limits import Usage
from kinfolk.isolation.proxy import IsolatedPolicy
from kinfolk.isolation.worker_pool import get_pool
from kinfolk.play.results import EpisodeResult, concatenate_columns
from kinfolk.play.slots import LoadedSlot, SlotMap, SlotRegistry
from kinfolk.play.task import (
    EpisodeRunner,
    Observer,
    RolloutResult,
    RolloutTask,
    WorldRef,
)
from kinfolk.play.world_cache import reuse_world
from kinfolk.policies.build import ResolvedPolicy
from kinfolk.worlds.base import World


@dataclass(frozen=True)
class SlotTiming:
    """Time and resources of one slot's policy; all but the first two are of worker processes."""

    agent_steps: int  # number of actions
    us_per_agent_step: float  # microseconds in the policy per action
    latency_us_mean: float = 0.0  # microseconds from request to reply
    latency_us_p99: float = 0.0
    processes: int = 0  # most at a time
    restarts: int = 0
    stale_replies: int = 0  # replies to requests that were no longer current
    printed_bytes: int = 0  # what the policy printed, which is discarded
    peak_megabytes: float = 0.0  # largest of a process
    wall_seconds: float = 0.0  # that answers took, if a limit asks for it
    cpu_seconds: float = 0.0  # likewise

    def merge(self, other: SlotTiming) -> SlotTiming:
        """Return the timing of both tasks together; p99 is the larger of the two."""
        steps = self.agent_steps + other.agent_steps
        share = other.agent_steps / max(1, steps)
        values: dict[str, float] = {}
        for name, first in vars(self).items():
            second = getattr(other, name)
            if name in ("us_per_agent_step", "latency_us_mean"):
                values[name] = first + share * (second - first)
            elif name in ("latency_us_p99", "peak_megabytes", "processes"):
                values[name] = max(first, second)
            else:
                values[name] = first + second
        return SlotTiming(**values)  # type: ignore[arg-type]  # counts stay integers

    @staticmethod
    def from_slot(policy: GuardedPolicy | IsolatedPolicy) -> SlotTiming:
        """Return the timing of a slot's policy so far."""
        steps = policy.agent_steps
        us_per_step = 1e6 * policy.policy_seconds / max(1, steps)
        if isinstance(policy, GuardedPolicy):
            return SlotTiming(steps, us_per_step)
        workers = policy.workers
        latencies = 1e6 * np.array(workers.latencies or [0.0])
        mean, p99 = float(latencies.mean()), float(np.percentile(latencies, 99))
        counts = (workers.peak_processes, workers.n_restarts, *workers.stats)
        used = (workers.task_usage.wall_seconds, workers.task_usage.cpu_seconds)
        return SlotTiming(steps, us_per_step, mean, p99, *counts, *used)


@dataclass(frozen=True, kw_only=True)
class RolloutTiming:
    """Time and resources of a rollout task, or of all tasks of a job: `result.monitoring`."""

    episodes: int  # number of episodes
    ticks: int  # of all episodes
    seconds: float  # of wall-clock time, summed over tasks that run side by side
    slots: dict[str, SlotTiming] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()  # about weaker isolation than was asked for


def parse_timings(lines: Sequence[Mapping[str, Any]]) -> list[RolloutTiming]:
    """Return the timings of a run from its lines, without those that are damaged."""
    adapter = TypeAdapter(RolloutTiming)
    names = [field.name for field in fields(RolloutTiming)]
    timings = []
    for line in lines:
        with suppress(KeyError, ValidationError):
            timings.append(adapter.validate_python({name: line[name] for name in names}))
    return timings


def merge_timings(timings: Sequence[RolloutTiming]) -> RolloutTiming:
    """Merge the timings of tasks: sums, means, and the largest p99, memory and processes."""
    slots: dict[str, SlotTiming] = {}
    for timing in timings:
        for name, slot in timing.slots.items():
            slots[name] = slots[name].merge(slot) if name in slots else slot
    return RolloutTiming(
        episodes=sum(timing.episodes for timing in timings),
        ticks=sum(timing.ticks for timing in timings),
        seconds=sum(timing.seconds for timing in timings),
        slots=slots,
        warnings=tuple(sorted({warning for timing in timings for warning in timing.warnings})),
    )


_MAX_POLICIES = 16
_MAX_WIDTH = 8  # games side by side, of which each isolated slot has a process
_registry = SlotRegistry(max_policies=_MAX_POLICIES)  # of this process, which runs many tasks
_PROCESS_LIMITS = (
    "episode_timeout", "match_timeout", "memory_limit",
    "cpu_limit", "step_cpu_limit", "episode_cpu_limit", "match_cpu_limit",
)  # fmt: skip
_WEAKER_ISOLATION = {"agent": "slot", "slot": "none"}
_ISOLATION_TEXTS = {"slot": "one process for the slot", "none": "no process of its own"}
SlotTimings: TypeAlias = dict[str, SlotTiming]
MatchTask = TypeVar("MatchTask", bound=RolloutTask[SlotTimings])
MatchResult = TypeVar("MatchResult", bound=RolloutResult[RolloutTiming])


class GuardedSlots(Observer[SlotTimings]):
    """Builds policies with the isolation of the task and adds their failures to the results."""

    def build_slots(self) -> Sequence[LoadedSlot]:
        """Build the slots, each with a guarded or an isolated policy."""
        isolation, world, policies = _get_isolation(self.task), self.world, self.task.resolved
        settings, modes = isolation.settings, isolation.modes(policies)
        single = world.n_worlds == 1

        def get_tick() -> int:
            """Return the current tick of the first world."""
            return int(world.tick[0])

        _registry.ensure_capacity(len(policies))
        self._guards: list[GuardedPolicy | IsolatedPolicy] = []
        with ExitStack() as stack:  # closes the policies built so far if one fails
            for name, resolved in policies.items():
                guard: GuardedPolicy | IsolatedPolicy
                if modes[name] == "none":
                    n_equal = sum(resolved == other for other in policies.values())
                    log = FailureLog(name, resolved, world.spec, settings, get_tick, single)
                    guard = GuardedPolicy(log, _registry, owner=name if n_equal > 1 else "")
                else:
                    guard = IsolatedPolicy(
                        name, resolved, world.spec, get_pool(settings), settings, get_tick,
                        world.n_worlds, world.spec.rows, modes[name] == "agent",
                    )  # fmt: skip
                    guard.workers.match_usage = replace(isolation.used.get(name, Usage()))
                stack.callback(guard.close)
                self._guards.append(guard)
            stack.pop_all()
        return [LoadedSlot(guard.failure_log.slot, guard) for guard in self._guards]

    @property
    def plays_in_order(self) -> bool:
        """Whether episodes are played one at a time, each of them once; so is a single one."""
        return _get_isolation(self.task).in_order or super().plays_in_order

    def start(self) -> None:
        """Clear failures, so that policies that failed in the last episode are built again."""
        for guard in self._guards:
            guard.start_episode()

    def after_step(self, ended: list[EpisodeResult]) -> list[EpisodeResult]:
        """Add failures and invalid actions; with several worlds they raise `RetrySerially` instead."""
        if not ended:
            return ended
        logs = [guard.failure_log for guard in self._guards]
        counts = {log.slot: dict(sorted(log.invalid_actions.items())) for log in logs}
        additions: dict[str, Any] = {
            "failures": tuple(failure for log in logs for failure in log.failures),
            "never_acted": tuple(log.slot for log in logs if log.never_acted),
            "invalid_actions": {slot: reasons for slot, reasons in counts.items() if reasons},
        }
        return [replace(result, **additions) for result in ended]

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
        used: Seconds that slots have used in earlier tasks of the match.
        in_order: Whether the task has all episodes and plays them one by one, as policies need that
            learn between episodes.
    """

    isolate: str = "none"
    settings: IsolationSettings = field(default_factory=IsolationSettings)
    isolate_slots: Mapping[str, str] = field(default_factory=dict)
    used: Mapping[str, Usage] = field(default_factory=dict)
    in_order: bool = False

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
    world_slot_maps: Mapping[int, SlotMap] | None = None,
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
        world_slot_maps: Slot maps of single episodes instead, by their numbers.
    """
    return RolloutTask(
        world, policies, seed, episodes, slot_map, world_slot_maps or {},
        inherit_slot=inherit_slot, log_agents=True, observer=isolation or Isolation(),
    )  # fmt: skip


def run_evaluation(task: RolloutTask[SlotTimings]) -> RolloutResult[RolloutTiming]:
    """Play a task of `evaluation_task`, with weaker isolation if processes cannot be started.

    Returns:
        The result; `observed` has the timing and warnings of weaker isolation.

    Raises:
        EngineError: Processes cannot be started, and the task is strict or has a sandbox; or limits
            cannot be enforced, and it is strict.
    """
    start, attempt = time.perf_counter(), task
    settings, warnings = _get_isolation(task).settings, _list_idle_limits(task)
    if settings.strict and warnings:
        raise EngineError(f"{warnings[0]} --strict asks for them.")
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


def _list_idle_limits(task: RolloutTask[SlotTimings]) -> list[str]:
    """Return a warning for each slot whose limits cannot be enforced, because it has no process."""
    isolation = _get_isolation(task)
    defaults = IsolationSettings()
    chosen = [
        name
        for name in _PROCESS_LIMITS
        if getattr(isolation.settings, name) != getattr(defaults, name)
    ]
    flags = ", ".join(f"--{name.replace('_', '-')}" for name in chosen)
    slots = [slot for slot, mode in isolation.modes(task.resolved).items() if mode == "none"]
    reason = f"has no process of its own (--isolate), so these limits do not hold: {flags}."
    return [f"Slot '{slot}' {reason}" for slot in slots if flags]


def _run_isolated(task: RolloutTask[SlotTimings]) -> RolloutResult[SlotTimings]:
    """Play episodes side by side, or one by one: in order, with a process per agent, after a failure."""
    isolation = _get_isolation(task)
    modes = [*isolation.modes(task.resolved).values()]
    n_isolated = len(modes) - modes.count("none")
    width = task.batch_size
    if n_isolated:  # every game has processes of its own
        width = min(width, max(1, isolation.settings.max_processes // n_isolated), _MAX_WIDTH)
    if "agent" in modes or isolation.in_order:
        width = 1
    try:
        return _play_side_by_side(task, width)
    except RetrySerially:
        return _play_side_by_side(task, 1)


def _play_side_by_side(task: RolloutTask[SlotTimings], width: int) -> RolloutResult[SlotTimings]:
    """Play the episodes of a task with `width` of them at a time."""
    task = replace(task, worlds=width)
    starts = range(0, len(task.episodes), width)
    with EpisodeRunner(task, reuse_world(task.world, width)) as runner:
        parts = [
            runner.run(replace(task, episodes=task.episodes[start : start + width]))
            for start in starts
        ]
    if len(parts) == 1:
        return parts[0]
    return replace(parts[-1], episodes=concatenate_columns(part.episodes for part in parts))


def _get_isolation(task: RolloutTask[Any]) -> Isolation:
    """Return the isolation of a task that `evaluation_task` built."""
    assert isinstance(task.observer, Isolation)
    return task.observer


def run_matches(
    engine: Engine,
    tasks: Iterable[tuple[Hashable, MatchTask]],
    run: Callable[[MatchTask], MatchResult],
) -> Iterator[MatchResult]:
    """Run tasks of matches and yield their results in order, with limits that hold for a whole match.

    What slots have used is known to later tasks of the same match. Tasks that run side by side do not
    know of each other, so a slot can exceed a limit by what it uses in as many tasks.

    Args:
        engine: Engine that runs the tasks.
        tasks: Each with a key of its match.
        run: Function that plays a task: `run_evaluation`, or one that does more.
    """
    used: defaultdict[Hashable, dict[str, Usage]] = defaultdict(dict)
    running: deque[Hashable] = deque()

    def set_used() -> Iterator[MatchTask]:
        """Yield tasks that know what their match has used when they are taken."""
        for match, task in tasks:
            running.append(match)
            before = {slot: replace(usage) for slot, usage in used[match].items()}
            yield replace(task, observer=replace(_get_isolation(task), used=before))

    for result in engine.map(run, set_used()):
        match = running.popleft()
        for slot, timing in result.observed.slots.items():
            usage = used[match].setdefault(slot, Usage())
            usage.add(timing.wall_seconds, timing.cpu_seconds)
        yield result
