"""The hall of fame of an evolution of nets: past champions, which the other populations meet too.

A population that meets present members of the others alone may forget how to beat what they did before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Floats
from kinfolk.core.events import FileChunk
from kinfolk.core.random import fold_in, randint
from kinfolk.engines.base import Engine
from kinfolk.evolution.base import BasePop
from kinfolk.fitness.match_task import (
    MatchMeasures,
    MatchObservers,
    MatchSetup,
    make_match_task,
    match_fitness,
    population_policy,
)
from kinfolk.nets.registry import nets_from_config
from kinfolk.play.task import RolloutTask, run_task
from kinfolk.policies.base import select_memory as select_arrays
from kinfolk.policies.build import ResolvedPolicy
from kinfolk.policies.neural.evolved import CLASS_PATH
from kinfolk.store.arrays import PolicyFile
from kinfolk.store.policy_references import make_member_chunk

HALL_FOLDER = "hall"  # `run:RUN@hall/hunter-50` plays a champion


class HallNet(NamedTuple):
    """The elite of a population after some generations."""

    population: str
    generation: int
    nets: Any  # a population of one net

    @property
    def name(self) -> str:
        """Name of the population, and generations."""
        return f"{self.population}-{self.generation}"


class HallScores(NamedTuple):
    """What the members of all populations scored against the hall of fame."""

    fitness: dict[str, Floats]  # by population, `[members]`; without those who met nobody
    steps: int  # ticks of worlds, over all matches


def play_hall(
    setup: MatchSetup, pops: Mapping[str, BasePop], hall: list[HallNet], generation: int, key: int,
    chunk_size: int, engine: Engine,
) -> HallScores:  # fmt: skip
    """Play every member against champions of the other populations, drawn uniformly for each match.

    All members of a population meet the same champions in the same episodes, which are those of the
    generation.

    Args:
        setup: What all matches have in common.
        pops: Populations by name.
        hall: All champions.
        generation: Decides the episodes.
        key: Random key of the draws.
        chunk_size: Members per task; changes no result.
        engine: Runs the tasks.
    """
    fitness: dict[str, Floats] = {}
    steps = 0
    for number, (name, pop) in enumerate(pops.items()):
        others = {
            other: [champion for champion in hall if champion.population == other]
            for other in pops
            if other != name
        }
        if not all(others.values()):
            continue  # nobody has joined yet
        rounds = [
            _draw_champions(others, int(fold_in(fold_in(key, number), match)))
            for match in range(setup.matches)
        ]
        tasks = _make_tasks(setup, name, pop, rounds, generation, chunk_size)
        results = list(engine.map(run_task, tasks))
        kind = setup.fitness_kinds[name]
        scores = np.concatenate([match_fitness(kind, result, name) for result in results])
        fitness[name] = scores.reshape(setup.matches, -1).mean(axis=0)
        steps += int(sum(result.ticks.sum() for result in results))
    return HallScores(fitness, steps)


def _draw_champions(others: Mapping[str, list[HallNet]], key: int) -> dict[str, HallNet]:
    """Return the champion of each other population in a match, drawn uniformly from `key`."""
    return {
        other: champions[int(randint(fold_in(key, i), 0, len(champions)))]
        for i, (other, champions) in enumerate(others.items())
    }


def _make_tasks(
    setup: MatchSetup, name: str, pop: BasePop, rounds: list[dict[str, HallNet]], generation: int,
    chunk_size: int,
) -> Iterator[RolloutTask[MatchMeasures]]:  # fmt: skip
    """Yield the tasks of a population, match by match and chunk by chunk.

    Args:
        setup: What all matches have in common.
        name: Name of the population.
        pop: The population.
        rounds: Of each match, the champions of the other populations.
        generation: Decides the episodes.
        chunk_size: Members per task.
    """
    observers = MatchObservers({name: {}}, learn=False)
    for match, champions in enumerate(rounds):
        for start in range(0, pop.num_nets, chunk_size):
            members = np.arange(start, min(start + chunk_size, pop.num_nets), dtype=np.int64)
            alone = np.zeros(len(members), dtype=np.int64)
            policies: dict[str, ResolvedPolicy] = {
                each: population_policy(setup, each, pop.nets, members)
                if each == name
                else population_policy(setup, each, champions[each].nets, alone)
                for each in setup.groups
            }
            episodes = [generation * setup.matches + match] * len(members)
            yield make_match_task(setup, policies, observers, episodes, setup.steps)


def hall_file(setup: MatchSetup, champion: HallNet) -> FileChunk:
    """Return the policy file of a champion."""
    settings = setup.policy_settings(champion.population, champion.nets)
    policy = PolicyFile(CLASS_PATH, settings, champion.nets.to_arrays())
    return make_member_chunk(HALL_FOLDER, champion.name, policy)


def hall_arrays(hall: list[HallNet]) -> dict[str, AnyArray]:
    """Return the weights of all champions by path, for a checkpoint."""
    return {
        f"hall/{number}/{name}": array
        for number, champion in enumerate(hall)
        for name, array in champion.nets.to_arrays().items()
    }


def hall_notes(hall: list[HallNet]) -> list[list[Any]]:
    """Return population, generation and kind of net of all champions, for a checkpoint."""
    return [[c.population, c.generation, c.nets.config()] for c in hall]


def hall_from_snapshot(notes: list[list[Any]], arrays: Arrays) -> list[HallNet]:
    """Restore the champions that `hall_notes` and `hall_arrays` returned."""
    return [
        HallNet(
            population, generation, nets_from_config(config, select_arrays(arrays, f"hall/{i}"))
        )
        for i, (population, generation, config) in enumerate(notes)
    ]
