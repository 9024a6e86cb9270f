"""Fitness from worlds: every member plays its matches, and what it earns is its fitness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Floats, Ints
from kinfolk.core.random import bits, fold_in
from kinfolk.engines.base import Engine
from kinfolk.evolution.populations import BasePop
from kinfolk.fitness.inherited_state import (
    concat_chunks,
    memory_to_policy,
    memory_to_population,
    take_rows,
)
from kinfolk.fitness.match_setup import MatchSetup, match_fitness
from kinfolk.fitness.match_task import MatchMeasures, MatchObservers, PopulationSide, side_policy
from kinfolk.nets.running_stats import RunningStats, merge_running_stats
from kinfolk.play.task import RolloutResult, RolloutTask, run_task
from kinfolk.policies.resolve import ResolvedPolicy

HELD_OUT_START = 1 << 40  # episodes from here on are never evolved on
_HELD_OUT_CHUNK_SIZE = 50  # episodes of a task


@dataclass(frozen=True)
class PopulationScores:
    """What a generation came to; arrays have the member as first axis."""

    fitness: Mapping[str, Floats]
    steps: int  # ticks of worlds, over all matches
    measures: Mapping[str, AnyArray] = field(default_factory=dict)  # means, of the first population


def pairings(names: Sequence[str], members: int, matches: int, key: int) -> dict[str, Ints]:
    """Who plays in each match: member `i` of the first population has `matches` in a row.

    Those of the others are dealt by a permutation per round, so everybody plays equally often.
    """
    found = {names[0]: np.repeat(np.arange(members, dtype=np.int64), matches)}
    for number, name in enumerate(names[1:]):
        rounds = [
            random_permutation(members, fold_in(fold_in(key, number), m)) for m in range(matches)
        ]
        found[name] = np.stack(rounds, axis=1).reshape(-1)
    return found


def random_permutation(members: int, key: int) -> Ints:
    """A random order of members."""
    drawn = bits(key, np.arange(members, dtype=np.int64))
    order: Ints = np.argsort(drawn, kind="stable")
    return order


class WorldFitness:
    """Plays populations in an arena, and holds the worlds that members inherit."""

    def __init__(
        self, setup: MatchSetup, chunk_size: int, inherit_env: bool, inherit_mem: bool
    ) -> None:
        self.setup, self._chunk = setup, chunk_size
        self._inherit_env, self._inherit_mem = inherit_env, inherit_mem
        self.env: dict[str, AnyArray] = {}  # by match, of the only population

    def __call__(
        self, pops: Mapping[str, BasePop], generation: int, key: int, engine: Engine
    ) -> PopulationScores:
        """Play a generation. Nets keep what they learned, populations what they remember."""
        members = next(iter(pops.values())).num_nets
        who = pairings(list(pops), members, self.setup.matches, key)
        parts = list(engine.map(run_task, self._tasks(pops, who, generation)))
        if self._inherit_env:
            self.env = concat_chunks([part.snapshot for part in parts])
        fitness = {}
        for name, pop in pops.items():
            order = np.argsort(who[name], kind="stable")
            score = np.concatenate(
                [match_fitness(self.setup.fitness_kinds[name], p, name) for p in parts]
            )
            fitness[name] = score[order].reshape(members, -1).mean(axis=1)
            self._store_learned(name, pop, order, parts)
        watched = concat_chunks([part.observed.watched for part in parts])
        means = {name: array.reshape(members, -1).mean(axis=1) for name, array in watched.items()}
        return PopulationScores(fitness, int(sum(part.ticks.sum() for part in parts)), means)

    def _tasks(
        self, pops: Mapping[str, BasePop], who: Mapping[str, Ints], generation: int
    ) -> Iterator[RolloutTask[MatchMeasures]]:
        arena, matches = self.setup, self.setup.matches
        total = len(next(iter(who.values())))
        memory: dict[str, Any] = {name: {} for name in pops}
        if self._inherit_mem:
            for name, pop in pops.items():
                order = np.argsort(who[name], kind="stable")
                memory[name] = memory_to_policy(pop.memory_of("gen"), order, matches)
        for start in range(0, total, self._chunk * matches):
            here = np.arange(start, min(start + self._chunk * matches, total))
            sides = {
                name: make_side(arena, name, pop, who[name][here], take_rows(memory[name], here))
                for name, pop in pops.items()
            }
            numbers = [generation * matches + match for match in (here % matches).tolist()]
            wanted = MatchObservers(sides, keep_memory=self._inherit_mem, watch=arena.measure_names)
            task = matches_task(arena, wanted, numbers, max_ticks=arena.steps)
            if self.env:  # worlds that are in the middle of an episode need no new one
                env = take_rows(self.env, here)
                due = [n for n, rests in zip(numbers, env["idle"], strict=True) if rests]
                task = replace(task, episodes=due, snapshot=env)
            yield replace(task, keep_snapshot=self._inherit_env)

    def _store_learned(
        self,
        name: str,
        pop: BasePop,
        order: Ints,
        parts: Sequence[RolloutResult[MatchMeasures]],
    ) -> None:
        nets: Any = pop.nets
        measures = [part.observed for part in parts]
        if name in measures[0].calibration:
            shape = (nets.num_nets, self.setup.matches, nets.capacity)
            copies = zip(*(part.calibration[name] for part in measures), strict=True)
            learned = (np.concatenate(list(copy))[order].reshape(shape) for copy in copies)
            base = RunningStats(*(nets.to_arrays()[field] for field in RunningStats._fields))
            nets.set_running_stats(merge_running_stats(base, RunningStats(*learned)))
        if self._inherit_mem:
            remembered = concat_chunks([part.memory[name] for part in measures])
            state = memory_to_population(nets, remembered, order, self.setup.matches)
            pop.set_memory("gen", state)

    def select(self, indices: Ints) -> None:
        """Worlds follow the selection: child `i` goes on in those of the member `indices[i]`."""
        if self.env:
            matches = np.arange(self.setup.matches)
            self.env = take_rows(
                self.env, (indices[:, None] * self.setup.matches + matches).reshape(-1)
            )


def make_side(
    setup: MatchSetup, name: str, pop: BasePop, members: Ints, memory: Arrays
) -> PopulationSide:
    """The members of a population that play in some matches."""
    nets: Any = pop.nets
    playing, local = np.unique(members, return_inverse=True)
    return PopulationSide(
        nets=nets.config(),
        arrays=take_rows(nets.to_arrays(), playing),
        members=local,
        groups=setup.groups[name],
        head=setup.head,
        n_zero_inputs=setup.n_zero_inputs,
        memory=memory,
    )


def matches_task(
    arena: MatchSetup,
    wanted: MatchObservers,
    episodes: Sequence[int],
    max_ticks: int | None = None,
    others: Mapping[str, ResolvedPolicy] | None = None,
) -> RolloutTask[MatchMeasures]:
    """Return the task of some matches in an arena.

    Args:
        arena: Where, and who does not evolve.
        wanted: The sides, and what is wanted of them.
        episodes: One for each match.
        max_ticks: Of a match at most; None: whole episodes.
        others: Policies for slots of the arena that nobody else plays.
    """
    sides = {name: side_policy(side) for name, side in wanted.sides.items()}
    rest = {name: policy for name, policy in (others or {}).items() if name not in sides}
    count, rows = len(episodes), arena.rows
    members = np.repeat(np.arange(count, dtype=np.int64)[:, None], rows, axis=1)
    return RolloutTask(
        arena.world, {**sides, **arena.fixed_policies, **rest}, arena.seed, episodes, arena.slot_map,
        worlds=count, members=members, max_ticks=max_ticks, observer=wanted,
    )  # fmt: skip


def evaluate_held_out(
    setup: MatchSetup,
    name: str,
    net: Any,
    opponents: Mapping[str, ResolvedPolicy],
    episodes: int,
    engine: Engine,
) -> Floats:
    """`[episodes]`: how one net scores on episodes that are never evolved on.

    It plays as a policy taken from the run does: with frozen calibration, to the end of each
    episode. Other populations' parts are played by `opponents`.
    """

    def tasks() -> Iterator[RolloutTask[MatchMeasures]]:
        for start in range(0, episodes, _HELD_OUT_CHUNK_SIZE):
            count = min(_HELD_OUT_CHUNK_SIZE, episodes - start)
            side = PopulationSide(
                net.config(), net.to_arrays(), np.zeros(count, dtype=np.int64),
                setup.groups[name], setup.head, setup.n_zero_inputs,
            )  # fmt: skip
            numbers = [HELD_OUT_START + start + i for i in range(count)]
            wanted = MatchObservers({name: side}, learn=False)
            yield matches_task(setup, wanted, numbers, others=opponents)

    parts = engine.map(run_task, tasks())
    return np.concatenate([match_fitness(setup.fitness_kinds[name], part, name) for part in parts])
