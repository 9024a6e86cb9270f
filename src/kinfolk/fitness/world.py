"""Fitness from matches in a world: its mean over the matches of each member."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats, Ints
from kinfolk.core.random import bits, fold_in
from kinfolk.engines.base import Engine
from kinfolk.evolution.base import BasePop
from kinfolk.fitness.classic import find_classic, make_classic_matches, play_classic
from kinfolk.fitness.inherited_state import (
    concat_chunks,
    memory_to_policy,
    memory_to_population,
    take_rows,
)
from kinfolk.fitness.match_task import (
    MatchMeasures,
    MatchObservers,
    MatchSetup,
    make_match_task,
    match_fitness,
    population_policy,
)
from kinfolk.fitness.scores import PopulationScores, concat_stats, merge_stats_into
from kinfolk.nets.running_stats import RunningStats
from kinfolk.play.task import RolloutTask, run_task
from kinfolk.policies.build import ResolvedPolicy

HELD_OUT_START = 1 << 40  # number of the first episode that is never used for evolution
_HELD_OUT_CHUNK_SIZE = 50  # episodes per task


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
        keys = [fold_in(fold_in(key, number), match) for match in range(matches)]
        rounds = [random_permutation(members, round_key) for round_key in keys]
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
        members, matches = next(iter(pops.values())).num_nets, self.setup.matches
        paired = pairings(list(pops), members, matches, key)
        results = list(engine.map(run_task, self._make_tasks(pops, paired, generation)))
        observed = [result.observed for result in results]
        if self._inherit_env:
            self.env = concat_chunks([result.snapshot for result in results])
        fitness = {}
        for name, pop in pops.items():
            order = np.argsort(paired[name], kind="stable")  # sorts the matches by member
            kind = self.setup.fitness_kinds[name]
            scores = np.concatenate([match_fitness(kind, result, name) for result in results])
            fitness[name] = scores[order].reshape(members, -1).mean(axis=1)
            merge_stats_into(pop.nets, [match_stats(observed, name, order, matches)])
            if self._inherit_mem:
                memory = concat_chunks([part.memory[name] for part in observed])
                pop.set_memory("gen", memory_to_population(pop.nets, memory, order, matches))
        measures = concat_chunks([part.measures for part in observed])
        means = {name: array.reshape(members, -1).mean(axis=1) for name, array in measures.items()}
        return PopulationScores(fitness, int(sum(result.ticks.sum() for result in results)), means)

    def _make_tasks(
        self, pops: Mapping[str, BasePop], paired: Mapping[str, Ints], generation: int
    ) -> Iterator[RolloutTask[MatchMeasures]]:
        """Yield the tasks of a generation, each with a chunk of the matches.

        Args:
            pops: Populations by name.
            paired: By population, which member plays in each match.
            generation: Decides the episodes.
        """
        setup, matches = self.setup, self.setup.matches
        inherited: dict[str, dict[str, AnyArray]] = {name: {} for name in pops}
        for name, pop in pops.items() if self._inherit_mem else ():
            order = np.argsort(paired[name], kind="stable")
            inherited[name] = memory_to_policy(pop.memory_of("gen"), order, matches)
        total = len(next(iter(paired.values())))
        for start in range(0, total, self._chunk * matches):
            chunk = np.arange(start, min(start + self._chunk * matches, total))
            policies = {
                name: population_policy(setup, name, pop.nets, paired[name][chunk])
                for name, pop in pops.items()
            }
            memory = {name: take_rows(arrays, chunk) for name, arrays in inherited.items()}
            episodes = [generation * matches + match for match in (chunk % matches).tolist()]
            keep, names = self._inherit_mem, setup.measure_names
            observers = MatchObservers(memory, keep_memory=keep, measure_names=names)
            task = make_match_task(setup, policies, observers, episodes, setup.steps)
            if self.env:  # only idle worlds begin a new episode
                env = take_rows(self.env, chunk)
                new = [n for n, is_idle in zip(episodes, env["idle"], strict=True) if is_idle]
                task = replace(task, episodes=new, snapshot=env)
            yield replace(task, keep_snapshot=self._inherit_env)

    def select(self, indices: Ints) -> None:
        """Let child `i` inherit the worlds of the member `indices[i]`."""
        matches = self.setup.matches
        rows = indices[:, None] * matches + np.arange(matches)
        self.env = take_rows(self.env, rows.reshape(-1))


def match_stats(
    parts: Sequence[MatchMeasures], name: str, order: Ints, matches: int
) -> RunningStats | None:
    """Return the running statistics of all matches of a population, `[members, matches, capacity]`.

    Args:
        parts: What was observed of chunks of matches.
        name: Name of the population.
        order: Indices that sort the matches by member.
        matches: Matches per member.

    Returns:
        The statistics; None if the nets have none.
    """
    stats = concat_stats([part.running_stats.get(name) for part in parts])
    if stats is None:
        return None
    return RunningStats(*(a[order].reshape(-1, matches, a.shape[1]) for a in stats))


def evaluate_held_out(
    setup: MatchSetup,
    name: str,
    net: Any,
    opponents: Mapping[str, ResolvedPolicy],
    episodes: range,
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
        episodes: Numbers of the episodes, counted from the first held-out one.
        engine: Runs the tasks.
    """
    numbered = range(HELD_OUT_START + episodes.start, HELD_OUT_START + episodes.stop)
    starts = range(0, len(numbered), _HELD_OUT_CHUNK_SIZE)
    chunks = [numbered[start : start + _HELD_OUT_CHUNK_SIZE] for start in starts]
    members = [np.zeros(len(numbers), dtype=np.int64) for numbers in chunks]
    if find_classic(setup) is not None:
        matches = (
            replace(make_classic_matches(setup, net, rows, numbers, None), learn=False)
            for rows, numbers in zip(members, chunks, strict=True)
        )
        return np.concatenate([part.returns for part in engine.map(play_classic, matches)])

    def tasks() -> Iterator[RolloutTask[MatchMeasures]]:
        """Yield the tasks of the held-out episodes, chunk by chunk."""
        observers = MatchObservers({name: {}}, learn=False)
        for rows, numbers in zip(members, chunks, strict=True):
            policy = population_policy(setup, name, net, rows)
            yield make_match_task(setup, {**opponents, name: policy}, observers, numbers)

    parts = engine.map(run_task, tasks())
    return np.concatenate([match_fitness(setup.fitness_kinds[name], part, name) for part in parts])
