"""Matches of populations in a world, as tasks.

A match is one world: a member of each population, policies that do not evolve, and an episode. What
comes of it follows from these alone, so a generation can be cut into any chunks.
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
    """A population that plays: some members' nets, and which of them plays in each match."""

    nets: Mapping[str, Any]  # what makes them, as `about()` says
    arrays: Arrays
    members: Ints  # [matches], an index into these members
    groups: tuple[str, ...]
    head: str = "argmax"
    n_zero_inputs: int = 0  # inputs beyond what is shown, always zero
    memory: Arrays = field(default_factory=dict)  # [matches, rows, ...] to begin with


@dataclass(frozen=True)
class MatchMeasures:
    """What is observed of matches beside their results; arrays have the match as first axis."""

    watched: Arrays
    calibration: Mapping[str, RunningStats]  # of each side's member, rows merged
    memory: Mapping[str, Arrays]
    record: Trajectories | None = None


@dataclass(frozen=True)
class MatchObservers:
    """What is wanted of matches, beside their results.

    Args:
        sides: The populations that play, by slot.
        learn: Whether dynamic nets calibrate themselves.
        keep_memory: Whether the memory of the sides is returned.
        watch: Measures of each match, as `Watch` knows them.
        record: A side whose agents' observations and actions are wanted.
    """

    sides: Mapping[str, PopulationSide]
    learn: bool = True
    keep_memory: bool = False
    watch: Sequence[str] = ()
    record: str | None = None

    def __call__(self, task: RolloutTask[Any], world: World) -> MatchObserver:
        """Return the observer of some matches."""
        return MatchObserver(self, task, world)


class MatchObserver(Observer[MatchMeasures]):
    """Builds the policies of populations, and measures the matches they play.

    Args:
        wanted: The sides, and what is wanted of them.
        task: The matches.
        world: A world for each.
    """

    def __init__(self, wanted: MatchObservers, task: RolloutTask[Any], world: World) -> None:
        self._wanted = wanted
        self._evolved: dict[str, Any] = {}  # policies of the sides
        self._recording: TrajectoryRecorder | None = None
        super().__init__(task, world)

    def build_slots(self) -> Sequence[LoadedSlot]:
        """Return the slots; sides begin with the memory that their members inherited."""
        spec, places = self.world.spec, self.world.n_worlds * self.world.spec.rows
        slots = []
        for name, resolved in self.task.resolved.items():
            policy: Any = build_policy(resolved, spec)
            side = self._wanted.sides.get(name)
            if side is not None:
                self._evolved[name] = policy
                if self._wanted.learn:
                    policy.running_stats = copy_stats(side, spec.rows)
                policy.initial_memory = {
                    n: a.reshape(places, *a.shape[2:]) for n, a in side.memory.items()
                }
            if side is not None and name == self._wanted.record:
                policy = self._recording = TrajectoryRecorder(policy, spec, side.groups[0])
            slots.append(LoadedSlot(name, policy))
        return slots

    def restore(self, snapshot: Arrays) -> None:
        """Go on with inherited worlds, and lives in them with inherited memory."""
        restore_env(self.loop, snapshot)
        write_inherited_memory(
            self.loop, {name: side.memory for name, side in self._wanted.sides.items()}
        )

    def snapshot(self) -> dict[str, AnyArray]:
        """Return the worlds, by match."""
        return save_env(self.loop)

    def start(self) -> None:
        """Begin to measure."""
        self._watch = MeasureTracker(self.loop, self._wanted.watch)

    def before_step(self) -> None:
        """Note which worlds play this step."""
        self._playing = ~self.loop.idle

    def after_step(self, ended: list[EpisodeResult]) -> list[EpisodeResult]:
        """Measure the step."""
        self._watch.update(self._playing)
        return ended

    def finish(self) -> MatchMeasures:
        """Return the measures, and what nets have learned and remember."""
        sides = self._wanted.sides if self._wanted.learn else {}
        learning = {name: _merge_rows(side, self._evolved[name]) for name, side in sides.items()}
        kept = self._wanted.sides if self._wanted.keep_memory else {}
        return MatchMeasures(
            watched=self._watch.measures(),
            calibration={n: learned for n, learned in learning.items() if learned is not None},
            memory={name: read_memory(self.loop, name) for name in kept},
            record=self._recording.trajectories() if self._recording else None,
        )


def side_policy(side: PopulationSide) -> ResolvedPolicy:
    """Return a side as a policy."""
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


def copy_stats(side: PopulationSide, rows: int) -> RunningStats | None:
    """Return a calibration of its own for every place; None for nets that have none."""
    if side.nets["kind"] != "dynamic":
        return None
    parts = (
        np.repeat(side.arrays[name][side.members], rows, axis=0) for name in RunningStats._fields
    )
    return RunningStats(*parts)


def _merge_rows(side: PopulationSide, policy: Any) -> RunningStats | None:
    """Return what the rows of each match have learned, merged in order; None if nothing can be."""
    if policy.running_stats is None:
        return None
    count = len(side.members)
    base = RunningStats(*(side.arrays[name][side.members] for name in RunningStats._fields))
    return merge_running_stats(
        base, RunningStats(*(a.reshape(count, -1, a.shape[1]) for a in policy.running_stats))
    )
