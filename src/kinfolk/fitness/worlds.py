"""Fitness from worlds: every member plays its matches, and what it earns is its fitness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Floats, Ints
from kinfolk.core.keys import bits, fold
from kinfolk.engines.base import Engine
from kinfolk.evolution.populations import BasePop
from kinfolk.fitness.arena import Arena, scored
from kinfolk.fitness.carried import joined, taken
from kinfolk.fitness.games import Games, Played, Side, play_games
from kinfolk.fitness.states import to_policy, to_population
from kinfolk.nets.calibration import Calibration, merged
from kinfolk.policies.resolve import ResolvedPolicy

HELD_OUT = 1 << 40  # episodes from here on are never evolved on
_CHUNK_HELD_OUT = 50  # episodes of a task


@dataclass(frozen=True)
class Scores:
    """What a generation came to; arrays have the member as first axis."""

    fitness: Mapping[str, Floats]
    steps: int  # ticks of worlds, over all matches
    watched: Mapping[str, AnyArray] = field(default_factory=dict)  # means, of the first population


def pairings(names: Sequence[str], members: int, matches: int, key: int) -> dict[str, Ints]:
    """Who plays in each match: member `i` of the first population has `matches` in a row.

    Those of the others are dealt by a permutation per round, so everybody plays equally often.
    """
    found = {names[0]: np.repeat(np.arange(members, dtype=np.int64), matches)}
    for number, name in enumerate(names[1:]):
        rounds = [shuffled(members, fold(fold(key, number), m)) for m in range(matches)]
        found[name] = np.stack(rounds, axis=1).reshape(-1)
    return found


def shuffled(members: int, key: int) -> Ints:
    """A random order of members."""
    drawn = bits(key, np.arange(members, dtype=np.int64))
    order: Ints = np.argsort(drawn, kind="stable")
    return order


class WorldFitness:
    """Plays populations in an arena, and holds the worlds that members inherit."""

    def __init__(self, arena: Arena, chunk: int, inherit_env: bool, inherit_mem: bool) -> None:
        self.arena, self._chunk = arena, chunk
        self._inherit_env, self._inherit_mem = inherit_env, inherit_mem
        self.env: dict[str, AnyArray] = {}  # by match, of the only population

    def __call__(
        self, pops: Mapping[str, BasePop], generation: int, key: int, engine: Engine
    ) -> Scores:
        """Play a generation. Nets keep what they learned, populations what they remember."""
        members = next(iter(pops.values())).num_nets
        who = pairings(list(pops), members, self.arena.matches, key)
        parts = list(engine.map(play_games, self._tasks(pops, who, generation)))
        if self._inherit_env:
            self.env = joined([part.env for part in parts])
        fitness = {}
        for name, pop in pops.items():
            order = np.argsort(who[name], kind="stable")
            score = np.concatenate([scored(self.arena.scores[name], p, name) for p in parts])
            fitness[name] = score[order].reshape(members, -1).mean(axis=1)
            self._keep(name, pop, order, parts)
        watched = joined([part.watched for part in parts])
        means = {name: array.reshape(members, -1).mean(axis=1) for name, array in watched.items()}
        return Scores(fitness, int(sum(part.ticks.sum() for part in parts)), means)

    def _tasks(
        self, pops: Mapping[str, BasePop], who: Mapping[str, Ints], generation: int
    ) -> Iterator[Games]:
        arena, matches = self.arena, self.arena.matches
        total = len(next(iter(who.values())))
        memory: dict[str, Any] = {name: {} for name in pops}
        if self._inherit_mem:
            for name, pop in pops.items():
                order = np.argsort(who[name], kind="stable")
                memory[name] = to_policy(pop.memory_of("gen"), order, matches)
        for start in range(0, total, self._chunk * matches):
            here = np.arange(start, min(start + self._chunk * matches, total))
            sides = {
                name: side_of(arena, name, pop, who[name][here], taken(memory[name], here))
                for name, pop in pops.items()
            }
            numbers = [generation * matches + match for match in (here % matches).tolist()]
            yield games_of(
                arena, sides, numbers, steps=arena.steps, env=taken(self.env, here),
                keep_env=self._inherit_env, keep_memory=self._inherit_mem, watch=arena.watch,
            )  # fmt: skip

    def _keep(self, name: str, pop: BasePop, order: Ints, parts: list[Played]) -> None:
        nets: Any = pop.nets
        if name in parts[0].calibration:
            shape = (nets.num_nets, self.arena.matches, nets.room)
            copies = zip(*(part.calibration[name] for part in parts), strict=True)
            learned = (np.concatenate(list(copy))[order].reshape(shape) for copy in copies)
            base = Calibration(*(nets.to_arrays()[field] for field in Calibration._fields))
            nets.set_calibration(merged(base, Calibration(*learned)))
        if self._inherit_mem:
            remembered = joined([part.memory[name] for part in parts])
            state = to_population(nets, remembered, order, self.arena.matches)
            pop.set_memory("gen", state)

    def select(self, indices: Ints) -> None:
        """Worlds follow the selection: child `i` goes on in those of the member `indices[i]`."""
        if self.env:
            matches = np.arange(self.arena.matches)
            self.env = taken(
                self.env, (indices[:, None] * self.arena.matches + matches).reshape(-1)
            )


def side_of(arena: Arena, name: str, pop: BasePop, who: Ints, memory: Arrays) -> Side:
    """The members of a population that play in some matches."""
    nets: Any = pop.nets
    playing, local = np.unique(who, return_inverse=True)
    return Side(
        nets=nets.about(),
        arrays=taken(nets.to_arrays(), playing),
        who=local,
        groups=arena.groups[name],
        head=arena.head,
        blind=arena.blind,
        memory=memory,
    )


def games_of(
    arena: Arena, sides: Mapping[str, Side], episodes: Sequence[int], **wanted: Any
) -> Games:
    """Matches in an arena."""
    return Games(
        arena.world, arena.world_settings, arena.preset, sides, arena.fixed, arena.slot_map,
        arena.seed, episodes, **wanted,
    )  # fmt: skip


def held_out(
    arena: Arena,
    name: str,
    net: Any,
    rivals: Mapping[str, ResolvedPolicy],
    episodes: int,
    engine: Engine,
) -> Floats:
    """`[episodes]`: how one net scores on episodes that are never evolved on.

    It plays as a policy taken from the run does: with frozen calibration, to the end of each
    episode. Other populations' parts are played by `rivals`.
    """

    def tasks() -> Iterator[Games]:
        for start in range(0, episodes, _CHUNK_HELD_OUT):
            count = min(_CHUNK_HELD_OUT, episodes - start)
            side = Side(
                net.about(), net.to_arrays(), np.zeros(count, dtype=np.int64),
                arena.groups[name], arena.head, arena.blind,
            )  # fmt: skip
            numbers = [HELD_OUT + start + i for i in range(count)]
            task = games_of(arena, {name: side}, numbers, learn=False)
            yield _with_rivals(task, rivals)

    parts = engine.map(play_games, tasks())
    return np.concatenate([scored(arena.scores[name], part, name) for part in parts])


def _with_rivals(games: Games, rivals: Mapping[str, ResolvedPolicy]) -> Games:
    others = {slot: policy for slot, policy in rivals.items() if slot not in games.sides}
    return replace(games, fixed={**games.fixed, **others})
