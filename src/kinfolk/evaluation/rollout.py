"""A match: some episodes of one line-up, as a task for an engine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from kinfolk.core.errors import EngineError
from kinfolk.core.random import episode_key
from kinfolk.evaluation.results import AGENT_COLUMNS, EpisodeReport
from kinfolk.evaluation.timing import RolloutTiming, SlotTiming, build_timing
from kinfolk.isolation.forkserver import ProcessLimitError
from kinfolk.isolation.inprocess import GuardedPolicy, RetrySerially
from kinfolk.isolation.proxy import IsolatedPolicy
from kinfolk.isolation.settings import IsolationSettings
from kinfolk.isolation.worker_pool import get_pool
from kinfolk.play.agent_log import AgentLog
from kinfolk.play.loop import EpisodeLoop, EpisodeResult, run_episodes
from kinfolk.play.slots import LoadedSlot, SlotMap, SlotRegistry, build_slot_assignment
from kinfolk.policies.resolve import ResolvedPolicy
from kinfolk.worlds import build_world as build_world
from kinfolk.worlds.base import World

_MAX_POLICIES = 16
_registry = SlotRegistry(max_policies=_MAX_POLICIES)  # of this process; a worker plays many matches
_WEAKER_ISOLATION = {"agent": "slot", "slot": "none"}
_ISOLATION_TEXTS = {"slot": "one process for the slot", "none": "no process of its own"}


@dataclass(frozen=True)
class RolloutTask:
    """Everything that the results of some episodes follow from, and how policies are kept."""

    world: str
    world_settings: Mapping[str, Any]
    slots: Mapping[str, ResolvedPolicy]
    seed: int
    first_episode: int
    end_episode: int
    preset: str | None = None
    slot_map: SlotMap | None = None
    isolate: str = "none"
    isolation: IsolationSettings = field(default_factory=IsolationSettings)
    isolate_slots: Mapping[str, str] = field(default_factory=dict)  # where a slot says otherwise
    inherit_slot: bool = False

    @property
    def isolation_modes(self) -> dict[str, str]:
        """How each slot is kept: none, slot or agent."""
        return {name: self.isolate_slots.get(name, self.isolate) for name in self.slots}


@dataclass(frozen=True)
class RolloutResult:
    """What came of a match, and what it took."""

    reports: list[EpisodeReport]
    timing: RolloutTiming


def play_task(task: RolloutTask) -> list[EpisodeReport]:
    """Play the episodes `first` to `last - 1`."""
    return run_task(task).reports


def run_task(task: RolloutTask) -> RolloutResult:
    """Play a match, with less isolation than asked for where the system has no processes for it.

    Raises:
        EngineError: There are no processes, and the match is strict or wants a sandbox.
    """
    start, warnings, wanted = time.perf_counter(), [], task
    while True:
        try:
            reports, slots = _run_batched_or_serially(wanted)
            break
        except ProcessLimitError as error:
            if task.isolation.strict or task.isolation.sandbox:
                raise EngineError(
                    f"{error} Nothing less is done under --strict or --sandbox."
                ) from None
            slot, mode = next(
                (s, m) for s, m in wanted.isolation_modes.items() if m in _WEAKER_ISOLATION
            )
            modes = {**wanted.isolation_modes, slot: _WEAKER_ISOLATION[mode]}
            wanted = replace(wanted, isolate_slots=modes)
            warnings.append(
                f"{error} Slot '{slot}' gets {_ISOLATION_TEXTS[_WEAKER_ISOLATION[mode]]}."
            )
    return RolloutResult(
        reports,
        build_timing(task.first_episode, reports, time.perf_counter() - start, slots, warnings),
    )


def _run_batched_or_serially(
    task: RolloutTask,
) -> tuple[list[EpisodeReport], dict[str, SlotTiming]]:
    """Side by side while all goes well; one by one where agents are apart or something failed."""
    if "agent" not in task.isolation_modes.values():
        try:
            with build_runner(task, task.end_episode - task.first_episode) as game:
                return game.run(range(task.first_episode, task.end_episode)), game.slot_timings()
        except RetrySerially:
            pass
    with build_runner(task, 1) as game:
        reports = []
        for episode in range(task.first_episode, task.end_episode):
            reports += game.run(range(episode, episode + 1))
        return reports, game.slot_timings()


@dataclass
class EpisodeRunner:
    """A world with its line-up, ready to be played."""

    task: RolloutTask
    world: World
    policies: Sequence[GuardedPolicy | IsolatedPolicy]
    agent_log: AgentLog = field(default_factory=AgentLog)

    def make_loop(self, episodes: range) -> EpisodeLoop:
        """The loop over some episodes."""
        slots = [
            LoadedSlot(name, one) for name, one in zip(self.task.slots, self.policies, strict=True)
        ]
        table = build_slot_assignment(self.world.spec, list(self.task.slots), self.task.slot_map)
        for one in self.policies:
            one.start_episode()
        return EpisodeLoop(
            self.world, slots, table, self.task.seed, episodes,
            inherit_slot=self.task.inherit_slot, agent_log=self.agent_log,
        )  # fmt: skip

    def run(self, episodes: range) -> list[EpisodeReport]:
        """Play them to their end."""
        return [self.make_report(result) for result in run_episodes(self.make_loop(episodes))]

    def make_report(self, result: EpisodeResult) -> EpisodeReport:
        """All that is known of an episode that has just ended."""
        lives = self.agent_log.pop_episode(result.episode)
        groups = [group.name for group in self.world.spec.groups]
        earned = dict.fromkeys(groups, 0.0)
        for life in lives:
            earned[groups[life.group]] += life.total_reward
        return EpisodeReport(
            **vars(result),
            seed=episode_key(self.task.seed, result.episode),
            group_returns=earned,
            agents={name: [getattr(life, name) for life in lives] for name in AGENT_COLUMNS},
            failures=tuple(
                failure for one in self.policies for failure in one.failure_log.failures
            ),
            never_acted=tuple(
                one.failure_log.slot for one in self.policies if one.failure_log.never_acted
            ),
            invalid_actions={
                one.failure_log.slot: dict(sorted(one.failure_log.invalid_actions.items()))
                for one in self.policies
                if one.failure_log.invalid_actions
            },
        )

    def slot_timings(self) -> dict[str, SlotTiming]:
        """What the slots took."""
        return {one.failure_log.slot: SlotTiming.from_slot(one) for one in self.policies}


@contextmanager
def build_runner(task: RolloutTask, n_worlds: int) -> Iterator[EpisodeRunner]:
    """A match's world and policies. Policies are let go of at the end."""
    world = build_world(task.world, task.world_settings, n_worlds, task.preset)
    alone, places, spec = n_worlds == 1, n_worlds * world.spec.rows, world.spec

    def tick() -> int:
        return int(world.tick[0])

    _registry.ensure_capacity(len(task.slots))
    with ExitStack() as stack:
        kept: list[GuardedPolicy | IsolatedPolicy] = []
        for name, resolved in task.slots.items():
            mode = task.isolation_modes[name]
            one: GuardedPolicy | IsolatedPolicy
            if mode == "none":
                twins = sum(resolved == other for other in task.slots.values())
                owner = name if twins > 1 else ""
                one = GuardedPolicy(
                    name, resolved, spec, _registry, task.isolation, tick, alone, owner
                )
            else:
                pool = get_pool(task.isolation)
                by_agent = mode == "agent"
                one = IsolatedPolicy(
                    name, resolved, spec, pool, task.isolation, tick, places, by_agent, alone
                )
            stack.callback(one.close)
            kept.append(one)
        yield EpisodeRunner(task, world, kept)


@contextmanager
def build_loop(task: RolloutTask) -> Iterator[EpisodeLoop]:
    """The loop of a match, to be driven tick by tick; all its episodes side by side."""
    with build_runner(task, task.end_episode - task.first_episode) as game:
        yield game.make_loop(range(task.first_episode, task.end_episode))
