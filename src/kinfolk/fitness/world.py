"""Fitness from matches in a world: its mean over the matches of each member."""

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

HELD_OUT_START = 1 << 40  # number of the first episode that is never used for evolution
_HELD_OUT_CHUNK_SIZE = 50  # episodes per task


@dataclass(frozen=True)
class PopulationScores:
    """Fitness and measures of a generation; arrays have the member as first axis."""

    fitness: Mapping[str, Floats]  # by population
    steps: int  # ticks of worlds, over all matches
    measures: Mapping[str, AnyArray] = field(default_factory=dict)  # of the first population, means


def pairings(names: Sequence[str], members: int, matches: int, key: int) -> dict[str, Ints]:
    """Return which member of each population plays in each match, `[members * matches]`.

    Member `i` of the first population has `matches` matches in a row. Members of the others are
    assigned by a random permutation per round, so that all play equally often.

    Args:
        names: Names of the populations.
        members: Size of each.
        matches: Matches per member.
        key: Random key.
    """
    assignment = {names[0]: np.repeat(np.arange(members, dtype=np.int64), matches)}
    for number, name in enumerate(names[1:]):
        rounds = [
            random_permutation(members, fold_in(fold_in(key, number), m)) for m in range(matches)
        ]
        assignment[name] = np.stack(rounds, axis=1).reshape(-1)
    return assignment


def random_permutation(members: int, key: int) -> Ints:
    """Return a random permutation of `range(members)`."""
    drawn = bits(key, np.arange(members, dtype=np.int64))
    order: Ints = np.argsort(drawn, kind="stable")
    return order


class WorldFitness:
    """Fitness function that plays matches, and keeps the worlds that offspring inherit.

    Args:
        setup: What all matches have in common.
        chunk_size: Members per task of the engine; it does not change results.
        inherit_env: Whether offspring continue the worlds of their parent.
        inherit_mem: Whether offspring inherit the memory of their parent.
    """

    def __init__(
        self, setup: MatchSetup, chunk_size: int, inherit_env: bool, inherit_mem: bool
    ) -> None:
        self.setup, self._chunk = setup, chunk_size
        self._inherit_env, self._inherit_mem = inherit_env, inherit_mem
        self.env: dict[str, AnyArray] = {}  # by match, from `save_env`

    def __call__(
        self, pops: Mapping[str, BasePop], generation: int, key: int, engine: Engine
    ) -> PopulationScores:
        """Play the matches of a generation, and store running statistics and memory.

        Args:
            pops: Populations by name, changed.
            generation: Decides the episodes.
            key: Random key of the pairings.
            engine: Runs the tasks.
        """
        members = next(iter(pops.values())).num_nets
        paired = pairings(list(pops), members, self.setup.matches, key)
        parts = list(engine.map(run_task, self._tasks(pops, paired, generation)))
        if self._inherit_env:
            self.env = concat_chunks([part.snapshot for part in parts])
        fitness = {}
        for name, pop in pops.items():
            order = np.argsort(paired[name], kind="stable")
            score = np.concatenate(
                [match_fitness(self.setup.fitness_kinds[name], p, name) for p in parts]
            )
            fitness[name] = score[order].reshape(members, -1).mean(axis=1)
            self._store_learned(name, pop, order, parts)
        measures = concat_chunks([part.observed.measures for part in parts])
        means = {name: array.reshape(members, -1).mean(axis=1) for name, array in measures.items()}
        return PopulationScores(fitness, int(sum(part.ticks.sum() for part in parts)), means)

    def _tasks(
        self, pops: Mapping[str, BasePop], paired: Mapping[str, Ints], generation: int
    ) -> Iterator[RolloutTask[MatchMeasures]]:
        """Yield the tasks of a generation, each with a chunk of the matches.

        Args:
            pops: Populations by name.
            paired: By population, which member plays in each match.
            generation: Decides the episodes.
        """
        setup, matches = self.setup, self.setup.matches
        total = len(next(iter(paired.values())))
        memory: dict[str, Any] = {name: {} for name in pops}
        if self._inherit_mem:
            for name, pop in pops.items():
                order = np.argsort(paired[name], kind="stable")
                memory[name] = memory_to_policy(pop.memory_of("gen"), order, matches)
        for start in range(0, total, self._chunk * matches):
            chunk = np.arange(start, min(start + self._chunk * matches, total))
            sides = {
                name: make_side(
                    setup, name, pop, paired[name][chunk], take_rows(memory[name], chunk)
                )
                for name, pop in pops.items()
            }
            episodes = [generation * matches + match for match in (chunk % matches).tolist()]
            observers = MatchObservers(
                sides, keep_memory=self._inherit_mem, measure_names=setup.measure_names
            )
            task = make_match_task(setup, observers, episodes, max_ticks=setup.steps)
            if self.env:  # only idle worlds begin a new episode
                env = take_rows(self.env, chunk)
                new = [n for n, is_idle in zip(episodes, env["idle"], strict=True) if is_idle]
                task = replace(task, episodes=new, snapshot=env)
            yield replace(task, keep_snapshot=self._inherit_env)

    def _store_learned(
        self,
        name: str,
        pop: BasePop,
        order: Ints,
        parts: Sequence[RolloutResult[MatchMeasures]],
    ) -> None:
        """Merge the running statistics of all matches into the nets, and store inherited memory.

        Args:
            name: Name of the population.
            pop: The population, changed.
            order: Indices that sort the matches by member.
            parts: Results of the tasks.
        """
        nets: Any = pop.nets
        observed = [part.observed for part in parts]
        if name in observed[0].running_stats:
            shape = (nets.num_nets, self.setup.matches, nets.capacity)
            columns = zip(*(part.running_stats[name] for part in observed), strict=True)
            copies = (np.concatenate(list(column))[order].reshape(shape) for column in columns)
            base = RunningStats(*(nets.to_arrays()[field] for field in RunningStats._fields))
            nets.set_running_stats(merge_running_stats(base, RunningStats(*copies)))
        if self._inherit_mem:
            memory = concat_chunks([part.memory[name] for part in observed])
            state = memory_to_population(nets, memory, order, self.setup.matches)
            pop.set_memory("gen", state)

    def select(self, indices: Ints) -> None:
        """Let child `i` inherit the worlds of the member `indices[i]`."""
        if self.env:
            matches = np.arange(self.setup.matches)
            self.env = take_rows(
                self.env, (indices[:, None] * self.setup.matches + matches).reshape(-1)
            )


