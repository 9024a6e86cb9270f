"""Observers of matches: tasks in which members of populations play in a world.

A match is one world with a member of each population, the fixed policies, and an episode. Its
result depends on these alone, so a generation can be split into chunks of any size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Ints
from kinfolk.fitness.inherited_state import (
    read_memory,
    restore_env,
    save_env,
    write_inherited_memory,
)
from kinfolk.fitness.measures import MeasureTracker
from kinfolk.fitness.trajectories import Trajectories, TrajectoryRecorder
from kinfolk.nets.running_stats import RunningStats, merge_running_stats
from kinfolk.play.observer import Observer
from kinfolk.play.results import EpisodeResult
from kinfolk.play.slots import LoadedSlot
from kinfolk.play.task import RolloutTask
from kinfolk.policies.neural.evolved import EvolvedPolicy
from kinfolk.policies.resolve import ResolvedPolicy, build_policy
from kinfolk.worlds.base import World


@dataclass(frozen=True)
class PopulationSide:
    """One population in some matches: the nets of some members, and who plays in each match."""

    nets: Mapping[str, Any]  # `config()` of the nets
    arrays: Arrays  # `to_arrays()` of the members that play
    members: Ints  # [matches], index into these members
    groups: tuple[str, ...]  # groups of agents that the population plays
    head: str = "argmax"  # output head
    n_zero_inputs: int = 0  # additional inputs that are always zero
    memory: Arrays = field(default_factory=dict)  # [matches, rows, ...], initial memory


@dataclass(frozen=True)
class MatchMeasures:
    """What is observed of matches beside their results; arrays have the match as first axis."""

    measures: Arrays  # by name
    running_stats: Mapping[str, RunningStats]  # by population; rows of a match are merged
    memory: Mapping[str, Arrays]  # by population, at the end
    trajectories: Trajectories | None = None


@dataclass(frozen=True)
class MatchObservers:
    """What to observe of matches beside their results; makes the observer.

    Args:
        sides: The populations that play, by slot.
        learn: Whether dynamic nets update their running statistics.
        keep_memory: Whether the memory of the populations is returned.
        measure_names: Names of measures, see `MeasureTracker`.
        record: A population whose trajectories are recorded; None: none.
    """

    sides: Mapping[str, PopulationSide]
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
            side = self._observers.sides.get(name)
            if side is not None:
                self._evolved[name] = policy
                if self._observers.learn:
                    policy.running_stats = _copy_stats(side, spec.rows)
                policy.initial_memory = {
                    n: a.reshape(n_rows, *a.shape[2:]) for n, a in side.memory.items()
                }
            if side is not None and name == self._observers.record:
                policy = self._recorder = TrajectoryRecorder(policy, spec, side.groups[0])
            slots.append(LoadedSlot(name, policy))
        return slots

    def restore(self, snapshot: Arrays) -> None:
        """Continue inherited worlds, and the agents alive in them with inherited memory."""
        restore_env(self.loop, snapshot)
        write_inherited_memory(
            self.loop, {name: side.memory for name, side in self._observers.sides.items()}
        )

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
        sides = self._observers.sides if self._observers.learn else {}
        stats = {name: _merge_rows(side, self._evolved[name]) for name, side in sides.items()}
        with_memory = self._observers.sides if self._observers.keep_memory else {}
        return MatchMeasures(
            measures=self._tracker.measures(),
            running_stats={name: merged for name, merged in stats.items() if merged is not None},
            memory={name: read_memory(self.loop, name) for name in with_memory},
            trajectories=self._recorder.trajectories() if self._recorder else None,
        )


def side_policy(side: PopulationSide) -> ResolvedPolicy:
    """Return the policy that plays for a population."""
    settings = {
        "nets": dict(side.nets), "head": side.head, "groups": list(side.groups), "n_zero_inputs": side.n_zero_inputs,
    }  # fmt: skip
    arrays = {**side.arrays, "match_members": np.asarray(side.members, dtype=np.int64)}
    return ResolvedPolicy(
        f"{EvolvedPolicy.__module__}:{EvolvedPolicy.__name__}",
        settings,
        arrays,
        sha256="not asked for",
    )


def _copy_stats(side: PopulationSide, rows: int) -> RunningStats | None:
    """Return a copy of the running statistics for every row of every match; None for static nets."""
    if side.nets["kind"] != "dynamic":
        return None
    parts = (
        np.repeat(side.arrays[name][side.members], rows, axis=0) for name in RunningStats._fields
    )
    return RunningStats(*parts)


def _merge_rows(side: PopulationSide, policy: Any) -> RunningStats | None:
    """Merge the running statistics of the rows of each match; None for static nets."""
    if policy.running_stats is None:
        return None
    count = len(side.members)
    base = RunningStats(*(side.arrays[name][side.members] for name in RunningStats._fields))
    return merge_running_stats(
        base, RunningStats(*(a.reshape(count, -1, a.shape[1]) for a in policy.running_stats))
    )
