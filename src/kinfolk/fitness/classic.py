"""Fitness on classic control tasks, where nets and task run in one kernel (`classic_kernels`).

It gives exactly the numbers of `WorldFitness`, in a fraction of its time; `find_classic` says where
it applies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Floats, Ints
from kinfolk.core.random import WORLD_STREAM, episode_key, fold_in
from kinfolk.engines.base import Engine
from kinfolk.evolution.base import BasePop
from kinfolk.fitness.classic_kernels import (
    ARGMAX,
    RAW,
    TANH,
    ClassicEpisodes,
    play_dynamic,
    play_static,
)
from kinfolk.fitness.inherited_state import concat_chunks, take_rows
from kinfolk.fitness.match_task import MEAN_PREFIX, MatchSetup
from kinfolk.fitness.scores import PopulationScores, concat_stats, merge_stats_into
from kinfolk.nets.dynamic.forward import NodeState
from kinfolk.nets.dynamic.nets import DynamicNets
from kinfolk.nets.registry import nets_from_config
from kinfolk.nets.running_stats import RunningStats
from kinfolk.worlds import GYM_PREFIX
from kinfolk.worlds.gymnasium_task.classic import ClassicTask, draw_first_state, find_classic_task

_HEADS = {"argmax": ARGMAX, "tanh": TANH, "raw": RAW}


def find_classic(setup: MatchSetup) -> ClassicTask | None:
    """Return the classic control task that the matches are of, if a kernel can play them whole.

    Nets must act without random numbers and be scored by their return, in Gymnasium's own task.
    """
    name, task = setup.world.name, setup.world.name.removeprefix(GYM_PREFIX)
    has_own_rules = set(setup.world.settings) - {"max_steps"}
    kinds, known = set(setup.fitness_kinds.values()), ("ticks", MEAN_PREFIX)
    is_plain = setup.head in _HEADS and kinds == {"return"} and not setup.n_zero_inputs
    if not name.startswith(GYM_PREFIX) or has_own_rules or setup.fixed_policies or not is_plain:
        return None
    if len(setup.groups) > 1 or not all(name.startswith(known) for name in setup.measure_names):
        return None
    return find_classic_task(task)


@dataclass(frozen=True)
class ClassicMatches:
    """Episodes that members of a population play; the result depends on this value alone.

    Args:
        entry_point: Gymnasium's class of the task.
        kind: Number of its rules.
        limit: Steps of an episode at most.
        n_choices: Number of choices; 0 for a torque.
        head: Output head of the nets.
        nets: `config()` of the nets.
        arrays: `to_arrays()` of the members that play.
        member: `[episodes]`, which of them plays each.
        keys: `[episodes]`, seeds of the episodes.
        learn: Whether the nets update their running statistics.
        measure_names: `ticks` or `mean:N`.
    """

    entry_point: str
    kind: int
    limit: int
    n_choices: int
    head: str
    nets: Mapping[str, Any]
    arrays: Arrays
    member: Ints
    keys: Sequence[int]
    learn: bool = True
    measure_names: Sequence[str] = ()


@dataclass(frozen=True)
class ClassicScores:
    """Results of episodes, one row each."""

    returns: Floats
    ticks: Ints
    measures: dict[str, AnyArray]  # by name
    running_stats: RunningStats | None  # [episodes, ...]; None if the nets have none


def play_classic(task: ClassicMatches) -> ClassicScores:
    """Play episodes of a classic control task; this is the function that engines run."""
    nets: Any = nets_from_config(task.nets, task.arrays)
    episodes = _start_episodes(task)
    base, count = nets.running_stats, len(task.member)
    learn = task.learn and base is not None
    stats = RunningStats(*(part[task.member] for part in base)) if learn else base
    stats_row = np.arange(count, dtype=np.int64) if learn else task.member
    common = (task.kind, task.limit, _HEADS[task.head], task.n_choices, 2.0, episodes)
    if isinstance(nets, DynamicNets):
        memory = (np.zeros((count, nets.capacity)) for _ in range(2))
        nodes = NodeState(*memory, *stats)
        scratch = np.empty(nets.inputs), np.empty(nets.capacity)
        out = np.empty(nets.outputs, dtype=np.float32)
        play_dynamic(*common, nets.graph, nodes, stats_row, learn, *scratch, out)
    else:
        hidden = np.zeros((count, sum(nets.hidden) * nets.recurrent), dtype=np.float32)
        unused = RunningStats(*(np.zeros((0, 0)) for _ in range(3)))
        play_static(
            *common, nets.flat, nets.layout, hidden, stats is not None, stats or unused,
            stats_row, learn, np.empty((2, int(nets.layout[:, :2].max())), dtype=np.float32),
        )  # fmt: skip
    measures = {name: _measure(name, episodes) for name in task.measure_names}
    updated = stats if learn else None
    return ClassicScores(episodes.returns, episodes.ticks, measures, updated)


def _start_episodes(task: ClassicMatches) -> ClassicEpisodes:
    """Return the episodes at their first observations."""
    firsts = [draw_first_state(task.entry_point, key) for key in task.keys]
    count, size = len(firsts), len(firsts[0].observation)
    return ClassicEpisodes(
        member=task.member,
        state=np.array([first.state for first in firsts]),
        observation=np.array([first.observation for first in firsts]),
        returns=np.zeros(count),
        ticks=np.zeros(count, dtype=np.int64),
        sums=np.zeros((count, size)),
        is_over=np.zeros(count, dtype=np.bool_),
    )


def _measure(name: str, episodes: ClassicEpisodes) -> AnyArray:
    """Return a measure of every episode: its length, or the mean of an observed number."""
    if name == "ticks":
        return episodes.ticks.astype(np.float64)
    column = episodes.sums[:, int(name.removeprefix(MEAN_PREFIX))]
    means: AnyArray = column / np.maximum(episodes.ticks, 1)
    return means


def make_classic_matches(
    setup: MatchSetup, nets: Any, members: Ints, episodes: Sequence[int], steps: int | None
) -> ClassicMatches:
    """Return the task in which members play episodes.

    Args:
        setup: What all matches have in common.
        nets: Nets of the population.
        members: `[episodes]`, the member that plays each.
        episodes: Numbers of the episodes.
        steps: Ticks of an episode at most; None: whole episodes.
    """
    task = find_classic(setup)
    assert task is not None  # callers have looked
    keys = {n: int(fold_in(episode_key(setup.seed, n), WORLD_STREAM)) for n in set(episodes)}
    playing, member = np.unique(members, return_inverse=True)
    limit = min(setup.spec.max_ticks, steps or setup.spec.max_ticks)
    choices = int(setup.spec.n_choices[0, 0])
    arrays = take_rows(nets.to_arrays(), playing)
    return ClassicMatches(
        task.entry_point, task.kind, limit, choices, setup.head, nets.config(), arrays,
        member.astype(np.int64), [keys[number] for number in episodes],
        measure_names=setup.measure_names,
    )  # fmt: skip


class ClassicFitness:
    """Fitness function of populations that play a classic control task.

    Args:
        setup: What all matches have in common.
        chunk_size: Members per task of the engine; it does not change results.
    """

    def __init__(self, setup: MatchSetup, chunk_size: int) -> None:
        self.setup, self._chunk = setup, chunk_size

    def __call__(
        self, pops: Mapping[str, BasePop], generation: int, key: int, engine: Engine
    ) -> PopulationScores:
        """Play the episodes of a generation, and store running statistics.

        Args:
            pops: The population by name, changed.
            generation: Decides the episodes.
            key: Not used: members do not meet.
            engine: Runs the tasks.
        """
        del key
        (name, pop), matches = next(iter(pops.items())), self.setup.matches
        parts = list(engine.map(play_classic, self._make_tasks(pop, generation)))
        members = pop.num_nets
        returns = np.concatenate([part.returns for part in parts])
        stats = concat_stats([part.running_stats for part in parts])
        if stats is not None:
            stats = RunningStats(*(a.reshape(members, matches, a.shape[1]) for a in stats))
        merge_stats_into(pop.nets, [stats])
        measures = concat_chunks([part.measures for part in parts])
        means = {name: array.reshape(members, -1).mean(axis=1) for name, array in measures.items()}
        steps = int(sum(part.ticks.sum() for part in parts))
        return PopulationScores({name: returns.reshape(members, -1).mean(axis=1)}, steps, means)

    def _make_tasks(self, pop: BasePop, generation: int) -> Iterator[ClassicMatches]:
        """Yield the episodes of a generation, in chunks of members."""
        matches, members = self.setup.matches, pop.num_nets
        for start in range(0, members, self._chunk):
            chunk = np.arange(start, min(start + self._chunk, members), dtype=np.int64)
            numbers = [generation * matches + m for _ in chunk for m in range(matches)]
            rows = np.repeat(chunk, matches)
            yield make_classic_matches(self.setup, pop.nets, rows, numbers, self.setup.steps)

    def select(self, indices: Ints) -> None:
        """Do nothing, as there are no worlds to inherit."""
