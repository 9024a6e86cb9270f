"""Matches: tasks in which members of populations play in a world, and how they are observed.

A match is one world with a member of each population, the fixed policies, and an episode. Its
result depends on these alone, so a generation can be split into chunks of any size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Floats, Ints
from kinfolk.core.errors import UnknownNameError, format_suggestion
from kinfolk.core.spaces import WorldSpec
from kinfolk.fitness.inherited_state import (
    read_memory,
    restore_env,
    save_env,
    take_rows,
    write_inherited_memory,
)
from kinfolk.fitness.trajectories import Trajectories, TrajectoryRecorder
from kinfolk.nets.running_stats import RunningStats, merge_running_stats
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.results import EpisodeResult
from kinfolk.play.slots import LoadedSlot
from kinfolk.play.task import Observer, RolloutResult, RolloutTask, WorldRef
from kinfolk.policies.build import ResolvedPolicy, build_policy
from kinfolk.policies.neural.evolved import CLASS_PATH
from kinfolk.worlds.base import World

COUNTER_PREFIX = "counter:"  # of a fitness that is a counter of the world
MEAN_PREFIX = "mean:"  # mean:3 is the mean of the fourth number of agents' observations


@dataclass(frozen=True)
class MatchSetup:
    """What all matches of an evolution have in common.

    Slots are named after populations and fixed groups.

    Attributes:
        world: The world of the matches.
        spec: Spec of the world.
        groups: Groups of agents that each population plays.
        fixed_policies: Policies of groups that do not evolve, by group.
        slot_map: Slot of each group, or of each row.
        fitness_kinds: By population, a value that `check_fitness_kind` accepts.
        seed: Seed of the episodes.
        matches: Matches per member and generation.
        steps: Ticks of a match at most; None: whole episodes.
        head: Output head of the nets.
        n_zero_inputs: Additional inputs of the nets that are always zero.
        measure_names: Measures for an archive, see `MeasureTracker`.
    """

    world: WorldRef
    spec: WorldSpec
    groups: Mapping[str, tuple[str, ...]]
    fixed_policies: Mapping[str, ResolvedPolicy]
    slot_map: Mapping[str, str] | Sequence[str]
    fitness_kinds: Mapping[str, str]
    seed: int
    matches: int = 1
    steps: int | None = None
    head: str = "argmax"
    n_zero_inputs: int = 0
    measure_names: Sequence[str] = ()

    def policy_settings(self, population: str, nets: Any) -> dict[str, Any]:
        """Return the settings of the policy with which nets of a population play."""
        return {
            "nets": nets.config(),
            "head": self.head,
            "groups": list(self.groups[population]),
            "n_zero_inputs": self.n_zero_inputs,
        }


@dataclass(frozen=True)
class MatchMeasures:
    """What is observed of matches beside their results; arrays have the match as first axis."""

    measures: Arrays  # by name
    running_stats: Mapping[str, RunningStats]  # by population; rows of a match are merged
    memory: Mapping[str, Arrays]  # by population, at the end
    trajectories: Trajectories | None = None


@dataclass(frozen=True)
class MatchObservers:
    """Observer factory: what to observe of matches beside their results.

    Args:
        memory: By population that plays, the initial memory of its policy, `[matches, rows, ...]`
            by name; empty if agents begin with a new memory.
        learn: Whether nets update their running statistics.
        keep_memory: Whether the memory of the populations is returned.
        measure_names: Names of measures, see `MeasureTracker`.
        record: Name of a population whose trajectories are recorded, or None.
    """

    memory: Mapping[str, Arrays]
    learn: bool = True
    keep_memory: bool = False
    measure_names: Sequence[str] = ()
    record: str | None = None

    def __call__(self, task: RolloutTask[Any], world: World) -> MatchObserver:
        """Return the observer of the matches of a task."""
        return MatchObserver(self, task, world)


class MatchObserver(Observer[MatchMeasures]):
    """Builds the policies of populations, and measures the matches they play.

    Args:
        observers: The populations, and what to observe of them.
        task: The matches.
        world: A world for each match.
    """

    def __init__(self, observers: MatchObservers, task: RolloutTask[Any], world: World) -> None:
        self._observers = observers
        self._evolved: dict[str, Any] = {}  # policies of the populations
        self._recorder: TrajectoryRecorder | None = None
        super().__init__(task, world)

    def build_slots(self) -> Sequence[LoadedSlot]:
        """Return the slots; evolving policies begin with the memory that their members inherited."""
        spec, n_rows = self.world.spec, self.world.n_worlds * self.world.spec.rows
        slots = []
        for name, resolved in self.task.resolved.items():
            policy: Any = build_policy(resolved, spec)
            memory = self._observers.memory.get(name)
            if memory is not None:
                self._evolved[name] = policy
                if (
                    self._observers.learn and "m2" in resolved.arrays
                ):  # they have running statistics
                    stats = (np.repeat(part, spec.rows, axis=0) for part in _match_stats(resolved))
                    policy.running_stats = RunningStats(*stats)
                rows = {n: a.reshape(n_rows, *a.shape[2:]) for n, a in memory.items()}
                policy.initial_memory = rows
            if name == self._observers.record:
                group = resolved.settings["groups"][0]
                policy = self._recorder = TrajectoryRecorder(policy, spec, group)
            slots.append(LoadedSlot(name, policy))
        return slots

    def restore(self, snapshot: Arrays) -> None:
        """Restore inherited worlds, and give the agents alive in them their inherited memory."""
        restore_env(self.loop, snapshot)
        write_inherited_memory(self.loop, self._observers.memory)

    def snapshot(self) -> dict[str, AnyArray]:
        """Return the state of the worlds by match."""
        return save_env(self.loop)

    def start(self) -> None:
        """Start to track the measures."""
        self._tracker = MeasureTracker(self.loop, self._observers.measure_names)

    def before_step(self) -> None:
        """Remember which worlds play this step."""
        self._playing = ~self.loop.idle

    def after_step(self, ended: list[EpisodeResult]) -> list[EpisodeResult]:
        """Update the measures after a step."""
        self._tracker.update(self._playing)
        return ended

    def finish(self) -> MatchMeasures:
        """Return measures, running statistics, memory and trajectories."""
        running_stats = {}
        for name, policy in self._evolved.items():
            if policy.running_stats is not None:
                base = _match_stats(self.task.resolved[name])
                by_match = (a.reshape(len(base.n), -1, a.shape[1]) for a in policy.running_stats)
                running_stats[name] = merge_running_stats(base, RunningStats(*by_match))
        with_memory = self._evolved if self._observers.keep_memory else ()
        return MatchMeasures(
            measures=self._tracker.measures(),
            running_stats=running_stats,
            memory={name: read_memory(self.loop, name) for name in with_memory},
            trajectories=self._recorder.trajectories() if self._recorder else None,
        )


def _match_stats(policy: ResolvedPolicy) -> RunningStats:
    """Return the running statistics that the members of a population begin each match with."""
    members = policy.arrays["match_members"]
    return RunningStats(*(policy.arrays[name][members] for name in RunningStats._fields))


def population_policy(setup: MatchSetup, name: str, nets: Any, members: Ints) -> ResolvedPolicy:
    """Return the policy that plays for a population in some matches.

    Args:
        setup: What all matches have in common.
        name: Name of the population.
        nets: Its nets.
        members: `[matches]`, which member plays in each match.
    """
    playing, indices = np.unique(members, return_inverse=True)
    arrays = take_rows(nets.to_arrays(), playing) | {"match_members": indices.astype(np.int64)}
    settings = setup.policy_settings(name, nets)
    return ResolvedPolicy(CLASS_PATH, settings, arrays, sha256="not asked for")


def make_match_task(
    setup: MatchSetup,
    policies: Mapping[str, ResolvedPolicy],
    observers: MatchObservers,
    episodes: Sequence[int],
    max_ticks: int | None = None,
) -> RolloutTask[MatchMeasures]:
    """Return the task that plays some matches.

    Args:
        setup: What all matches have in common.
        policies: Policies of the populations, by name.
        observers: What to observe of the populations.
        episodes: Number of the episode of each match.
        max_ticks: Ticks of a match at most; None: whole episodes.
    """
    count, policies = len(episodes), {**policies, **setup.fixed_policies}
    return RolloutTask(
        setup.world,
        policies,
        setup.seed,
        episodes,
        setup.slot_map,
        worlds=count,
        members=np.repeat(np.arange(count, dtype=np.int64)[:, None], setup.spec.rows, axis=1),
        max_ticks=max_ticks,
        observer=observers,
    )


def match_fitness(kind: str, result: RolloutResult[Any], slot: str) -> Floats:
    """Return the fitness of a slot in each match, `[matches]`.

    Args:
        kind: `return` (sum over all agents), `per_life` (mean return of an agent), `life` (mean
            ticks lived by an agent) or `counter:NAME`.
        result: Result of a task with a world for each match.
        slot: The slot of the population.
    """
    returns, lives = result.totals["returns"][slot], np.maximum(result.totals["lives"][slot], 1.0)
    if kind == "return":
        return returns
    if kind == "per_life":
        return returns / lives
    if kind == "life":
        return result.totals["ticks_lived"][slot] / lives
    return result.counters[kind.removeprefix(COUNTER_PREFIX)]


class MeasureTracker:
    """Tracks measures of every match while it is played.

    Args:
        play: The loop of the matches, one world each.
        names: Names of measures: `ticks`, a counter of the world, or `mean:N`.

    Raises:
        UnknownNameError: The world has no such measure.
    """

    def __init__(self, play: EpisodeLoop, names: Sequence[str]) -> None:
        self._play, self._names = play, tuple(names)
        self.ticks: Ints = np.zeros(play.world.n_worlds, dtype=np.int64)
        self._sums: dict[str, Floats] = {}
        self._n_observations: Ints = np.zeros(play.world.n_worlds, dtype=np.int64)
        field = play.world.spec.groups[0].fields[0]
        numbers = int(np.prod(field.shape)) if field.dtype == "float32" else 0
        known = ["ticks", *play.world.counters(), *(f"{MEAN_PREFIX}{i}" for i in range(numbers))]
        for name in names:
            if name not in known:
                shown = [n for n in known if not n.startswith(MEAN_PREFIX)]
                shown += [f"{MEAN_PREFIX}0 to {MEAN_PREFIX}{numbers - 1}"] if numbers else []
                start = f"World {play.world.spec.world} has no measure '{name}'."
                raise UnknownNameError(f"{start}{format_suggestion(name, shown)}")
            if name.startswith(MEAN_PREFIX):
                self._sums[name] = np.zeros(play.world.n_worlds)

    def update(self, playing: Bools) -> None:
        """Add a tick of the worlds that are `playing`, `[worlds]`."""
        self.ticks += playing
        if not self._sums:
            return
        worlds = self._play.world.n_worlds
        present = (self._play.world.columns.uid >= 0).reshape(worlds, -1) & playing[:, None]
        observations = self._play.observations.view(np.float32).reshape(*present.shape, -1)
        self._n_observations += present.sum(axis=1)
        for name, total in self._sums.items():
            values = observations[:, :, int(name.removeprefix(MEAN_PREFIX))]
            total += np.where(present, values, 0.0).sum(axis=1)

    def measures(self) -> dict[str, AnyArray]:
        """Return the measures by name, `[matches]` each."""
        counters = self._play.world.counters()
        measures: dict[str, AnyArray] = {}
        for name in self._names:
            if name in self._sums:
                measures[name] = self._sums[name] / np.maximum(self._n_observations, 1)
            else:
                values = self.ticks if name == "ticks" else counters[name]
                measures[name] = np.asarray(values, dtype=np.float64)
        return measures