def make_side(
    setup: MatchSetup, name: str, pop: BasePop, members: Ints, memory: Arrays
) -> PopulationSide:
    """Return the side of a population in some matches.

    Args:
        setup: What all matches have in common.
        name: Name of the population.
        pop: The population.
        members: `[matches]`, which member plays in each match.
        memory: `[matches, rows, ...]`, initial memory; may be empty.
    """
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


def make_match_task(
    setup: MatchSetup,
    observers: MatchObservers,
    episodes: Sequence[int],
    max_ticks: int | None = None,
    others: Mapping[str, ResolvedPolicy] | None = None,
) -> RolloutTask[MatchMeasures]:
    """Return the task that plays some matches.

    Args:
        setup: What all matches have in common.
        observers: The populations that play, and what to observe of them.
        episodes: Number of the episode of each match.
        max_ticks: Ticks of a match at most; None: whole episodes.
        others: Policies of slots that no population of `observers` plays.
    """
    sides = {name: side_policy(side) for name, side in observers.sides.items()}
    rest = {name: policy for name, policy in (others or {}).items() if name not in sides}
    count, rows = len(episodes), setup.rows
    members = np.repeat(np.arange(count, dtype=np.int64)[:, None], rows, axis=1)
    return RolloutTask(
        setup.world, {**sides, **setup.fixed_policies, **rest}, setup.seed, episodes, setup.slot_map,
        worlds=count, members=members, max_ticks=max_ticks, observer=observers,
    )  # fmt: skip


def evaluate_held_out(
    setup: MatchSetup,
    name: str,
    net: Any,
    opponents: Mapping[str, ResolvedPolicy],
    episodes: int,
    engine: Engine,
) -> Floats:
    """Return the fitness of one net on held-out episodes, `[episodes]`.

    It plays as a policy loaded from the run does: to the end of each episode, without updates of
    its running statistics.

    Args:
        setup: What all matches have in common.
        name: Name of the net's population.
        net: A population of one net.
        opponents: Policies of the other populations.
        episodes: How many episodes.
        engine: Runs the tasks.
    """

    def tasks() -> Iterator[RolloutTask[MatchMeasures]]:
        for start in range(0, episodes, _HELD_OUT_CHUNK_SIZE):
            count = min(_HELD_OUT_CHUNK_SIZE, episodes - start)
            side = PopulationSide(
                net.config(), net.to_arrays(), np.zeros(count, dtype=np.int64),
                setup.groups[name], setup.head, setup.n_zero_inputs,
            )  # fmt: skip
            numbers = [HELD_OUT_START + start + i for i in range(count)]
            observers = MatchObservers({name: side}, learn=False)
            yield make_match_task(setup, observers, numbers, others=opponents)

    parts = engine.map(run_task, tasks())
    return np.concatenate([match_fitness(setup.fitness_kinds[name], part, name) for part in parts])
