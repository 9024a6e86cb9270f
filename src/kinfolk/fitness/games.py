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
from kinfolk.fitness.carried import env_of, lend_memory, memory_of, put_env
from kinfolk.fitness.recording import Recording, Trajectories
from kinfolk.fitness.watching import Watch
from kinfolk.nets.calibration import Calibration, merged
from kinfolk.play.episode import Play
from kinfolk.play.slots import Slot, slot_table
from kinfolk.policies.evolved import EvolvedPolicy
from kinfolk.policies.resolve import ResolvedPolicy, build
from kinfolk.worlds import build as build_world


@dataclass(frozen=True)
class Side:
    """A population that plays: some members' nets, and which of them plays in each match."""

    nets: Mapping[str, Any]  # what makes them, as `about()` says
    arrays: Arrays
    who: Ints  # [matches], an index into these members
    groups: tuple[str, ...]
    head: str = "argmax"
    blind: int = 0  # inputs beyond what is shown, always zero
    memory: Arrays = field(default_factory=dict)  # [matches, rows, ...] to begin with


@dataclass(frozen=True)
class Games:
    """Some matches, and what is wanted of them."""

    world: str
    world_settings: Mapping[str, Any]
    preset: str | None
    sides: Mapping[str, Side]  # by slot
    fixed: Mapping[str, ResolvedPolicy]  # by slot
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
class Played:
    """What came of some matches; arrays have the match as first axis."""

    returns: Mapping[str, Floats]  # by slot
    lives: Mapping[str, Floats]
    ticks_lived: Mapping[str, Floats]
    ticks: Ints
    counters: Mapping[str, Floats]
    watched: Arrays
    calibration: Mapping[str, Calibration]  # of each side's member, rows merged
    env: Arrays
    memory: Mapping[str, Arrays]
    record: Trajectories | None = None


def play_games(games: Games) -> Played:
    """Play all matches side by side."""
    count = len(games.episodes)
    world = _world(games.world, json.dumps(dict(games.world_settings)), games.preset, count)
    policies: dict[str, Any] = {
        name: build(resolved_side(side), world.spec) for name, side in games.sides.items()
    }
    places = count * world.spec.rows
    for name, side in games.sides.items():
        if games.learn:
            policies[name].copies = copies_for(side, world.spec.rows)
        policies[name].lent = {n: a.reshape(places, *a.shape[2:]) for n, a in side.memory.items()}
    policies |= {name: build(resolved, world.spec) for name, resolved in games.fixed.items()}
    if games.record is not None:
        group = games.sides[games.record].groups[0]
        policies[games.record] = Recording(policies[games.record], world.spec, group)
    slots = [Slot(name, policy) for name, policy in policies.items()]
    table = slot_table(world.spec, list(policies), games.slot_map)
    numbers = np.repeat(np.arange(count, dtype=np.int64)[:, None], world.spec.rows, axis=1)
    due = games.episodes
    if games.env:  # worlds that are in the middle of an episode need no new one
        due = [number for number, rests in zip(due, games.env["idle"], strict=True) if rests]
    play = Play(world, slots, table, games.seed, due, numbers)
    try:
        return _played(games, play, policies)
    finally:
        for policy in policies.values():
            policy.close()


def _played(games: Games, play: Play, policies: Mapping[str, Any]) -> Played:
    if games.env:
        put_env(play, games.env)
        lend_memory(play, {name: side.memory for name, side in games.sides.items()})
    begun = play.resting.copy()
    before = {name: array.copy() for name, array in play.tally._asdict().items()}
    watch = Watch(play, games.watch)
    ticks = 0
    while not play.over and (games.steps is None or ticks < games.steps):
        play.begin()
        playing = ~play.resting
        play.tick()
        watch.see(playing)
        ticks += 1

    def gained(name: str) -> dict[str, Floats]:
        """What came in this generation; an episode that began in it counts from zero."""
        after = getattr(play.tally, name).astype(np.float64)
        total = np.where(begun[:, None], after, after - before[name])
        return {slot.id: total[:, i] for i, slot in enumerate(play.slots)}

    learning = {n: _learned(s, policies[n]) for n, s in games.sides.items() if games.learn}
    return Played(
        returns=gained("returns"),
        lives=gained("lives"),
        ticks_lived=gained("ticks_lived"),
        ticks=watch.ticks,
        counters={n: np.asarray(v, dtype=np.float64) for n, v in play.world.counters().items()},
        watched=watch.measures(),
        calibration={n: learned for n, learned in learning.items() if learned is not None},
        env=env_of(play) if games.keep_env else {},
        memory={n: memory_of(play, n) for n in games.sides} if games.keep_memory else {},
        record=policies[games.record].trajectories() if games.record else None,
    )


def resolved_side(side: Side) -> ResolvedPolicy:
    """A side as a policy."""
    settings = {
        "nets": dict(side.nets), "head": side.head, "groups": list(side.groups), "blind": side.blind,
    }  # fmt: skip
    arrays = {**side.arrays, "who": np.asarray(side.who, dtype=np.int64)}
    return ResolvedPolicy(
        f"{EvolvedPolicy.__module__}:{EvolvedPolicy.__name__}",
        settings,
        arrays,
        sha256="not asked for",
    )


def copies_for(side: Side, rows: int) -> Calibration | None:
    """A calibration of its own for every place; None for nets that have none."""
    if side.nets["kind"] != "dynamic":
        return None
    parts = (np.repeat(side.arrays[name][side.who], rows, axis=0) for name in Calibration._fields)
    return Calibration(*parts)


def _learned(side: Side, policy: Any) -> Calibration | None:
    """What the rows of each match have learned, merged in their order; None if nothing can be."""
    copies = getattr(policy, "policy", policy).copies  # a recording holds its policy
    if copies is None:
        return None
    count = len(side.who)
    base = Calibration(*(side.arrays[name][side.who] for name in Calibration._fields))
    return merged(base, Calibration(*(a.reshape(count, -1, a.shape[1]) for a in copies)))


@lru_cache(maxsize=2)
def _world(name: str, settings: str, preset: str | None, count: int) -> Any:
    """Worlds are used again: a reset leaves nothing of what was before."""
    return build_world(name, json.loads(settings), count, preset)
