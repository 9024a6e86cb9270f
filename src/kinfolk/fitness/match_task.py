"""Games of populations in a world, as a task for an engine.

A match is one world: a member of each population, policies that do not evolve, and an episode. What
comes of it follows from these alone, so a generation can be cut into any chunks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from kinfolk.core.arrays import Arrays, Floats, Ints
from kinfolk.fitness.inherited_state import (
    read_memory,
    restore_env,
    save_env,
    write_inherited_memory,
)
from kinfolk.fitness.measures import MeasureTracker
from kinfolk.fitness.trajectories import Trajectories, TrajectoryRecorder
from kinfolk.nets.running_stats import RunningStats, merge_running_stats
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.slots import LoadedSlot, build_slot_assignment
from kinfolk.policies.neural.evolved import EvolvedPolicy
from kinfolk.policies.resolve import ResolvedPolicy, build_policy
from kinfolk.worlds import build_world as build_world


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
class PopulationMatches:
    """Some matches, and what is wanted of them."""

    world: str
    world_settings: Mapping[str, Any]
    preset: str | None
    sides: Mapping[str, PopulationSide]  # by slot
    fixed_policies: Mapping[str, ResolvedPolicy]  # by slot
    slot_map: Mapping[str, str] | Sequence[str]
    seed: int
    episodes: Sequence[int]  # one per match
    steps: int | None = None  # ticks at most; None: whole episodes
    learn: bool = True  # dynamic nets calibrate themselves
    env: Arrays = field(default_factory=dict)  # worlds to go on with, by match
    keep_env: bool = False
    keep_memory: bool = False
    watch: Sequence[str] = ()  # what to measure of each match besides
    record: str | None = None  # a side whose agents' sights and deeds are wanted


@dataclass(frozen=True)
class MatchResults:
    """What came of some matches; arrays have the match as first axis."""

    returns: Mapping[str, Floats]  # by slot
    lives: Mapping[str, Floats]
    ticks_lived: Mapping[str, Floats]
    ticks: Ints
    counters: Mapping[str, Floats]
    measures: Arrays
    running_stats: Mapping[str, RunningStats]  # of each side's member, rows merged
    env: Arrays
    memory: Mapping[str, Arrays]
    trajectories: Trajectories | None = None


def play_matches(matches: PopulationMatches) -> MatchResults:
    """Play all matches side by side."""
    count = len(matches.episodes)
    world = _cached_world(
        matches.world, json.dumps(dict(matches.world_settings)), matches.preset, count
    )
    policies: dict[str, Any] = {
        name: build_policy(side_policy(side), world.spec) for name, side in matches.sides.items()
    }
    places = count * world.spec.rows
    for name, side in matches.sides.items():
        if matches.learn:
            policies[name].running_stats = copy_stats(side, world.spec.rows)
        policies[name].initial_memory = {
            n: a.reshape(places, *a.shape[2:]) for n, a in side.memory.items()
        }
    policies |= {
        name: build_policy(resolved, world.spec)
        for name, resolved in matches.fixed_policies.items()
    }
    if matches.record is not None:
        group = matches.sides[matches.record].groups[0]
        policies[matches.record] = TrajectoryRecorder(policies[matches.record], world.spec, group)
    slots = [LoadedSlot(name, policy) for name, policy in policies.items()]
    table = build_slot_assignment(world.spec, list(policies), matches.slot_map)
    numbers = np.repeat(np.arange(count, dtype=np.int64)[:, None], world.spec.rows, axis=1)
    due = matches.episodes
    if matches.env:  # worlds that are in the middle of an episode need no new one
        due = [number for number, rests in zip(due, matches.env["idle"], strict=True) if rests]
    play = EpisodeLoop(world, slots, table, matches.seed, due, numbers)
    try:
        return _collect_results(matches, play, policies)
    finally:
        for policy in policies.values():
            policy.close()


def _collect_results(
    games: PopulationMatches, play: EpisodeLoop, policies: Mapping[str, Any]
) -> MatchResults:
    if games.env:
        restore_env(play, games.env)
        write_inherited_memory(play, {name: side.memory for name, side in games.sides.items()})
    begun = play.idle.copy()
    before = {name: array.copy() for name, array in play.totals._asdict().items()}
    watch = MeasureTracker(play, games.watch)
    ticks = 0
    while not play.is_done and (games.steps is None or ticks < games.steps):
        play.start_episodes()
        playing = ~play.idle
        play.tick()
        watch.update(playing)
        ticks += 1

    def gained(name: str) -> dict[str, Floats]:
        """What came in this generation; an episode that began in it counts from zero."""
        after = getattr(play.totals, name).astype(np.float64)
        total = np.where(begun[:, None], after, after - before[name])
        return {slot.id: total[:, i] for i, slot in enumerate(play.slots)}

    learning = {n: _merge_rows(s, policies[n]) for n, s in games.sides.items() if games.learn}
    return MatchResults(
        returns=gained("returns"),
        lives=gained("lives"),
        ticks_lived=gained("ticks_lived"),
        ticks=watch.ticks,
        counters={n: np.asarray(v, dtype=np.float64) for n, v in play.world.counters().items()},
        measures=watch.measures(),
        running_stats={n: learned for n, learned in learning.items() if learned is not None},
        env=save_env(play) if games.keep_env else {},
        memory={n: read_memory(play, n) for n in games.sides} if games.keep_memory else {},
        trajectories=policies[games.record].trajectories() if games.record else None,
    )


def side_policy(side: PopulationSide) -> ResolvedPolicy:
    """A side as a policy."""
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
    """A calibration of its own for every place; None for nets that have none."""
    if side.nets["kind"] != "dynamic":
        return None
    parts = (
        np.repeat(side.arrays[name][side.members], rows, axis=0) for name in RunningStats._fields
    )
    return RunningStats(*parts)


def _merge_rows(side: PopulationSide, policy: Any) -> RunningStats | None:
    """What the rows of each match have learned, merged in their order; None if nothing can be."""
    copies = getattr(policy, "policy", policy).running_stats  # a recording holds its policy
    if copies is None:
        return None
    count = len(side.members)
    base = RunningStats(*(side.arrays[name][side.members] for name in RunningStats._fields))
    return merge_running_stats(
        base, RunningStats(*(a.reshape(count, -1, a.shape[1]) for a in copies))
    )


@lru_cache(maxsize=2)
def _cached_world(name: str, settings: str, preset: str | None, count: int) -> Any:
    """Worlds are used again: a reset leaves nothing of what was before."""
    return build_world(name, json.loads(settings), count, preset)
